package overage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/tenancy/usage"
)

// books is a transaction on the open periods of a tenant.
type books struct {
	*Service
	tx       pgx.Tx
	q        *db.Queries
	now      time.Time
	tenantID string
	payer    subscription.Payer
	periods  []db.OveragePeriod
	// charges are those of the open periods, in the order of periods and meters.
	charges []db.OverageCharge
	// reported is what was reported of each charge.
	reported map[chargeKey]int64
}

// chargeKey identifies a charge of a tenant.
type chargeKey struct {
	start int64 // Unix microseconds
	meter string
}

func keyOf(start time.Time, meter string) chargeKey { return chargeKey{start.UnixMicro(), meter} }

// open runs do with the tenant's books, with the tenant locked.
func (s *Service) open(ctx context.Context, tenantID string, do func(b *books) error) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		b := &books{Service: s, tx: tx, q: db.New(tx), now: s.config.Now().UTC().Truncate(time.Microsecond), tenantID: tenantID}
		if _, err := b.q.LockTenant(ctx, tenantID); err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		var err error
		if b.payer, err = s.config.Subscriptions.GetPayer(ctx, tx, tenantID); err != nil {
			return err
		}
		return do(b)
	})
}

// read reads the open periods with their charges and what was reported of them.
func (b *books) read(ctx context.Context) (err error) {
	if b.periods, err = b.q.ListOpenOveragePeriods(ctx, b.tenantID); err != nil {
		return fmt.Errorf("list periods: %w", err)
	}
	starts := make([]time.Time, len(b.periods))
	for i, p := range b.periods {
		starts[i] = p.PeriodStart
	}
	b.charges, err = b.q.ListOverageCharges(ctx, db.ListOverageChargesParams{TenantID: b.tenantID, PeriodStarts: starts})
	if err != nil {
		return fmt.Errorf("list charges: %w", err)
	}
	sums, err := b.q.SumOverageReports(ctx, db.SumOverageReportsParams{TenantID: b.tenantID, PeriodStarts: starts})
	if err != nil {
		return fmt.Errorf("sum reports: %w", err)
	}
	b.reported = map[chargeKey]int64{}
	for _, x := range sums {
		b.reported[keyOf(x.PeriodStart, x.Meter)] = x.Cents
	}
	return nil
}

// addUp brings the periods and charges of a tenant up to date.
func (s *Service) addUp(ctx context.Context, tenantID string) error {
	return s.open(ctx, tenantID, func(b *books) error {
		if err := b.bound(ctx); err != nil {
			return err
		}
		if err := b.read(ctx); err != nil {
			return err
		}
		limit, err := spendCap(ctx, b.q, tenantID)
		if err != nil {
			return err
		}
		for i := range b.periods {
			if err := b.addUpPeriod(ctx, b.periods[i], limit); err != nil {
				return err
			}
		}
		return nil
	})
}

// bound ends the periods whose subscription has ended or has begun another period, and writes the period that runs with the terms of
// the plan.
func (b *books) bound(ctx context.Context) error {
	if !b.payer.Runs {
		return b.shorten(ctx, b.payer.EndedAt(b.now), time.Time{})
	}
	if err := b.shorten(ctx, b.payer.From, b.payer.From); err != nil {
		return err
	}
	terms, err := b.terms(ctx)
	if err != nil {
		return err
	}
	if len(terms) > 0 {
		if err := b.putTerms(ctx, terms); err != nil {
			return err
		}
	}
	meters := []string{}
	for _, t := range terms {
		meters = append(meters, t.Meter)
	}
	err = b.q.StopOverageCharges(ctx, db.StopOverageChargesParams{TenantID: b.tenantID, PeriodStart: b.payer.From, Meters: meters})
	if err != nil {
		return fmt.Errorf("stop charges: %w", err)
	}
	return nil
}

// putTerms writes the period that runs, with the terms of its charges.
func (b *books) putTerms(ctx context.Context, terms []db.PlanAllowance) error {
	err := b.q.PutOveragePeriod(ctx, db.PutOveragePeriodParams{
		TenantID: b.tenantID, PeriodStart: b.payer.From, PeriodEnd: b.payer.To, SubscriptionID: b.payer.SubscriptionID,
		Currency: b.payer.Currency, Now: &b.now,
	})
	if err != nil {
		return fmt.Errorf("put period: %w", err)
	}
	for _, t := range terms {
		err := b.q.PutOverageCharge(ctx, db.PutOverageChargeParams{
			TenantID: b.tenantID, PeriodStart: b.payer.From, Meter: t.Meter, Included: t.Included,
			PriceCents: *t.OveragePriceCents, Units: *t.OverageUnits,
		})
		if err != nil {
			return fmt.Errorf("put terms of charge: %w", err)
		}
	}
	return nil
}

// shorten ends periods that are open at a time, except the one that starts at but.
func (b *books) shorten(ctx context.Context, until, but time.Time) error {
	err := b.q.ShortenOveragePeriods(ctx, db.ShortenOveragePeriodsParams{TenantID: b.tenantID, Until: until, But: but, Now: b.now})
	if err != nil {
		return fmt.Errorf("shorten periods: %w", err)
	}
	return nil
}

// terms returns the allowances of the payer's plan that are charged. A plan in another currency than the subscription charges nothing.
func (b *books) terms(ctx context.Context) ([]db.PlanAllowance, error) {
	all, err := b.config.Usage.AllowancesTx(ctx, b.tx)
	if err != nil {
		return nil, err
	}
	if !b.payer.SameCurrency {
		return nil, nil
	}
	charged := func(a db.PlanAllowance) bool {
		return a.Overage == usage.Charge && a.OveragePriceCents != nil && a.OverageUnits != nil
	}
	return slices.DeleteFunc(slices.Clone(all[b.payer.Plan]), func(a db.PlanAllowance) bool { return !charged(a) }), nil
}

// addUpPeriod stores what the usage of a period costs.
func (b *books) addUpPeriod(ctx context.Context, p db.OveragePeriod, limit *int64) error {
	if !b.now.Before(p.PeriodEnd) {
		limit = p.CapCents
	}
	var list []*db.OverageCharge
	charges := map[usage.Meter]int64{}
	for i := range b.charges {
		if c := &b.charges[i]; c.PeriodStart.Equal(p.PeriodStart) {
			list = append(list, c)
			charges[usage.Meter(c.Meter)] = c.Cents
		}
	}
	if p.PeriodStart.Before(p.PeriodEnd) {
		used, err := b.config.Usage.SumAllTx(ctx, b.tx, b.tenantID, p.PeriodStart, p.PeriodEnd)
		if err != nil {
			return err
		}
		left := newRoom(limit, charges)
		for _, c := range list {
			units, before := used.Units(usage.Meter(c.Meter)), *c
			if !c.Charging {
				continue
			}
			c.Used = max(c.Used, units)
			c.Cents = left.raise(c.Cents, usage.OverageCents(c.Used, c.Included, c.PriceCents, c.Units))
			if *c == before {
				continue
			}
			err := b.q.SetOverageCents(ctx, db.SetOverageCentsParams{
				TenantID: b.tenantID, PeriodStart: p.PeriodStart, Meter: c.Meter, Used: c.Used, Cents: c.Cents,
			})
			if err != nil {
				return fmt.Errorf("set charge: %w", err)
			}
		}
	}
	total := int64(0)
	for _, c := range list {
		total += c.Cents
	}
	return b.announce(ctx, p, limit, total)
}

// currency is a currency in the processor's form.
func currency(code string) string { return strings.ToLower(code) }
