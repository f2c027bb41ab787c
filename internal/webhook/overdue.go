package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/postgres"
)

const (
	// overdue is how late a delivery may be before its job counts as lost.
	overdue = 5 * time.Minute
	// overdueBatch is how many are looked for at a time.
	overdueBatch = 500
)

// EnqueueOverdue gives a job to each delivery that is late and waits for none
// before it. Those that have one, since they wait for room or for a suspended
// tenant, get no second one. It also gives a job to each tenant with deliveries that should
// have been written by then. So lost jobs are replaced.
func (s *Service) EnqueueOverdue(ctx context.Context) error {
	if err := s.enqueueOverdueFanouts(ctx); err != nil {
		return err
	}
	after := ""
	for {
		ids, err := db.New(s.config.Pool).ListOverdueDeliveries(ctx, db.ListOverdueDeliveriesParams{
			Before: s.config.Now().Add(-overdue), After: after, MaxRows: overdueBatch,
		})
		if err != nil {
			return fmt.Errorf("list overdue deliveries: %w", err)
		}
		err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error { return s.config.Events.EnqueueDelivery(ctx, tx, ids...) })
		if err != nil || len(ids) < overdueBatch {
			return err
		}
		after = ids[len(ids)-1]
	}
}

func (s *Service) enqueueOverdueFanouts(ctx context.Context) error {
	tenantIDs, err := db.New(s.config.Pool).ListOverdueFanouts(ctx, s.config.Now().Add(-overdue))
	if err != nil {
		return fmt.Errorf("list overdue fan-outs: %w", err)
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error { return s.config.Events.EnqueueFanOut(ctx, tx, tenantIDs...) })
}
