package jobs_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/smtptest"
)

// TestALockOfASecondFactorIsMailedOnce enters wrong codes with the right password, as a user and as an admin.
func TestALockOfASecondFactorIsMailedOnce(t *testing.T) {
	t.Parallel()
	sink := smtptest.New(t, smtptest.Options{})
	s := apitest.New(t, apitest.Options{Jobs: true, SMTP: sink.URL()})
	ada, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	for _, one := range []struct {
		holder      *apitest.Caller
		login, totp string
		link        bool
	}{
		{ada, "/v1/auth/login", "/v1/me/security/totp", true},
		{root, "/v1/admin/auth/login", "/v1/admin/auth/totp", false},
	} {
		var setup api.TotpSetup
		one.holder.Call(t, "POST", one.totp, map[string]any{"password": apitest.Password}).Into(t, 201, &setup)
		code, err := totp.GenerateCode(setup.Secret, time.Now())
		require.NoError(t, err)
		one.holder.Call(t, "POST", one.totp+"/confirm", map[string]any{"code": code}).Is(t, 201)
		sink.Wait(t, one.holder.Email, 1) // the second factor is enabled

		try := func(more map[string]any) apitest.Response {
			body := map[string]any{"email": one.holder.Email, "password": apitest.Password, "recoveryCode": "K7QD-2MXA-PLTE-95VS"}
			maps.Copy(body, more)
			return s.With(t, "").Call(t, "POST", one.login, body)
		}
		for range 12 {
			try(map[string]any{"password": "not the password"}).Problem(t, 401, "invalid_credentials")
		}
		for range 9 {
			try(nil).Problem(t, 401, "invalid_totp")
		}
		try(nil).Problem(t, 401, "invalid_totp")
		for range 3 {
			try(nil).Problem(t, 429, "rate_limited")
		}
		var until time.Time
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT wrong_since + interval '15 minutes' FROM second_factors WHERE holder_id = $1",
			one.holder.UserID).Scan(&until))
		mail := sink.Wait(t, one.holder.Email, 2)[1]
		require.Equal(t, "Wrong codes were entered for your account", mail.Subject)
		require.Contains(t, mail.Text, "a person who knows your password entered 10 wrong codes")
		require.Contains(t, mail.Text, "Until "+until.UTC().Format("2 January 2006 at 15:04")+" UTC no code is accepted")
		require.Equal(t, one.link, strings.Contains(mail.Text, apitest.PublicURL+"/reset-password"))

		// The next lock has its own mail. Its last wrong code is sent to disable the second factor.
		_, err = s.Pool.Exec(t.Context(), "UPDATE second_factors SET wrong_since = wrong_since - interval '15 minutes' WHERE holder_id = $1",
			one.holder.UserID)
		require.NoError(t, err)
		for range 9 {
			try(nil).Problem(t, 401, "invalid_totp")
		}
		proof := map[string]any{"password": apitest.Password, "code": "K7QD-2MXA-PLTE-95VS"}
		one.holder.Call(t, "DELETE", one.totp, proof).Problem(t, 400, "wrong_code")
		one.holder.Call(t, "DELETE", one.totp, proof).Problem(t, 429, "rate_limited")
		require.Equal(t, "Wrong codes were entered for your account", sink.Wait(t, one.holder.Email, 3)[2].Subject)
		var mails int
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM mails WHERE recipient = $1", one.holder.Email).Scan(&mails))
		require.Equal(t, 3, mails)
	}
}
