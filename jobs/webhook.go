package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

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

// redeliver makes the attempt that somebody asked for.
type redeliver struct {
	river.WorkerDefaults[event.RedeliverArgs]
	webhooks *webhook.Service
}

// Timeout bounds the attempt.
func (*redeliver) Timeout(*river.Job[event.RedeliverArgs]) time.Duration { return deliveryTimeout }

// Work makes the attempt.
func (w *redeliver) Work(ctx context.Context, job *river.Job[event.RedeliverArgs]) error {
	return until(w.webhooks.Redeliver(ctx, job.Args.DeliveryID))
}
