package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"showfloor/internal/event"
	"showfloor/internal/webhook"
)

// deliveryTimeout is above an attempt's own limit.
const deliveryTimeout = 30 * time.Second

// deliver takes a delivery to its end, snoozing between attempts.
type deliver struct {
	river.WorkerDefaults[event.DeliverArgs]
	webhooks *webhook.Service
}

// Timeout bounds one attempt.
func (*deliver) Timeout(*river.Job[event.DeliverArgs]) time.Duration { return deliveryTimeout }

// Work makes the attempt that is due.
func (w *deliver) Work(ctx context.Context, job *river.Job[event.DeliverArgs]) error {
	return until(w.webhooks.Deliver(ctx, job.Args.DeliveryID))
}

// redeliver makes one attempt now. Should it fail with attempts left, the
// delivery's own job goes on; if that has ended, it gets a new one.
type redeliver struct {
	river.WorkerDefaults[event.RedeliverArgs]
	webhooks *webhook.Service
}

// Timeout bounds the attempt.
func (*redeliver) Timeout(*river.Job[event.RedeliverArgs]) time.Duration { return deliveryTimeout }

// Work makes the attempt.
func (w *redeliver) Work(ctx context.Context, job *river.Job[event.RedeliverArgs]) error {
	again, err := w.webhooks.Deliver(ctx, job.Args.DeliveryID)
	if err != nil || again.IsZero() {
		return outcome(err)
	}
	result, err := river.ClientFromContext[pgx.Tx](ctx).Insert(ctx, event.DeliverArgs{DeliveryID: job.Args.DeliveryID},
		&river.InsertOpts{ScheduledAt: again})
	if err != nil {
		return fmt.Errorf("insert delivery job: %w", err)
	}
	if result.UniqueSkippedAsDuplicate && result.Job.State == rivertype.JobStateRunning {
		// It may be at its very end, in which case nobody would go on.
		return river.JobSnooze(time.Second)
	}
	return nil
}
