package jobs

import (
	"context"
	"errors"

	"github.com/riverqueue/river"

	"showfloor/internal/base/queue"
	"showfloor/internal/streams/analytics"
	"showfloor/internal/tenancy/audit"
)

// WriteSumsArgs is the periodic job that writes the sums of closed hours and days, from which figures and totals are read.
type WriteSumsArgs struct{}

// Kind names the job.
func (WriteSumsArgs) Kind() string { return "write_sums" }

// InsertOpts selects the queue of slow jobs. There is at most one unfinished job.
func (WriteSumsArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: retentionQueue, UniqueOpts: queue.Unfinished()}
}

type writeSums struct {
	river.WorkerDefaults[WriteSumsArgs]
	analytics *analytics.Service
	audit     *audit.Days
}

// Work writes the sums.
func (w *writeSums) Work(ctx context.Context, _ *river.Job[WriteSumsArgs]) error {
	return errors.Join(w.analytics.SumFigures(ctx), w.audit.CountDays(ctx))
}
