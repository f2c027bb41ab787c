package handlers_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// enableTotp enables a second factor for the caller at this path, and returns its secret and recovery codes.
func enableTotp(t *testing.T, s *apitest.Server, c *apitest.Caller, path string) (secret string, recovery []string) {
	t.Helper()
	var setup api.TotpSetup
	c.Call(t, "POST", path, map[string]any{"password": apitest.Password}).Into(t, http.StatusCreated, &setup)
	require.Contains(t, setup.OtpauthURL, "secret="+setup.Secret)
	var codes api.RecoveryCodes
	c.Call(t, "POST", path+"/confirm", map[string]any{"code": codeOf(t, s, setup.Secret)}).Into(t, http.StatusCreated, &codes)
	require.Len(t, codes.RecoveryCodes, 10)
	return setup.Secret, codes.RecoveryCodes
}

func codeOf(t *testing.T, s *apitest.Server, secret string) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, s.Clock.Now())
	require.NoError(t, err)
	return code
}

// wrongCode is none of the codes around now.
func wrongCode(t *testing.T, s *apitest.Server, secret string) string {
	t.Helper()
	for _, code := range []string{"000000", "111111", "222222", "333333"} {
		near := false
		for _, by := range []time.Duration{-30 * time.Second, 0, 30 * time.Second} {
			at, err := totp.GenerateCode(secret, s.Clock.Now().Add(by))
			require.NoError(t, err)
			near = near || at == code
		}
		if !near {
			return code
		}
	}
	t.Fatal("all four are codes")
	return ""
}

func logInWith(t *testing.T, s *apitest.Server, path, email string, more map[string]any) apitest.Response {
	t.Helper()
	body := map[string]any{"email": email, "password": apitest.Password}
	maps.Copy(body, more)
	return s.With(t, "").Call(t, "POST", path, body)
}

func TestLoginWithASecondFactor(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada := s.Register(t)
	root := s.Admin(t, platform.SuperAdmin)
	for _, one := range []struct {
		caller      *apitest.Caller
		login, totp string
	}{
		{ada, "/v1/auth/login", "/v1/me/security/totp"},
		{root, "/v1/admin/auth/login", "/v1/admin/auth/totp"},
	} {
		secret, recovery := enableTotp(t, s, one.caller, one.totp)
		try := func(more map[string]any) apitest.Response { return logInWith(t, s, one.login, one.caller.Email, more) }

		try(nil).Problem(t, http.StatusUnauthorized, "totp_required")
		try(map[string]any{"password": "not the password"}).Problem(t, http.StatusUnauthorized, "invalid_credentials")
		try(map[string]any{"password": "not the password", "totpCode": codeOf(t, s, secret)}).
			Problem(t, http.StatusUnauthorized, "invalid_credentials")
		// The code that confirmed the app was used.
		try(map[string]any{"totpCode": codeOf(t, s, secret)}).Problem(t, http.StatusUnauthorized, "invalid_totp")
		s.Clock.Advance(30 * time.Second)
		try(map[string]any{"totpCode": codeOf(t, s, secret)}).Is(t, http.StatusCreated)
		try(map[string]any{"totpCode": codeOf(t, s, secret)}).Problem(t, http.StatusUnauthorized, "invalid_totp")
		try(map[string]any{"totpCode": wrongCode(t, s, secret)}).Problem(t, http.StatusUnauthorized, "invalid_totp")

		lower := strings.ToLower(strings.ReplaceAll(recovery[0], "-", " "))
		try(map[string]any{"recoveryCode": lower}).Is(t, http.StatusCreated)
		try(map[string]any{"recoveryCode": recovery[0]}).Problem(t, http.StatusUnauthorized, "invalid_totp")
		var state api.Totp
		one.caller.Call(t, "GET", one.totp, nil).Into(t, http.StatusOK, &state)
		require.True(t, state.Enabled)
		require.Equal(t, 9, state.RecoveryCodesLeft)
		s.Clock.Advance(time.Hour) // the wrong codes no longer count
	}
}

func TestWrongCodesAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada := s.Register(t)
	secret, recovery := enableTotp(t, s, ada, "/v1/me/security/totp")
	try := func(more map[string]any) apitest.Response { return logInWith(t, s, "/v1/auth/login", ada.Email, more) }
	for range 20 { // without the password, no attempt counts
		try(map[string]any{"password": "not the password", "totpCode": "000000"}).Problem(t, http.StatusUnauthorized, "invalid_credentials")
	}
	for range 10 {
		try(map[string]any{"totpCode": wrongCode(t, s, secret)}).Problem(t, http.StatusUnauthorized, "invalid_totp")
	}
	s.Clock.Advance(30 * time.Second)
	limited := try(map[string]any{"totpCode": codeOf(t, s, secret)})
	limited.Problem(t, http.StatusTooManyRequests, "rate_limited")
	require.Equal(t, "870", limited.Header.Get("Retry-After"))
	try(map[string]any{"recoveryCode": recovery[0]}).Problem(t, http.StatusTooManyRequests, "rate_limited")
	s.Clock.Advance(15 * time.Minute)
	try(map[string]any{"totpCode": codeOf(t, s, secret)}).Is(t, http.StatusCreated)
}

func TestOneCodeOpensOneLogin(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada := s.Register(t)
	secret, recovery := enableTotp(t, s, ada, "/v1/me/security/totp")
	s.Clock.Advance(30 * time.Second)
	for _, proof := range []map[string]any{{"totpCode": codeOf(t, s, secret)}, {"recoveryCode": recovery[3]}} {
		results := make(chan int)
		for range 4 {
			go func() { results <- logInWith(t, s, "/v1/auth/login", ada.Email, proof).Status }()
		}
		opened := 0
		for range 4 {
			if <-results == http.StatusCreated {
				opened++
			}
		}
		require.Equal(t, 1, opened)
	}
}

func TestChangingASecondFactor(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada := s.Register(t)
	const path = "/v1/me/security/totp"
	ada.Call(t, "POST", path, map[string]any{"password": "not the password"}).Problem(t, http.StatusBadRequest, "wrong_password")
	ada.Call(t, "POST", path+"/confirm", map[string]any{"code": "123456"}).Problem(t, http.StatusConflict, "conflict")
	proof := func(code string) map[string]any { return map[string]any{"password": apitest.Password, "code": code} }
	ada.Call(t, "DELETE", path, proof("123456")).Problem(t, http.StatusConflict, "conflict")
	ada.Call(t, "POST", path+"/recovery-codes", proof("123456")).Problem(t, http.StatusConflict, "conflict")

	var setup api.TotpSetup
	ada.Call(t, "POST", path, map[string]any{"password": apitest.Password}).Into(t, http.StatusCreated, &setup)
	logInWith(t, s, "/v1/auth/login", ada.Email, nil).Is(t, http.StatusCreated) // not confirmed yet
	ada.Call(t, "POST", path+"/confirm", map[string]any{"code": wrongCode(t, s, setup.Secret)}).Problem(t, http.StatusBadRequest, "wrong_code")
	s.Clock.Advance(15 * time.Minute)
	ada.Call(t, "POST", path+"/confirm", map[string]any{"code": codeOf(t, s, setup.Secret)}).Problem(t, http.StatusConflict, "conflict")

	secret, recovery := enableTotp(t, s, ada, path)
	ada.Call(t, "POST", path, map[string]any{"password": apitest.Password}).Problem(t, http.StatusConflict, "conflict")
	var renewed api.RecoveryCodes
	ada.Call(t, "POST", path+"/recovery-codes", proof(recovery[0])).Into(t, http.StatusCreated, &renewed)
	require.NotContains(t, renewed.RecoveryCodes, recovery[1])
	ada.Call(t, "DELETE", path, proof(recovery[1])).Problem(t, http.StatusBadRequest, "wrong_code")
	wrong := proof(renewed.RecoveryCodes[0])
	wrong["password"] = "not the password"
	ada.Call(t, "DELETE", path, wrong).Problem(t, http.StatusBadRequest, "wrong_password")
	s.Clock.Advance(30 * time.Second)
	var state api.Totp
	ada.Call(t, "DELETE", path, proof(codeOf(t, s, secret))).Into(t, http.StatusOK, &state)
	require.False(t, state.Enabled)
	logInWith(t, s, "/v1/auth/login", ada.Email, nil).Is(t, http.StatusCreated)

	log, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: ada.TenantID, MaxRows: 20})
	require.NoError(t, err)
	var actions []string
	for _, e := range log {
		actions = append(actions, e.Action)
		require.NotContains(t, string(e.Before)+string(e.After), secret)
	}
	require.Subset(t, actions, []string{"user.enable_totp", "user.disable_totp", "user.renew_recovery_codes"})
}

