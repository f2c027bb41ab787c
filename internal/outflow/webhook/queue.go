package webhook

import (
	"context"
	"fmt"
	"math"
	"slices"
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

// DeliverBatchArgs is the job that makes the first attempts of several deliveries. A job for each of them would cost as much
// as the attempts. It is not unique: the fan-out writes it together with its deliveries.
type DeliverBatchArgs struct {
	DeliveryIDs []string `json:"deliveryIds"`
}

// Kind names the job.
func (DeliverBatchArgs) Kind() string { return "webhook_deliver_batch" }

// InsertOpts adds it to the queue of deliveries.
func (DeliverBatchArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, MaxAttempts: maxFailures}
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

// enqueueFirst adds the jobs of new deliveries. Many of them share jobs.
func (s *Service) enqueueFirst(ctx context.Context, tx pgx.Tx, deliveryIDs ...string) error {
	if len(deliveryIDs) < shareJobsFrom {
		return s.enqueue(ctx, tx, deliveryIDs...)
	}
	var jobs []river.InsertManyParams
	for ids := range slices.Chunk(deliveryIDs, jobDeliveries) {
		jobs = append(jobs, river.InsertManyParams{Args: DeliverBatchArgs{DeliveryIDs: ids}})
	}
	return s.insert(ctx, tx, jobs)
}

// enqueueAt adds the job of a delivery whose next attempt is due later.
func (s *Service) enqueueAt(ctx context.Context, tx pgx.Tx, deliveryID string, at time.Time) error {
	return s.insert(ctx, tx, []river.InsertManyParams{later(deliveryID, at)})
}

// later is the job of a delivery whose next attempt is due at a time.
func later(deliveryID string, at time.Time) river.InsertManyParams {
	opts := DeliverArgs{}.InsertOpts()
	opts.ScheduledAt = at
	return river.InsertManyParams{Args: DeliverArgs{DeliveryID: deliveryID}, InsertOpts: &opts}
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
