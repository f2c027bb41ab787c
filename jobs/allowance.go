package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/allowance"
)

// NotifyThresholdsArgs is the periodic job that notifies tenants whose usage has reached a part of what their plan includes.
type NotifyThresholdsArgs struct{}

// Kind names the job.
func (NotifyThresholdsArgs) Kind() string { return "usage_notify_thresholds" }

// InsertOpts selects the queue of slow jobs. There is at most one unfinished job.
func (NotifyThresholdsArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: retentionQueue, UniqueOpts: queue.Unfinished()}
}

type notifyThresholds struct {
	river.WorkerDefaults[NotifyThresholdsArgs]
	allowances *allowance.Service
	clock      clock
}

// thresholdTime is the time limit of one job.
const thresholdTime = 4 * time.Minute

// Timeout limits the comparison of all tenants.
func (*notifyThresholds) Timeout(*river.Job[NotifyThresholdsArgs]) time.Duration {
	return thresholdTime
}

// NextRetry returns the time after a failure. River's own pauses grow to hours, and the unfinished job prevents the periodic one.
func (w *notifyThresholds) NextRetry(*river.Job[NotifyThresholdsArgs]) time.Time {
	return w.clock.now().Add(thresholdsEvery)
}

// Work notifies them.
func (w *notifyThresholds) Work(ctx context.Context, _ *river.Job[NotifyThresholdsArgs]) error {
	return w.allowances.NotifyThresholds(ctx)
}
