package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/billing"
)

// handleProcessorEvent works through what the payment processor reported.
type handleProcessorEvent struct {
	river.WorkerDefaults[billing.ProcessorEventArgs]
	billing *billing.Service
	clock
}

// Work does, or puts it off.
func (w *handleProcessorEvent) Work(ctx context.Context, job *river.Job[billing.ProcessorEventArgs]) error {
	return w.until(w.billing.HandleProcessorEvent(ctx, job.Args.EventID))
}
