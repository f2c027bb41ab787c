// Package quota enforces the limits of tenants' plans. A use case that adds something
// limited calls CheckTx in the transaction that adds it.
package quota

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/cache"
	"showfloor/internal/base/problem"
)

// Service checks and counts against the limits of plans.
type Service struct {
	pool *pgxpool.Pool
	now  func() time.Time
	// known caches the plans of tenants.
	known *cache.Map[string, db.Plan]
}

// New makes the service on a clock.
func New(pool *pgxpool.Pool, now func() time.Time) *Service {
	return &Service{pool: pool, now: now, known: cache.NewMap[string, db.Plan](planAge, maxKnownPlans)}
}

// CheckTx refuses to add wanted things if the tenant would then have more than its plan
// allows: 403 plan_limit. count returns the number that the tenant has, read in tx.
//
// Checks of one limit of one tenant run one after the other, until their
// transactions end, so the limit is exact under any number of requests at once.
// Call it before locking rows other than the tenant's. The plan is read each
// time: a change of the plan, or of its limits, holds at once. A tenant that
// has more than a lowered limit keeps it; only additions are refused.
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

// LimitTx returns the value of a limit in the tenant's plan.
func (*Service) LimitTx(ctx context.Context, tx pgx.Tx, tenantID string, limit Limit) (int64, error) {
	row, err := db.New(tx).GetTenantPlan(ctx, tenantID)
	if err != nil {
		return 0, fmt.Errorf("get plan: %w", err)
	}
	return limit.of(row.Plan), nil
}

// Limit returns the value of a limit in the tenant's plan of up to 10 seconds ago, and the refusal of one thing more.
func (s *Service) Limit(ctx context.Context, tenantID string, limit Limit) (value int64, refusal *problem.Error, err error) {
	p, err := s.planOf(ctx, tenantID)
	if err != nil {
		return 0, nil, err
	}
	plans, err := s.ListPlans(ctx)
	if err != nil {
		return 0, nil, err
	}
	value = limit.of(p)
	return value, exceeded(limit, p, plans, value+1), nil
}

// CheckValueTx refuses a value above a limit that other things of the tenant don't count for: 403 plan_limit.
func (*Service) CheckValueTx(ctx context.Context, tx pgx.Tx, tenantID string, limit Limit, value int64) error {
	q := db.New(tx)
	row, err := q.GetTenantPlan(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("get plan: %w", err)
	}
	if value <= limit.of(row.Plan) {
		return nil
	}
	plans, err := q.ListPlans(ctx)
	if err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	return exceeded(limit, row.Plan, plans, value)
}

// CheckDayTx refuses to add one more thing, with 429 rate_limited, if the tenant has created
// maxPerDay of them within 24 hours, including deleted ones. creation runs in the transaction
// that adds the thing. It returns when the tenant created the one before its newest skipped
// ones, if that was after since; otherwise pgx.ErrNoRows. Call CheckDayTx after CheckTx for the
// same limit: the lock of CheckTx makes it exact.
func (s *Service) CheckDayTx(
	ctx context.Context, tx pgx.Tx, tenantID string, limit Limit,
	creation func(ctx context.Context, since time.Time, skipped int32) (time.Time, error),
) error {
	now := s.now()
	at, err := creation(ctx, now.Add(-day), maxPerDay-1)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for the day's %s of %s: %w", limit, tenantID, err)
	}
	row, err := db.New(tx).GetTenantPlan(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("get plan: %w", err)
	}
	return tooManyToday(limit, row.Plan, at.Add(day).Sub(now))
}

// TakeProcessorCall counts a call to the payment processor that a tenant's request is about
// to cause, such as a query for a seller's account. Calls that complete a sale don't count.
// Above the plan's number of calls per minute of the database's clock it returns 429
// rate_limited. Call it outside of transactions.
func (s *Service) TakeProcessorCall(ctx context.Context, tenantID string) error {
	q := db.New(s.pool)
	row, err := q.GetTenantPlan(ctx, tenantID)
	if err != nil {
		return fmt.Errorf("get plan: %w", err)
	}
	_, err = q.TakeProcessorCall(ctx, db.TakeProcessorCallParams{TenantID: tenantID, Most: int32(processorCalls.of(row.Plan))})
	if err == nil {
		return nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("take processor call: %w", err)
	}
	plans, err := q.ListPlans(ctx)
	if err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	now := s.now()
	return tooOften(processorCalls, row.Plan, plans, now.Truncate(time.Minute).Add(time.Minute).Sub(now))
}

// RetentionDaysTx returns how many days the tenant's plan keeps recordings; nil: without a limit.
func (s *Service) RetentionDaysTx(ctx context.Context, tx pgx.Tx, tenantID string) (*int32, error) {
	row, err := db.New(tx).GetTenantPlan(ctx, tenantID)
	if err != nil {
		return nil, fmt.Errorf("get plan: %w", err)
	}
	return row.Plan.RecordingRetentionDays, nil
}
