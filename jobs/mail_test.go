package jobs_test

import (
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/smtptest"
	"showfloor/jobs"
)

// TestMailsGoOut follows mails from the API call through the queue to the mail server.
func TestMailsGoOut(t *testing.T) {
	t.Parallel()
	const gone = "gone@acme.example"
	sink := smtptest.New(t, smtptest.Options{Refuse: func(to string) error {
		if to == gone {
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such user here"}
		}
		return nil
	}})
	s := apitest.New(t, apitest.Options{Jobs: true, SMTP: sink.URL()})
	const email = "ada@acme.example"
	form := map[string]any{"tenantName": "Acme", "name": "Ada", "email": email, "password": apitest.Password}
	anonymous := s.With(t, "")
	anonymous.Call(t, "POST", "/v1/auth/send-code", form).Is(t, 201)
	first := apitest.Code(t, sink.Wait(t, email, 1)[0].Text)
	anonymous.Call(t, "POST", "/v1/auth/resend-code", map[string]any{"email": email}).Is(t, 201)
	second := apitest.Code(t, sink.Wait(t, email, 2)[1].Text)
	require.NotEqual(t, first, second)
	anonymous.Call(t, "POST", "/v1/auth/verify-and-register", map[string]any{"email": email, "code": second}).Is(t, 201)
	anonymous.Call(t, "POST", "/v1/auth/forgot-password", map[string]any{"email": email}).Is(t, 201)
	token := apitest.LinkToken(t, sink.Wait(t, email, 3)[2].Text)
	anonymous.Call(t, "POST", "/v1/auth/reset-password", map[string]any{"token": token, "password": "quick violet harbour"}).Is(t, 201)
	require.Equal(t, "Your password was changed", sink.Wait(t, email, 4)[3].Subject)

	form["email"] = gone
	anonymous.Call(t, "POST", "/v1/auth/send-code", form).Is(t, 201)
	apitest.Until(t, "every mail job to be done with", func() bool {
		var open, done int
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE state <> 'completed'), count(*) FROM river_job
			WHERE queue = 'mail'`).Scan(&open, &done))
		return open == 0 && done == 7
	})
	require.Empty(t, sink.To(gone))
	require.Len(t, sink.To(email), 4)
	var sent, failed, kept int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE status = 'sent'), count(*) FILTER (WHERE status = 'failed'),
		count(content) FROM mails`).Scan(&sent, &failed, &kept))
	require.Equal(t, []int{4, 1, 0}, []int{sent, failed, kept})
}

// TestAMailOfAKilledProcessGoesOut checks a job that was running when its
// process was killed.
func TestAMailOfAKilledProcessGoesOut(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	sink := smtptest.New(t, smtptest.Options{})
	dead := apitest.New(t, apitest.Options{Pool: pool, Node: "node_dead", SMTP: sink.URL()})
	const email = "ada@acme.example"
	for _, path := range []string{"/v1/auth/send-code", "/v1/auth/resend-code"} {
		dead.With(t, "").Call(t, "POST", path, map[string]any{
			"tenantName": "Acme", "name": "Ada", "email": email, "password": apitest.Password,
		}).Is(t, 201)
	}
	// The second job had committed its work, but was not marked as completed.
	dead.WorkMailJobs(t, email)
	_, err := pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = ARRAY['node_dead']`)
	require.NoError(t, err)
	n, err := jobs.RecoverNode(t.Context(), pool, "node_dead")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	apitest.New(t, apitest.Options{Pool: pool, Node: "node_dead", Jobs: true, SMTP: sink.URL()})
	sink.Wait(t, email, 2)
	apitest.Until(t, "every job to be done with", func() bool {
		var open int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE queue = 'mail' AND state <> 'completed'").Scan(&open))
		return open == 0
	})
	require.Len(t, sink.To(email), 2)
}
