package webhook

import (
	"context"
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
	after := ""
	for {
		ids, err := db.New(s.config.Pool).ListOverdueDeliveries(ctx, db.ListOverdueDeliveriesParams{
			Before: s.config.Now().Add(-overdue), After: after, MaxRows: overdueBatch,
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
