package webhook

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/internal/base/queue"
)

// DeliverArgs is the job that makes all attempts of one delivery.
type DeliverArgs struct {
	DeliveryID string `json:"deliveryId" river:"unique"`
}

// Kind names the job.
func (DeliverArgs) Kind() string { return "webhook_deliver" }

// maxFailures is River's limit of attempts, practically none. Only faults of this server count, such
// as a database that is down. The attempts of a delivery are counted in its row.
const maxFailures = math.MaxInt16

// InsertOpts ensures that a delivery has only one job that waits for its next attempt.
func (DeliverArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue: Queue, MaxAttempts: maxFailures,
		UniqueOpts: queue.Unfinished(),
	}
}

// RedeliverArgs is the job of a manual retry: one immediate attempt, independent of the
// delivery's own job. It is not unique in the queue. If it were, a retry that is
// requested while the last retry's job is ending would be lost. The delivery's row allows
// one requested retry at a time.
type RedeliverArgs struct {
	DeliveryID string `json:"deliveryId"`
}

// Kind names the job.
func (RedeliverArgs) Kind() string { return "webhook_redeliver" }

// InsertOpts adds it to the queue of deliveries.
func (RedeliverArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, MaxAttempts: maxFailures}
}

// RestartArgs is the job that starts a finished delivery again. It is not unique in the
// queue, for the reason given at RedeliverArgs: the job that finished the delivery may
// still be running.
type RestartArgs struct {
	DeliveryID string `json:"deliveryId"`
}

// Kind names the job.
func (RestartArgs) Kind() string { return "webhook_restart" }

// InsertOpts adds it to the queue of deliveries.
func (RestartArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, MaxAttempts: maxFailures}
}

// Queue is the queue of deliveries. It is separate, so that slow endpoints delay no other jobs.
const Queue = "webhooks"

// enqueue adds the jobs of deliveries whose turn has come. A delivery that has a
// job gets no second one.
func (s *Service) enqueue(ctx context.Context, tx pgx.Tx, deliveryIDs ...string) error {
	jobs := make([]river.InsertManyParams, len(deliveryIDs))
	for i, deliveryID := range deliveryIDs {
		jobs[i].Args = DeliverArgs{DeliveryID: deliveryID}
	}
	return s.insert(ctx, tx, jobs)
}

// enqueueAt adds the job of a delivery whose next attempt is due later.
func (s *Service) enqueueAt(ctx context.Context, tx pgx.Tx, deliveryID string, at time.Time) error {
	opts := DeliverArgs{}.InsertOpts()
	opts.ScheduledAt = at
	return s.insert(ctx, tx, []river.InsertManyParams{{Args: DeliverArgs{DeliveryID: deliveryID}, InsertOpts: &opts}})
}

// enqueueRestart adds the jobs of deliveries that start again.
func (s *Service) enqueueRestart(ctx context.Context, tx pgx.Tx, deliveryIDs ...string) error {
	jobs := make([]river.InsertManyParams, len(deliveryIDs))
	for i, deliveryID := range deliveryIDs {
		jobs[i].Args = RestartArgs{DeliveryID: deliveryID}
	}
	return s.insert(ctx, tx, jobs)
}

func (s *Service) insert(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("insert delivery jobs: %w", err)
	}
	return nil
}
