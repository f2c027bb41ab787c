package console

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/etag"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/usage"
)

// Plan is a plan with its allowances and the number of tenants on it.
type Plan struct {
	db.Plan
	Allowances []db.PlanAllowance
	Tenants    int64
}

// PlanPatch holds the changes of a plan.
type PlanPatch struct {
	// Apply changes the fields of the plan that the request has.
	Apply func(p *db.Plan)
	// Allowances replace the old ones; nil keeps them. Their Tier is ignored.
	Allowances *[]db.PlanAllowance
	Reason     string
	IfMatch    etag.Match
}

// ListAdminPlans returns a page of all plans, newest first, and the number of all.
func (s *Service) ListAdminPlans(ctx context.Context, page Page) (list []Plan, total int64, err error) {
	plans, err := s.quotas.ListPlans(ctx)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(plans, func(a, b db.Plan) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	total = int64(len(plans))
	first := min(page.offset(), total)
	list, err = s.describe(ctx, plans[first:min(first+int64(page.Size), total)]...)
	return list, total, err
}

// GetAdminPlan returns one plan.
func (s *Service) GetAdminPlan(ctx context.Context, planID string) (Plan, error) {
	p, err := s.quotas.GetPlan(ctx, planID)
	if err != nil {
		return Plan{}, err
	}
	return s.describeOne(ctx, p)
}

// describe adds allowances and numbers of tenants to plans.
func (s *Service) describe(ctx context.Context, plans ...db.Plan) ([]Plan, error) {
	allowances, err := s.usage.Allowances(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := s.countByPlan(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Plan, len(plans))
	for i, p := range plans {
		list[i] = Plan{p, allowances[p.Tier], counts[p.Tier].Tenants}
	}
	return list, nil
}

func (s *Service) describeOne(ctx context.Context, p db.Plan) (Plan, error) {
	list, err := s.describe(ctx, p)
	if err != nil {
		return Plan{}, err
	}
	return list[0], nil
}

// countByPlan returns the kept numbers of tenants by tier.
func (s *Service) countByPlan(ctx context.Context) (map[string]db.CountTenantsByPlanRow, error) {
	rows, err := db.New(s.pool).CountTenantsByPlan(ctx)
	if err != nil {
		return nil, fmt.Errorf("count tenants by plan: %w", err)
	}
	counts := map[string]db.CountTenantsByPlanRow{}
	for _, r := range rows {
		counts[r.Plan] = r
	}
	return counts, nil
}

// UpdateAdminPlan changes a plan. Limits and allowances hold for all tenants on the plan from the commit; where a process caches
// them, after 10 seconds.
func (s *Service) UpdateAdminPlan(ctx context.Context, c platform.Caller, planID string, patch PlanPatch) (Plan, error) {
	if patch.Allowances != nil {
		if err := checkAllowances(*patch.Allowances); err != nil {
			return Plan{}, err
		}
	}
	return s.changePlan(ctx, c, planID, "plan.update", patch)
}

// ActivateAdminPlan lets tenants book a plan.
func (s *Service) ActivateAdminPlan(ctx context.Context, c platform.Caller, planID string) (Plan, error) {
	return s.changePlan(ctx, c, planID, "plan.activate", PlanPatch{Apply: func(p *db.Plan) { p.Active = true }})
}

// DeactivateAdminPlan ends that tenants can book a plan. It refuses the FREE plan, on which new tenants start.
func (s *Service) DeactivateAdminPlan(ctx context.Context, c platform.Caller, planID string) (Plan, error) {
	return s.changePlan(ctx, c, planID, "plan.deactivate", PlanPatch{Apply: func(p *db.Plan) { p.Active = false }})
}

// changePlan changes a locked plan and writes the audit entry. If nothing changes, it writes nothing.
func (s *Service) changePlan(ctx context.Context, c platform.Caller, planID, action string, patch PlanPatch) (Plan, error) {
	var after db.Plan
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		before, err := s.quotas.LockPlanTx(ctx, tx, planID)
		if err != nil {
			return err
		}
		all, err := s.usage.AllowancesTx(ctx, tx)
		if err != nil {
			return err
		}
		if err := etag.Check(patch.IfMatch, planState{before, allowancesOf(all[before.Tier])}); err != nil {
			return err
		}
		after = before
		patch.Apply(&after)
		if before.Tier == account.Plans()[0] && !after.Active {
			return problem.Conflicting("new tenants start on the plan %s, so it stays active", before.Tier)
		}
		allowances := all[before.Tier]
		if patch.Allowances != nil {
			allowances = *patch.Allowances
		}
		was, is := planSettingsOf(before, all[before.Tier]), planSettingsOf(after, allowances)
		if reflect.DeepEqual(was, is) {
			return nil
		}
		if after, err = s.quotas.SavePlanTx(ctx, tx, after); err != nil {
			return err
		}
		if patch.Allowances != nil {
			if err := s.usage.ReplaceAllowancesTx(ctx, tx, before.Tier, allowances); err != nil {
				return err
			}
		}
		return audit.WriteTx(ctx, db.New(tx), s.now(), audit.Entry{
			Actor: c.Actor(), Action: action, Entity: "plan", EntityID: planID, Reason: patch.Reason, Before: was, After: is,
		})
	})
	if err != nil {
		return Plan{}, err
	}
	s.quotas.ForgetPlans()
	s.usage.ForgetBlocks()
	return s.describeOne(ctx, after)
}

