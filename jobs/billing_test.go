package jobs

import (
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/billing"
)

// TestAReportOutlastsCrashes: each kill of the server uses an attempt of the jobs that run, and the pauses grow to 6 hours.
func TestAReportOutlastsCrashes(t *testing.T) {
	t.Parallel()
	require.Greater(t, billing.ProcessorEventArgs{}.InsertOpts().MaxAttempts, 10_000)
	now := time.Now()
	worker := &handleProcessorEvent{clock: clock{func() time.Time { return now }}}
	for attempt, pause := range map[int]time.Duration{
		1: time.Second, 2: 16 * time.Second, 12: 20736 * time.Second, 13: 6 * time.Hour, 30_000: 6 * time.Hour,
	} {
		job := &river.Job[billing.ProcessorEventArgs]{JobRow: &rivertype.JobRow{Attempt: attempt}}
		require.Equal(t, pause, worker.NextRetry(job).Sub(now), attempt)
	}
}
