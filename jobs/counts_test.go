package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/jobs"
)

func TestCountsLeaveFinishedJobsOut(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	counts, err := jobs.Counts(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, counts)

	s := apitest.New(t, apitest.Options{Pool: pool})
	owner := s.Register(t)
	owner.Webhook(t, "http://127.0.0.1:1/")
	for n, subject := range []string{"str_1", "str_2", "str_3", "str_4"} {
		emit(t, s, owner.TenantID, "stream.started", subject, n)
	}
	s.FanOut(t, owner.TenantID)
	_, err = pool.Exec(t.Context(), "UPDATE river_job SET state = 'completed', finalized_at = now() WHERE id = (SELECT min(id) FROM river_job)")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "UPDATE river_job SET state = 'running', attempted_at = now() WHERE id = (SELECT max(id) FROM river_job)")
	require.NoError(t, err)
	counts, err = jobs.Counts(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, []jobs.Count{{"webhook_deliver", "available", 2}, {"webhook_deliver", "running", 1}}, counts)

	_, err = jobs.Counts(t.Context(), dbtest.NewEmpty(t))
	require.Error(t, err, "there is no queue in it")
}