// checkAllowances refuses a meter that is named twice, CHARGE without a price, and a price without CHARGE.
func checkAllowances(list []db.PlanAllowance) error {
	var faults []problem.Field
	seen := map[string]bool{}
	for i, a := range list {
		fault := func(field, text string) {
			faults = append(faults, problem.Field{Field: fmt.Sprintf("allowances[%d].%s", i, field), Message: text})
		}
		if seen[a.Meter] {
			fault("meter", "must be named once")
		}
		seen[a.Meter] = true
		for _, f := range []struct {
			name  string
			value *int64
		}{{"overagePriceCents", a.OveragePriceCents}, {"overageUnits", a.OverageUnits}} {
			switch {
			case a.Overage == usage.Charge && f.value == nil:
				fault(f.name, "is required with the overage CHARGE")
			case a.Overage != usage.Charge && f.value != nil:
				fault(f.name, "is only for the overage CHARGE")
			}
		}
	}
	if faults != nil {
		return problem.BadFields(faults)
	}
	return nil
}

// PlanShare is the number of tenants on a plan that are not CANCELLED, and their part of all such tenants, in percent with one
// decimal.
type PlanShare struct {
	Tier    string
	Tenants int64
	Percent float64
}

// PlanDistribution has an entry for each tier, the smallest first.
type PlanDistribution struct {
	At    time.Time
	Total int64
	Plans []PlanShare
}

// GetAdminPlanDistribution returns the distribution of the tenants over the plans. It reads the kept numbers, not the tenants.
func (s *Service) GetAdminPlanDistribution(ctx context.Context) (PlanDistribution, error) {
	d := PlanDistribution{At: s.now()}
	counts, err := s.countByPlan(ctx)
	if err != nil {
		return d, err
	}
	for _, tier := range account.Plans() {
		d.Total += counts[tier].Current
		d.Plans = append(d.Plans, PlanShare{Tier: tier, Tenants: counts[tier].Current})
	}
	for i := range d.Plans {
		if d.Total > 0 {
			d.Plans[i].Percent = math.Round(1000*float64(d.Plans[i].Tenants)/float64(d.Total)) / 10
		}
	}
	return d, nil
}

// planState is the state of a plan that its ETag is about. The number of tenants doesn't belong to it.
type planState struct {
	Plan       db.Plan
	Allowances []db.PlanAllowance
}

// allowancesOf makes no difference between no list and an empty one.
func allowancesOf(list []db.PlanAllowance) []db.PlanAllowance {
	return append([]db.PlanAllowance{}, list...)
}

// ETag returns the validator of the plan.
func (p Plan) ETag() (string, error) { return etag.Of(planState{p.Plan, allowancesOf(p.Allowances)}) }