func TestLostSecondFactors(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	admin, dev := owner.Colleague(t, tenancy.Admin), owner.Colleague(t, tenancy.Developer)
	of := func(c *apitest.Caller) string { return "/v1/me/team/" + c.UserID + "/totp" }
	admin.Call(t, "DELETE", of(dev), nil).Problem(t, http.StatusConflict, "conflict")
	enableTotp(t, s, dev, "/v1/me/security/totp")
	enableTotp(t, s, owner, "/v1/me/security/totp")
	admin.Call(t, "DELETE", of(owner), nil).Problem(t, http.StatusForbidden, "forbidden")
	owner.Call(t, "DELETE", of(owner), nil).Problem(t, http.StatusConflict, "conflict")
	s.Register(t).Call(t, "DELETE", of(dev), nil).Problem(t, http.StatusNotFound, "not_found")
	admin.Call(t, "DELETE", of(dev), nil).Is(t, http.StatusOK)
	dev.Call(t, "GET", "/v1/auth/me", nil).Problem(t, http.StatusUnauthorized, "token_revoked")
	dev.LogInAgain(t)

	root, other := s.Admin(t, platform.SuperAdmin), s.Admin(t, platform.Support)
	// The only OWNER of a tenant has no colleague who may do it.
	alone := "/v1/admin/users/" + owner.UserID + "/totp"
	other.Call(t, "DELETE", alone, nil).Problem(t, http.StatusForbidden, "forbidden")
	root.Call(t, "DELETE", "/v1/admin/users/user_none/totp", nil).Problem(t, http.StatusNotFound, "not_found")
	root.Call(t, "DELETE", alone, nil).Is(t, http.StatusOK)
	root.Call(t, "DELETE", alone, nil).Problem(t, http.StatusConflict, "conflict")
	owner.Call(t, "GET", "/v1/auth/me", nil).Problem(t, http.StatusUnauthorized, "token_revoked")
	logInWith(t, s, "/v1/auth/login", owner.Email, nil).Is(t, http.StatusCreated)

	at := "/v1/admin/administrators/" + other.UserID + "/totp"
	root.Call(t, "DELETE", at, nil).Problem(t, http.StatusConflict, "conflict")
	enableTotp(t, s, other, "/v1/admin/auth/totp")
	other.Call(t, "DELETE", "/v1/admin/administrators/"+root.UserID+"/totp", nil).Problem(t, http.StatusForbidden, "forbidden")
	root.Call(t, "DELETE", "/v1/admin/administrators/"+root.UserID+"/totp", nil).Problem(t, http.StatusConflict, "conflict")
	root.Call(t, "DELETE", at, nil).Is(t, http.StatusOK)
	other.Call(t, "GET", "/v1/admin/auth/me", nil).Problem(t, http.StatusUnauthorized, "token_revoked")
	logInWith(t, s, "/v1/admin/auth/login", other.Email, nil).Is(t, http.StatusCreated)
}

