package usage

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

const (
	// BlockAge is how long a process caches which meters of a tenant are blocked. So a tenant can begin new work for that long
	// after its included usage is used up.
	BlockAge = 10 * time.Second
	// maxKnownBlocks is the number of tenants whose blocked meters are cached.
	maxKnownBlocks = 10_000
)

// ForgetBlocksOf removes what this process has cached about a tenant's blocked meters.
func (s *Service) ForgetBlocksOf(tenantID string) { s.blocks.Delete(tenantID) }

// ForgetBlocks removes what this process has cached about blocked meters. Call it after the commit of a change of allowances.
func (s *Service) ForgetBlocks() { s.blocks.Clear() }

// CheckAllowance refuses new work of the meters, 403 plan_limit, if the usage that the tenant's plan includes of one of them is
// used up and its overage is BLOCK, or CHARGE while it can't be charged. The answer is up to BlockAge old. Call it outside of transactions.
func (s *Service) CheckAllowance(ctx context.Context, tenantID string, meters ...Meter) error {
	return s.checkAllowance(ctx, s.pool, tenantID, meters)
}

// CheckAllowanceTx does the same as CheckAllowance in a transaction.
func (s *Service) CheckAllowanceTx(ctx context.Context, tx pgx.Tx, tenantID string, meters ...Meter) error {
	return s.checkAllowance(ctx, tx, tenantID, meters)
}

func (s *Service) checkAllowance(ctx context.Context, through db.DBTX, tenantID string, meters []Meter) error {
	now := s.now()
	refusals, ok := s.blocks.Get(tenantID, now)
	if !ok {
		var err error
		if refusals, err = s.findBlocked(ctx, through, tenantID); err != nil {
			return err
		}
		s.blocks.Put(tenantID, refusals, now)
	}
	for _, m := range meters {
		if refusal := refusals[m]; refusal != nil {
			copied := *refusal // the caller may change it
			return &copied
		}
	}
	return nil
}

// findBlocked returns the refusals of a tenant's blocked meters. It reads usage only if the plan blocks or charges a meter.
func (s *Service) findBlocked(ctx context.Context, through db.DBTX, tenantID string) (map[Meter]*problem.Error, error) {
	q := db.New(through)
	plan, err := q.GetTenantTier(ctx, tenantID)
	if err != nil {
		return nil, fmt.Errorf("get plan: %w", err)
	}
	all, err := listAllowances(ctx, q)
	if err != nil {
		return nil, err
	}
	blocking, charging := false, false
	for _, a := range all[plan] {
		blocking, charging = blocking || a.Overage == Block, charging || a.Overage == Charge
	}
	if !blocking && !charging {
		return nil, nil
	}
	var charge Charging
	if charging && s.charges != nil {
		if charge, err = s.charges(ctx, through, tenantID); err != nil {
			return nil, err
		}
	}
	p, err := s.usageOf(ctx, through, tenantID)
	if err != nil {
		return nil, err
	}
	plans, err := q.ListPlans(ctx)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return all.refusals(p, plans, charge), nil
}

// refusals returns the refusals of the meters whose included usage is used up: with Block, and with Charge at the spend cap or while
// nothing can be charged.
func (a allowances) refusals(p Period, plans []db.Plan, charge Charging) map[Meter]*problem.Error {
	limit := charge.limit()
	capReached := charge.Cents(p) >= limit
	list := map[Meter]*problem.Error{}
	for _, r := range p.Readings {
		switch {
		case !r.isUsedUp() || r.Overage == Allow:
		case r.Overage == Charge && charge.Available && capReached:
			list[r.Meter] = spendCapReached(p.Plan, limit, r)
		case r.Overage == Block:
			list[r.Meter] = a.exceeded(p.Plan, plans, r, charge.Available)
		case !charge.Available:
			list[r.Meter] = a.exceeded(p.Plan, plans, r, charge.Available)
			list[r.Meter].Message += "; more is charged while the subscription is ACTIVE and all its charges are paid"
		}
	}
	return list
}

// isUsedUp reports whether the included usage is used up.
func (r Reading) isUsedUp() bool { return r.Included != nil && r.Used >= *r.Included }

// exceeded returns the refusal of a blocked meter. plans are all plans, the smallest tier first. chargeable: usage above the included
// one can be charged to the tenant.
func (a allowances) exceeded(plan string, plans []db.Plan, r Reading, chargeable bool) *problem.Error {
	refusal := problem.New(problem.Forbidden, "plan_limit", "the plan %s includes %d %s in a period, and they are used up",
		plan, *r.Included, r.Meter)
	refusal.Limit = &problem.Limit{Name: string(r.Meter), Value: *r.Included, Plan: plan}
	larger := false // plans come smallest first; a smaller one is no upgrade
	for _, p := range plans {
		more, limited := a[p.Tier][r.Meter]
		allows := !limited || more.Overage == Allow || more.Overage == Charge && chargeable || more.Included > r.Used
		larger = larger || p.Tier == plan
		if !p.Active || !larger || p.Tier == plan || !allows {
			continue
		}
		refusal.Limit.UpgradeTo = p.Tier
		refusal.Message += "; " + p.Tier + " allows more"
		break
	}
	return refusal
}
