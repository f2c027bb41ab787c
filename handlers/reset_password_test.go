package handlers_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// forgot requests a link and returns its token from the mail.
func forgot(t *testing.T, s *apitest.Server, email string) string {
	t.Helper()
	s.With(t, "").Call(t, "POST", "/v1/auth/forgot-password", map[string]any{"email": email}).Is(t, 201)
	s.WorkMailJobs(t, strings.ToLower(email))
	return apitest.LinkToken(t, s.LastMail(t, strings.ToLower(email)).Text)
}

func reset(t *testing.T, s *apitest.Server, token, password string) apitest.Response {
	t.Helper()
	return s.With(t, "").Call(t, "POST", "/v1/auth/reset-password", map[string]any{"token": token, "password": password})
}

func logIn(t *testing.T, s *apitest.Server, email, password string) apitest.Response {
	t.Helper()
	return s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": email, "password": password})
}

func TestALostPasswordIsReplaced(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200) // so that the token is cached as valid
	token := forgot(t, s, strings.ToUpper(owner.Email))
	mail := s.LastMail(t, owner.Email)
	require.Equal(t, "Set a new password", mail.Subject)
	require.Contains(t, mail.Text, "\nhttps://api.example.test/reset-password?token="+token+"\n")
	logIn(t, s, owner.Email, apitest.Password).Is(t, 201) // the request alone changes nothing

	var changed api.PasswordChange
	reset(t, s, token, "quick violet harbour").Into(t, 201, &changed)
	require.Equal(t, owner.Email, changed.Email)
	owner.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_revoked")
	logIn(t, s, owner.Email, apitest.Password).Problem(t, 401, "invalid_credentials")
	logIn(t, s, owner.Email, "quick violet harbour").Is(t, 201)
	notice := s.LastMail(t, owner.Email)
	require.Equal(t, "Your password was changed", notice.Subject)
	require.NotContains(t, notice.Text, "token=")

	reset(t, s, token, "another one entirely").Problem(t, 400, "invalid_link")
	for _, action := range []string{"user.forgot_password", "user.reset_password"} {
		require.Equal(t, 1, count(t, s, "audit_entries WHERE tenant_id = $1 AND action = $2 AND entity_id = $3 AND ip <> ''",
			owner.TenantID, action, owner.UserID), action)
	}
}

// TestAnswersDoNotRevealAccounts checks that the request has the same answer
// and does the same work whether or not there is an account.
func TestAnswersDoNotRevealAccounts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, unregistered := s.Register(t), newEmail()
	for _, email := range []string{owner.Email, unregistered} {
		var notice api.PasswordLinkNotice
		s.With(t, "").Call(t, "POST", "/v1/auth/forgot-password", map[string]any{"email": email}).Into(t, 201, &notice)
		require.Equal(t, api.PasswordLinkNotice{Email: email, LinkLifeSec: 3600}, notice)
		require.Equal(t, 1, count(t, s, "river_job WHERE kind = 'password_mail_link' AND args->>'email' = $1", email))
		require.Empty(t, s.MailsTo(t, email), "the job looks up the user")
	}
	s.WorkMailJobs(t, unregistered)
	require.Empty(t, s.MailsTo(t, unregistered))
	s.WorkMailJobs(t, owner.Email)
	s.WorkMailJobs(t, owner.Email) // as if the process had been killed before
	require.Len(t, s.MailsTo(t, owner.Email), 1)
}

func TestALinkExpiresAndIsReplaced(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	first := forgot(t, s, owner.Email)
	s.Clock.Advance(time.Hour - time.Millisecond)
	second := forgot(t, s, owner.Email)
	reset(t, s, first, "quick violet harbour").Problem(t, 400, "invalid_link")
	s.Clock.Advance(time.Hour)
	reset(t, s, second, "quick violet harbour").Problem(t, 400, "link_expired")
	logIn(t, s, owner.Email, apitest.Password).Is(t, 201)

	third := forgot(t, s, owner.Email)
	s.Clock.Advance(time.Hour - time.Millisecond)
	reset(t, s, third, strings.Repeat("ä", 128)).Is(t, 201)
	logIn(t, s, owner.Email, strings.Repeat("ä", 128)).Is(t, 201)
}

func TestALinkEndsWithThePassword(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	token := forgot(t, s, owner.Email)
	owner.Call(t, "POST", "/v1/me/change-password", map[string]any{
		"currentPassword": apitest.Password, "newPassword": "quick violet harbour",
	}).Is(t, 201)
	require.Equal(t, "Your password was changed", s.LastMail(t, owner.Email).Subject)
	reset(t, s, token, "another one entirely").Problem(t, 400, "invalid_link")
	logIn(t, s, owner.Email, "quick violet harbour").Is(t, 201)
}

func TestALinkSetsOnePassword(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	token := forgot(t, s, owner.Email)
	var set atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			switch r := reset(t, s, token, "quick violet harbour"); r.Status {
			case http.StatusCreated:
				set.Add(1)
			case http.StatusBadRequest:
			default:
				t.Errorf("answered %d: %s", r.Status, r.Body)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, set.Load())
}

// TestSuspendedUsersMaySetAPassword checks that they can, and that they still
// can't log in.
func TestSuspendedUsersMaySetAPassword(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetTenantStatus(t, tenancy.Suspended)
	reset(t, s, forgot(t, s, owner.Email), "quick violet harbour").Is(t, 201)
	logIn(t, s, owner.Email, "quick violet harbour").Problem(t, 403, "tenant_suspended")
	owner.SetTenantStatus(t, "ACTIVE")
	logIn(t, s, owner.Email, "quick violet harbour").Is(t, 201)
}

func TestDeactivatedUsersGetNoLink(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	member := owner.Colleague(t, tenancy.Viewer)
	token := forgot(t, s, member.Email)
	_, err := s.Pool.Exec(t.Context(), "UPDATE users SET status = 'DEACTIVATED' WHERE id = $1", member.UserID)
	require.NoError(t, err)
	reset(t, s, token, "quick violet harbour").Problem(t, 400, "invalid_link")
	s.With(t, "").Call(t, "POST", "/v1/auth/forgot-password", map[string]any{"email": member.Email}).Is(t, 201)
	s.WorkMailJobs(t, member.Email)
	require.Len(t, s.MailsTo(t, member.Email), 1)
}

func TestOldLinksAndFormsAreDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	sendCode(t, s, newEmail())
	forgot(t, s, owner.Email)
	s.Clock.Advance(account.FormLife + time.Hour)
	require.NoError(t, s.Accounts.DeleteOld(t.Context()))
	require.Equal(t, 1, count(t, s, "signup_forms"))
	require.Equal(t, 1, count(t, s, "password_links"))
	s.Clock.Advance(time.Millisecond)
	require.NoError(t, s.Accounts.DeleteOld(t.Context()))
	require.Zero(t, count(t, s, "signup_forms"))
	require.Zero(t, count(t, s, "signup_tries"))
	s.Clock.Advance(31 * 24 * time.Hour)
	require.NoError(t, s.Accounts.DeleteOld(t.Context()))
	require.Zero(t, count(t, s, "password_links"))
}