func TestOwnLogins(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada := s.Register(t)
	root := s.Admin(t, platform.SuperAdmin)
	for _, one := range []struct {
		caller               *apitest.Caller
		login, path, who, me string
	}{
		{ada, "/v1/auth/login", "/v1/me/security/sessions", "user", "/v1/auth/me"},
		{root, "/v1/admin/auth/login", "/v1/admin/auth/sessions", "admin", "/v1/admin/auth/me"},
	} {
		var tokens []*apitest.Caller
		for range 3 {
			var l struct{ Token string }
			logInWith(t, s, one.login, one.caller.Email, nil).Into(t, http.StatusCreated, &l)
			tokens = append(tokens, s.With(t, l.Token))
		}
		var list []api.SignIn
		one.caller.Call(t, "GET", one.path, nil).Into(t, http.StatusOK, &list)
		require.Len(t, list, 4)
		require.True(t, list[3].Current)
		require.False(t, list[0].Current)
		require.NotEmpty(t, list[0].UserAgent)
		require.NotEmpty(t, list[0].IP)

		one.caller.Call(t, "DELETE", one.path+"/"+list[0].ID, nil).Is(t, http.StatusOK)
		tokens[2].Call(t, "GET", one.me, nil).Problem(t, http.StatusUnauthorized, "token_revoked")
		one.caller.Call(t, "DELETE", one.path+"/"+list[0].ID, nil).Problem(t, http.StatusNotFound, "not_found")
		tokens[1].Call(t, "GET", one.me, nil).Is(t, http.StatusOK)

		var ended api.EndedSignIns
		one.caller.Call(t, "DELETE", one.path, nil).Into(t, http.StatusOK, &ended)
		require.Equal(t, 2, ended.Ended)
		tokens[0].Call(t, "GET", one.me, nil).Problem(t, http.StatusUnauthorized, "token_revoked")
		one.caller.Call(t, "GET", one.me, nil).Is(t, http.StatusOK)
	}
	// The logins of others don't exist.
	var list []api.SignIn
	ada.Call(t, "GET", "/v1/me/security/sessions", nil).Into(t, http.StatusOK, &list)
	s.Register(t).Call(t, "DELETE", "/v1/me/security/sessions/"+list[0].ID, nil).Problem(t, http.StatusNotFound, "not_found")
}

func TestLoginsAreBoundedAndSeen(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	ada := s.Register(t)
	for range 51 {
		logInWith(t, s, "/v1/auth/login", ada.Email, nil).Is(t, http.StatusCreated)
	}
	ada.Call(t, "GET", "/v1/auth/me", nil).Problem(t, http.StatusUnauthorized, "token_revoked")
	ada = ada.LogInAgain(t)
	var list []api.SignIn
	ada.Call(t, "GET", "/v1/me/security/sessions", nil).Into(t, http.StatusOK, &list)
	require.Len(t, list, 50)

	s.Clock.Advance(4 * time.Minute)
	before := list[0].LastSeenAt
	ada.Call(t, "GET", "/v1/me/security/sessions", nil).Into(t, http.StatusOK, &list)
	require.Equal(t, before, list[0].LastSeenAt)
	s.Clock.Advance(2 * time.Minute)
	ada.Call(t, "GET", "/v1/auth/me", nil).Is(t, http.StatusOK)
	ada.Call(t, "GET", "/v1/me/security/sessions", nil).Into(t, http.StatusOK, &list)
	require.Equal(t, s.Clock.Now(), list[0].LastSeenAt.Time)
}

// TestLoginsAreDeleted checks the retention of logins and of secrets that were not confirmed.
func TestLoginsAreDeleted(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s := apitest.New(t, apitest.Options{Pool: pool})
	ada := s.Register(t)
	ada.Call(t, "POST", "/v1/me/security/totp", map[string]any{"password": apitest.Password}).Is(t, http.StatusCreated)
	count := func() (logins, secrets int) {
		require.NoError(t, pool.QueryRow(t.Context(),
			"SELECT (SELECT count(*) FROM sign_ins), (SELECT count(*) FROM second_factors)").Scan(&logins, &secrets))
		return logins, secrets
	}
	logins, secrets := count()
	require.Equal(t, []int{1, 1}, []int{logins, secrets})
	s.Clock.Advance(13 * time.Hour)
	require.NoError(t, s.SignIns.DeleteOld(t.Context()))
	require.NoError(t, s.SecondFactors.DeleteOld(t.Context()))
	logins, secrets = count()
	require.Equal(t, []int{0, 0}, []int{logins, secrets})
}
