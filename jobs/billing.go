package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/commerce/billing"
)

// handleProcessorEvent processes a webhook of the payment processor.
type handleProcessorEvent struct {
	river.WorkerDefaults[billing.ProcessorEventArgs]
	billing *billing.Service
	clock
}

// eventPause is the longest pause before the retry of an event. After an outage of the processor, its events are processed within it.
const eventPause = 6 * time.Hour

// NextRetry returns the time of the retry after a failure. The pause in seconds is the attempt's number to the fourth power.
func (w *handleProcessorEvent) NextRetry(job *river.Job[billing.ProcessorEventArgs]) time.Time {
	n := min(job.Attempt, 100) // beyond it, the product would overflow
	return w.now().Add(min(time.Duration(n*n*n*n)*time.Second, eventPause))
}

// Work processes it, or snoozes.
func (w *handleProcessorEvent) Work(ctx context.Context, job *river.Job[billing.ProcessorEventArgs]) error {
	return w.until(w.billing.HandleProcessorEvent(ctx, job.Args.EventID))
}
