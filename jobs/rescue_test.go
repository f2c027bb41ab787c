package jobs_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/areas"
	"showfloor/internal/base/queue"
	"showfloor/internal/testkit/dbtest"
	"showfloor/jobs"
)

// TestLostJobsRunAgain checks that jobs run again which have been running for too long
// by the database's clock, however wrong this machine's clock is.
func TestLostJobsRunAgain(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, -time.Hour, time.Hour} {
		pool := dbtest.NewSkewed(t, ahead)
		client, err := river.NewClient(riverpgxv5.New(pool), queue.Config(slog.New(slog.DiscardHandler)))
		require.NoError(t, err)
		states := map[string]string{}
		for name, sql := range map[string]string{
			"runs":     "attempted_at = now() - interval '100 seconds', attempt = 1",
			"lost":     "attempted_at = now() - interval '130 seconds', attempt = 1",
			"used up":  "attempted_at = now() - interval '130 seconds', attempt = max_attempts",
			"slow":     "attempted_at = now() - interval '170 minutes', attempt = 1, kind = 'recording_import'",
			"too slow": "attempted_at = now() - interval '190 minutes', attempt = 1, kind = 'recording_import'",
			"finished": "attempted_at = now() - interval '1 day', attempt = 1, state = 'completed', finalized_at = now()",
		} {
			inserted, err := client.Insert(t.Context(), jobs.UpkeepArgs{}, nil)
			require.NoError(t, err)
			_, err = pool.Exec(t.Context(), "UPDATE river_job SET state = 'running', args = jsonb_build_object('name', $2::text) WHERE id = $1",
				inserted.Job.ID, name)
			require.NoError(t, err)
			_, err = pool.Exec(t.Context(), fmt.Sprintf("UPDATE river_job SET %s WHERE id = $1", sql), inserted.Job.ID)
			require.NoError(t, err)
		}
		n, err := jobs.RescueLost(t.Context(), pool)
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		list, err := client.JobList(t.Context(), river.NewJobListParams())
		require.NoError(t, err)
		for _, job := range list.Jobs {
			states[string(job.EncodedArgs)] = string(job.State)
			if len(job.Errors) > 0 {
				require.Equal(t, "the process that worked this job is gone", job.Errors[0].Error)
				require.WithinDuration(t, time.Now().Add(ahead), job.Errors[0].At, time.Minute)
			}
		}
		require.Equal(t, map[string]string{
			`{"name": "runs"}`: "running", `{"name": "lost"}`: "available", `{"name": "used up"}`: "discarded", `{"name": "finished"}`: "completed",
			`{"name": "slow"}`: "running", `{"name": "too slow"}`: "available",
		}, states)
	}
}

// TestTheQueueRescuesNothingItself checks that the queue's own rescue is off, because it
// compares the database's times with this machine's clock.
func TestTheQueueRescuesNothingItself(t *testing.T) {
	t.Parallel()
	config := jobs.Config{Areas: &areas.Areas{}, Log: slog.New(slog.DiscardHandler)}.River()
	require.Greater(t, config.RescueStuckJobsAfter, 10*365*24*time.Hour)
}
