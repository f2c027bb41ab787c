package usage

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

// shown returns the meters that the API shows, in the order of UsageMeter.
func shown() []Meter {
	return []Meter{StreamMinutes, ViewerMinutes, ParticipantMinutes, RecordingMinutes, StorageBytes, EgressBytes, TranscodeMinutes, Pushes}
}

// Reading is the value of one meter in a period.
type Reading struct {
	Meter Meter
	// Used is in the meter's unit; minutes are rounded up.
	Used int64
	// Included is the amount in the plan; nil for no limit.
	Included *int64
	// Overage is what happens above Included: Block, Allow or Charge. It is empty without a limit.
	Overage string
	// PriceCents is the price of each Units above Included that are begun, with Charge.
	PriceCents, Units int64
}

// Period is a tenant's usage from From until before To.
type Period struct {
	Plan     string
	From, To time.Time
	Readings []Reading
}

// month returns the calendar month (UTC) of a time.
func month(now time.Time) (from, to time.Time) {
	now = now.UTC()
	from = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 1, 0)
}

// Periods returns the period of a tenant's subscription that contains a time; ok is false without a subscription that runs. It reads
// through the given connection, so that a caller's transaction needs no second one.
type Periods func(ctx context.Context, through db.DBTX, tenantID string, at time.Time) (from, to time.Time, ok bool, err error)

// FollowPeriods sets the function that knows the periods of subscriptions. Call it before the service is used.
func (s *Service) FollowPeriods(periods Periods) { s.periods = periods }

// period returns a tenant's current period: that of its subscription, else the calendar month (UTC). All that shows, limits or bills
// a tenant's usage of the period takes its bounds from here.
func (s *Service) period(ctx context.Context, through db.DBTX, tenantID string) (from, to time.Time, err error) {
	now := s.now()
	if s.periods != nil {
		from, to, ok, err := s.periods(ctx, through, tenantID, now)
		if err != nil || ok {
			return from, to, err
		}
	}
	from, to = month(now)
	return from, to, nil
}

// allowances are the included amounts, by plan and meter.
type allowances map[string]map[Meter]db.PlanAllowance

// readings combines the used amounts with the included ones of a plan.
func (a allowances) readings(plan string, used Amounts) []Reading {
	var list []Reading
	for _, m := range shown() {
		r := Reading{Meter: m, Used: used.Units(m)}
		if included, limited := a[plan][m]; limited {
			r.Included, r.Overage = &included.Included, included.Overage
			if included.OveragePriceCents != nil && included.OverageUnits != nil {
				r.PriceCents, r.Units = *included.OveragePriceCents, *included.OverageUnits
			}
		}
		list = append(list, r)
	}
	return list
}

func listAllowances(ctx context.Context, q *db.Queries) (allowances, error) {
	found, err := q.ListAllowances(ctx)
	if err != nil {
		return nil, fmt.Errorf("list allowances: %w", err)
	}
	a := allowances{}
	for _, x := range found {
		if a[x.Tier] == nil {
			a[x.Tier] = map[Meter]db.PlanAllowance{}
		}
		a[x.Tier][Meter(x.Meter)] = x
	}
	return a, nil
}

// GetUsage returns a tenant's usage in the current period, with the amounts that its plan includes.
func (s *Service) GetUsage(ctx context.Context, tenantID string) (Period, error) {
	return s.usageOf(ctx, s.pool, tenantID)
}

func (s *Service) usageOf(ctx context.Context, through db.DBTX, tenantID string) (Period, error) {
	q := db.New(through)
	from, to, err := s.period(ctx, through, tenantID)
	if err != nil {
		return Period{}, err
	}
	plan, err := q.GetTenantTier(ctx, tenantID)
	if err != nil {
		return Period{}, fmt.Errorf("get plan: %w", err)
	}
	included, err := listAllowances(ctx, q)
	if err != nil {
		return Period{}, err
	}
	used, err := sumAll(ctx, q, tenantID, from, to)
	if err != nil {
		return Period{}, err
	}
	return Period{Plan: plan, From: from, To: to, Readings: included.readings(plan, used)}, nil
}

// sumAll adds up a span, with the highest levels in it.
func sumAll(ctx context.Context, q *db.Queries, tenantID string, from, to time.Time) (Amounts, error) {
	used, err := sum(ctx, q, tenantID, from, to)
	if err != nil {
		return nil, err
	}
	highest, err := levels(ctx, q, []string{tenantID}, from, to)
	if err != nil {
		return nil, err
	}
	maps.Copy(used, highest[tenantID])
	return used, nil
}

// SumAllTx returns a tenant's usage of all meters from a time until another one, which isn't included. STORAGE_BYTES is the highest
// level of the span.
func (*Service) SumAllTx(ctx context.Context, tx pgx.Tx, tenantID string, from, to time.Time) (Amounts, error) {
	return sumAll(ctx, db.New(tx), tenantID, from, to)
}

// ListUsing returns the ids of at most limit tenants after one, in their order, that have used or stored something since a time,
// or in the hour of it.
func (s *Service) ListUsing(ctx context.Context, since time.Time, after string, limit int) ([]string, error) {
	ids, err := db.New(s.pool).ListUsingTenants(ctx, db.ListUsingTenantsParams{
		Since: since.UTC().Truncate(time.Hour), After: after, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list tenants with usage: %w", err)
	}
	return ids, nil
}

// TenantUsage is the usage of one of several tenants.
type TenantUsage struct {
	db.ListTopUsageRow

	Readings []Reading
}

// Top is the usage of the tenants that use most.
type Top struct {
	From, To time.Time
	Tenants  []TenantUsage
}

// ListTopUsage returns the usage in this calendar month of the tenants with the most bytes
// sent, at most limit of them. It leaves out tenants without usage.
func (s *Service) ListTopUsage(ctx context.Context, limit int) (Top, error) {
	q, now := db.New(s.pool), s.now().UTC()
	from, _ := month(now)
	top := Top{From: from, To: now}
	tenants, err := q.ListTopUsage(ctx, db.ListTopUsageParams{Since: from, MaxRows: int32(limit)})
	if err != nil {
		return top, fmt.Errorf("list tenants: %w", err)
	}
	included, err := listAllowances(ctx, q)
	if err != nil {
		return top, err
	}
	var ids []string
	for _, t := range tenants {
		ids = append(ids, t.ID)
	}
	found, err := q.SumUsageOfTenants(ctx, db.SumUsageOfTenantsParams{TenantIds: ids, Since: from})
	if err != nil {
		return top, fmt.Errorf("sum usage: %w", err)
	}
	used := map[string]Amounts{}
	for _, x := range found {
		if used[x.TenantID] == nil {
			used[x.TenantID] = Amounts{}
		}
		used[x.TenantID][Meter(x.Meter)] = x.Amount
	}
	highest, err := levels(ctx, q, ids, from, now)
	if err != nil {
		return top, err
	}
	for id, list := range highest {
		if used[id] == nil {
			used[id] = Amounts{}
		}
		maps.Copy(used[id], list)
	}
	for _, t := range tenants {
		top.Tenants = append(top.Tenants, TenantUsage{t, included.readings(t.Plan, used[t.ID])})
	}
	return top, nil
}
