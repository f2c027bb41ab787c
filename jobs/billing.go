package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/commerce/billing"
	"showfloor/internal/commerce/overage"
	"showfloor/internal/commerce/subscription"
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

// syncBilling copies the processor's state of a tenant's subscriptions.
type syncBilling struct {
	river.WorkerDefaults[subscription.SyncArgs]
	subscriptions *subscription.Service
}

// Work copies it.
func (w *syncBilling) Work(ctx context.Context, job *river.Job[subscription.SyncArgs]) error {
	return outcome(w.subscriptions.SyncTenant(ctx, job.Args.TenantID))
}

// cancelDuplicate ends a tenant's older subscription.
type cancelDuplicate struct {
	river.WorkerDefaults[subscription.CancelDuplicateArgs]
	subscriptions *subscription.Service
}

// Work ends it.
func (w *cancelDuplicate) Work(ctx context.Context, job *river.Job[subscription.CancelDuplicateArgs]) error {
	return outcome(w.subscriptions.CancelDuplicate(ctx, job.Args))
}

// chargeOverage charges a tenant's usage above the included one.
type chargeOverage struct {
	river.WorkerDefaults[overage.ChargeArgs]
	overage *overage.Service
}

// Work charges it.
func (w *chargeOverage) Work(ctx context.Context, job *river.Job[overage.ChargeArgs]) error {
	return outcome(w.overage.Charge(ctx, job.Args.TenantID))
}
