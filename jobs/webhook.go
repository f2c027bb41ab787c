package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/internal/event"
	"showfloor/internal/webhook"
)

// deliveryTimeout is longer than the limit of one attempt plus the time for which one job
// continues with the subject's next deliveries.
const deliveryTimeout = 45 * time.Second

// deliver makes the attempts of a delivery and snoozes between them.
type deliver struct {
	river.WorkerDefaults[event.DeliverArgs]
	webhooks *webhook.Service
	clock
}

// Timeout limits the attempts of one run.
func (*deliver) Timeout(*river.Job[event.DeliverArgs]) time.Duration { return deliveryTimeout }

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *deliver) NextRetry(job *river.Job[event.DeliverArgs]) time.Time { return w.soon(job.Attempt) }

// Work makes the attempt that is due.
func (w *deliver) Work(ctx context.Context, job *river.Job[event.DeliverArgs]) error {
	return w.until(w.webhooks.Deliver(ctx, job.Args.DeliveryID))
}

// restart makes the first attempt of a delivery that starts anew.
type restart struct {
	river.WorkerDefaults[event.RestartArgs]
	webhooks *webhook.Service
	clock
}

// Timeout limits the attempts of one run.
func (*restart) Timeout(*river.Job[event.RestartArgs]) time.Duration { return deliveryTimeout }

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *restart) NextRetry(job *river.Job[event.RestartArgs]) time.Time { return w.soon(job.Attempt) }

// Work makes the attempt.
func (w *restart) Work(ctx context.Context, job *river.Job[event.RestartArgs]) error {
	return outcome(w.webhooks.Restart(ctx, job.Args.DeliveryID))
}

// redeliver makes an attempt that a user requested.
type redeliver struct {
	river.WorkerDefaults[event.RedeliverArgs]
	webhooks *webhook.Service
	clock
}

// Timeout limits the attempt.
func (*redeliver) Timeout(*river.Job[event.RedeliverArgs]) time.Duration { return deliveryTimeout }

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *redeliver) NextRetry(job *river.Job[event.RedeliverArgs]) time.Time {
	return w.soon(job.Attempt)
}

// Work makes the attempt.
func (w *redeliver) Work(ctx context.Context, job *river.Job[event.RedeliverArgs]) error {
	return w.until(w.webhooks.Redeliver(ctx, job.Args.DeliveryID))
}

// fanOut writes the deliveries that large transactions have deferred.
type fanOut struct {
	river.WorkerDefaults[event.FanOutArgs]
	webhooks *webhook.Service
	pool     *pgxpool.Pool
	clock
}

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *fanOut) NextRetry(job *river.Job[event.FanOutArgs]) time.Time { return w.soon(job.Attempt) }

// Work writes deliveries for a few seconds. First it deletes the tenant's other jobs that haven't
// begun: their deliveries were committed before this run could see the jobs, so this run writes
// them. The queue takes turns by job, so a tenant that adds many would delay the others.
func (w *fanOut) Work(ctx context.Context, job *river.Job[event.FanOutArgs]) error {
	_, err := w.pool.Exec(ctx, `DELETE FROM river_job
		WHERE kind = $1 AND state IN ('available', 'scheduled') AND args->>'tenantId' = $2 AND id <> $3`,
		job.Kind, job.Args.TenantID, job.ID)
	if err != nil {
		return outcome(fmt.Errorf("delete the tenant's other jobs: %w", err))
	}
	return w.until(w.webhooks.FanOut(ctx, job.Args.TenantID))
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
