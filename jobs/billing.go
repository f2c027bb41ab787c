package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/commerce/billing"
)

// handleProcessorEvent processes a webhook of the payment processor.
type handleProcessorEvent struct {
	river.WorkerDefaults[billing.ProcessorEventArgs]
	billing *billing.Service
	clock
}

// Work processes it, or snoozes.
func (w *handleProcessorEvent) Work(ctx context.Context, job *river.Job[billing.ProcessorEventArgs]) error {
	return w.until(w.billing.HandleProcessorEvent(ctx, job.Args.EventID))
}
