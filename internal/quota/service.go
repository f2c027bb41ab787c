// Package quota keeps tenants within the limits of their plans. A use case that
// adds something limited calls CheckTx in the transaction that adds it.
package quota

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
)

// Service answers what plans allow.
type Service struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// New makes the service on a clock.
func New(pool *pgxpool.Pool, now func() time.Time) *Service { return &Service{pool: pool, now: now} }

// CheckTx refuses wanted more of something when the tenant would then have more
// than its plan allows: 403 plan_limit. count says how many the tenant has, read
// in tx.
//
// Checks of one limit of one tenant run one after the other, until their
// transactions end, so the limit is exact under any number of requests at once.
// Call it before locking rows other than the tenant's. The plan is read each
// time: a change of the plan, or of its limits, holds at once. What a tenant has
// above a lowered limit stays; only more is refused.
func (s *Service) CheckTx(
	ctx context.Context, tx pgx.Tx, tenantID string, limit Limit, wanted int64, count func(ctx context.Context) (int64, error),
) error {
	q := db.New(tx)
	row, err := q.LockPlan(ctx, db.LockPlanParams{TenantID: tenantID, Name: string(limit)})
	if err != nil {
		return fmt.Errorf("lock plan: %w", err)
	}
	have, err := count(ctx)
	if err != nil {
		return fmt.Errorf("count for %s: %w", limit, err)
	}
	if have+wanted <= limit.of(row.Plan) {
		return nil
	}
	plans, err := q.ListPlans(ctx)
	if err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	return exceeded(limit, row.Plan, plans, have+wanted)
}
