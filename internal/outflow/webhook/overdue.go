package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

const (
	// overdue is how late a delivery may be before its job counts as lost.
	overdue = 5 * time.Minute
	// overdueBatch is how many overdue deliveries one query returns.
	overdueBatch = 500
)

// EnqueueOverdue replaces lost jobs. It gives a job to each overdue delivery that
// waits for no other delivery. Deliveries that have a job, because they wait for
// room or for a suspended tenant, get no second one.
func (s *Service) EnqueueOverdue(ctx context.Context) error {
	before, err := s.overdueBefore(ctx)
	if err != nil {
		return err
	}
	after := ""
	for {
		ids, err := db.New(s.config.Pool).ListOverdueDeliveries(ctx, db.ListOverdueDeliveriesParams{
			Before: before, After: after, MaxRows: overdueBatch,
		})
		if err != nil {
			return fmt.Errorf("list overdue deliveries: %w", err)
		}
		err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error { return s.enqueue(ctx, tx, ids...) })
		if err != nil || len(ids) < overdueBatch {
			return err
		}
		after = ids[len(ids)-1]
	}
}

// overdueBefore returns the time before which a delivery was due whose job counts as lost. A delivery that shares a job has had it
// since it was written, so the oldest of these jobs that is open is the limit: otherwise a delivery that waits in it would get a
// second job. If its first delivery was deleted, the job's own time counts. Transactions that write deliveries at the same time may
// get the jobs' ids in another order, so a second is subtracted.
func (s *Service) overdueBefore(ctx context.Context) (time.Time, error) {
	before := s.config.Now().Add(-overdue)
	var oldest *time.Time
	err := s.config.Pool.QueryRow(ctx, `
		SELECT coalesce((SELECT d.created_at FROM webhook_deliveries d WHERE d.id = j.args->'deliveryIds'->>0), j.created_at)
		FROM river_job j
		WHERE j.state IN ('available', 'running', 'retryable', 'scheduled') AND j.queue = $1 AND j.kind = $2 ORDER BY j.id LIMIT 1`,
		Queue, DeliverBatchArgs{}.Kind()).Scan(&oldest)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, fmt.Errorf("find the oldest job of several deliveries: %w", err)
	}
	if oldest != nil && oldest.Before(before) {
		return oldest.Add(-time.Second), nil
	}
	return before, nil
}
