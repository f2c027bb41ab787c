package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
)

// TestSignupMailsToOneAddressAreLimited checks that first and resent codes
// count together, whether or not a user has the address.
func TestSignupMailsToOneAddressAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for _, email := range []string{newEmail(), owner.Email} {
		anyone := s.With(t, "")
		for range 19 {
			anyone.Call(t, "POST", "/v1/auth/send-code", form(email)).Is(t, 201)
		}
		for range 3 { // only the first of them is mailed
			anyone.Call(t, "POST", "/v1/auth/resend-code", map[string]any{"email": email}).Is(t, 201)
			s.WorkMailJobs(t, email)
			s.Clock.Advance(time.Minute)
		}
		require.Len(t, s.MailsTo(t, email), 20)
		last := s.LastMail(t, email).Text
		refused := anyone.Call(t, "POST", "/v1/auth/send-code", form(email))
		require.Equal(t, "too many sign-up mails: 20 an hour can be sent to one address",
			refused.Problem(t, 429, "rate_limited").Message)
		require.Equal(t, "3420", refused.Header.Get("Retry-After"))
		if email != owner.Email { // mails to an existing user have no code
			verify(t, s, email, apitest.Code(t, last)).Problem(t, 400, "invalid_code")
			require.Zero(t, count(t, s, "signup_forms WHERE email = $1", email), "a form that may be another user's is not confirmed")
		}
		s.Clock.Advance(57 * time.Minute)
		anyone.Call(t, "POST", "/v1/auth/send-code", form(email)).Is(t, 201)
	}
}

// TestPasswordMailsToOneAddressAreLimited checks that the answer doesn't reveal
// the limit.
func TestPasswordMailsToOneAddressAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	answers := map[string]int{}
	for range 7 {
		answers[string(s.With(t, "").Call(t, "POST", "/v1/auth/forgot-password", map[string]any{"email": owner.Email}).Is(t, 201).Body)]++
	}
	require.Len(t, answers, 1)
	s.WorkMailJobs(t, owner.Email)
	require.Len(t, s.MailsTo(t, owner.Email), 5)
	last := apitest.LinkToken(t, s.LastMail(t, owner.Email).Text)
	s.Clock.Advance(time.Hour - time.Millisecond)
	s.WorkMailJobs(t, owner.Email)
	require.Len(t, s.MailsTo(t, owner.Email), 5)
	reset(t, s, last, "quick violet harbour").Is(t, 201)
	s.Clock.Advance(time.Millisecond)
	require.NotEqual(t, last, forgot(t, s, owner.Email))
}
