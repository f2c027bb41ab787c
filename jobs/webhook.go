package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/outflow/webhook"
)

// deliveryTimeout is longer than the limit of one attempt plus the time for which one job
// continues with the subject's next deliveries.
const deliveryTimeout = 45 * time.Second

// deliver makes the attempts of a delivery and snoozes between them.
type deliver struct {
	river.WorkerDefaults[webhook.DeliverArgs]
	webhooks *webhook.Service
	clock
}

// Timeout limits the attempts of one run.
func (*deliver) Timeout(*river.Job[webhook.DeliverArgs]) time.Duration { return deliveryTimeout }

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *deliver) NextRetry(job *river.Job[webhook.DeliverArgs]) time.Time {
	return w.soon(job.Attempt)
}

// Work makes the attempt that is due.
func (w *deliver) Work(ctx context.Context, job *river.Job[webhook.DeliverArgs]) error {
	return w.until(w.webhooks.Deliver(ctx, job.Args.DeliveryID))
}

// deliverBatch makes the first attempts of several deliveries.
type deliverBatch struct {
	river.WorkerDefaults[webhook.DeliverBatchArgs]
	webhooks *webhook.Service
	clock
}

// Timeout limits the attempts of one run.
func (*deliverBatch) Timeout(*river.Job[webhook.DeliverBatchArgs]) time.Duration {
	return deliveryTimeout
}

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *deliverBatch) NextRetry(job *river.Job[webhook.DeliverBatchArgs]) time.Time {
	return w.soon(job.Attempt)
}

// Work makes the attempts in the job's first run. An error of one delivery doesn't cancel the job, because the others may need its
// second run.
func (w *deliverBatch) Work(ctx context.Context, job *river.Job[webhook.DeliverBatchArgs]) error {
	return w.webhooks.DeliverBatch(ctx, job.Args.DeliveryIDs, job.Attempt == 1)
}

// restart makes the first attempt of a delivery that is restarted.
type restart struct {
	river.WorkerDefaults[webhook.RestartArgs]
	webhooks *webhook.Service
	clock
}

// Timeout limits the attempts of one run.
func (*restart) Timeout(*river.Job[webhook.RestartArgs]) time.Duration { return deliveryTimeout }

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *restart) NextRetry(job *river.Job[webhook.RestartArgs]) time.Time {
	return w.soon(job.Attempt)
}

// Work makes the attempt.
func (w *restart) Work(ctx context.Context, job *river.Job[webhook.RestartArgs]) error {
	return outcome(w.webhooks.Restart(ctx, job.Args.DeliveryID))
}

// redeliver makes an attempt that a user requested.
type redeliver struct {
	river.WorkerDefaults[webhook.RedeliverArgs]
	webhooks *webhook.Service
	clock
}

// Timeout limits the attempt.
func (*redeliver) Timeout(*river.Job[webhook.RedeliverArgs]) time.Duration { return deliveryTimeout }

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *redeliver) NextRetry(job *river.Job[webhook.RedeliverArgs]) time.Time {
	return w.soon(job.Attempt)
}

// Work makes the attempt.
func (w *redeliver) Work(ctx context.Context, job *river.Job[webhook.RedeliverArgs]) error {
	return w.until(w.webhooks.Redeliver(ctx, job.Args.DeliveryID))
}

// EnqueueOverdueArgs is the periodic job that finds due deliveries without a job.
type EnqueueOverdueArgs struct{}

// Kind names the job.
func (EnqueueOverdueArgs) Kind() string { return "webhook_enqueue_overdue" }

type enqueueOverdue struct {
	river.WorkerDefaults[EnqueueOverdueArgs]
	webhooks *webhook.Service
}

// Work adds a job for each of them.
func (w *enqueueOverdue) Work(ctx context.Context, _ *river.Job[EnqueueOverdueArgs]) error {
	return outcome(w.webhooks.EnqueueOverdue(ctx))
}
