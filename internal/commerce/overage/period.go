package overage

import (
	"context"
	"errors"
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
		b := &books{Service: s, tx: tx, q: db.New(tx), tenantID: tenantID}
		if _, err := b.q.LockTenant(ctx, tenantID); err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		b.now = s.config.Now().UTC().Truncate(time.Microsecond) // after the wait for the lock
		var err error
		if b.payer, err = s.config.Subscriptions.GetPayerTx(ctx, tx, tenantID); err != nil {
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

// unsettled are the charges that aren't in the processor's sums yet.
type unsettled struct {
	open []db.OverageReport
	// unreported are charges that aren't reported in full.
	unreported []db.OverageCharge
	// periods are the starts of the periods of both.
	periods map[int64]bool
}

func (b *books) unsettled(ctx context.Context) (u unsettled, err error) {
	if u.open, err = b.q.ListOpenOverageReports(ctx, b.tenantID); err != nil {
		return u, fmt.Errorf("list open reports: %w", err)
	}
	u.periods = map[int64]bool{}
	for _, r := range u.open {
		u.periods[r.PeriodStart.UnixMicro()] = true
	}
	for _, c := range b.charges {
		if c.Cents > b.reported[keyOf(c.PeriodStart, c.Meter)] {
			u.unreported = append(u.unreported, c)
			u.periods[c.PeriodStart.UnixMicro()] = true
		}
	}
	return u, nil
}

// addUp brings the periods and charges of a tenant up to date.
func (s *Service) addUp(ctx context.Context, tenantID string) error {
	return s.open(ctx, tenantID, func(b *books) error { return b.addUp(ctx) })
}

func (b *books) addUp(ctx context.Context) error {
	row, err := spendCap(ctx, b.q, b.tenantID)
	if err != nil {
		return err
	}
	reopened, err := b.setPeriods(ctx, row.CapCents)
	if err != nil {
		return err
	}
	if err := b.read(ctx); err != nil {
		return err
	}
	if reopened {
		if err := b.waive(ctx, b.payer.From); err != nil {
			return err
		}
	}
	for i := range b.periods {
		if err := b.addUpPeriod(ctx, b.periods[i], row.CapCents); err != nil {
			return err
		}
	}
	return nil
}

// setPeriods ends the periods whose subscription has ended or has begun another period, and writes the period that runs with the terms
// of the plan. reopened: the period had ended, because the subscription was paused or unpaid, and runs again.
func (b *books) setPeriods(ctx context.Context, limit *int64) (reopened bool, err error) {
	if !b.payer.Runs {
		return false, b.shorten(ctx, b.payer.EndedAt(b.now), time.Time{})
	}
	if err := b.shorten(ctx, b.payer.From, b.payer.From); err != nil {
		return false, err
	}
	terms, err := b.terms(ctx)
	if err != nil {
		return false, err
	}
	if len(terms) > 0 || b.payer.HasOverage {
		if reopened, err = b.putTerms(ctx, terms, limit); err != nil {
			return false, err
		}
	}
	meters := []string{}
	for _, t := range terms {
		meters = append(meters, t.Meter)
	}
	err = b.q.StopOverageCharges(ctx, db.StopOverageChargesParams{TenantID: b.tenantID, PeriodStart: b.payer.From, Meters: meters})
	if err != nil {
		return false, fmt.Errorf("stop charges: %w", err)
	}
	return reopened, nil
}

// putTerms writes the period that runs, with the terms of its charges.
func (b *books) putTerms(ctx context.Context, terms []db.PlanAllowance, limit *int64) (reopened bool, err error) {
	before, err := b.q.GetOveragePeriod(ctx, db.GetOveragePeriodParams{TenantID: b.tenantID, PeriodStart: b.payer.From})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("get period: %w", err)
	}
	reopened = err == nil && (before.LookAt == nil || !before.PeriodEnd.After(b.now))
	err = b.q.PutOveragePeriod(ctx, db.PutOveragePeriodParams{
		TenantID: b.tenantID, PeriodStart: b.payer.From, PeriodEnd: b.payer.To, SubscriptionID: b.payer.SubscriptionID,
		Currency: b.payer.Currency, CapCents: limit, Now: &b.now,
	})
	if err != nil {
		return false, fmt.Errorf("put period: %w", err)
	}
	for _, t := range terms {
		err := b.q.PutOverageCharge(ctx, db.PutOverageChargeParams{
			TenantID: b.tenantID, PeriodStart: b.payer.From, Meter: t.Meter, Included: t.Included,
			PriceCents: *t.OveragePriceCents, Units: *t.OverageUnits,
		})
		if err != nil {
			return false, fmt.Errorf("put terms of charge: %w", err)
		}
	}
	return reopened, nil
}

// waive leaves the usage of the period that starts at a time uncharged that came since its last addition: no subscription ran meanwhile.
func (b *books) waive(ctx context.Context, start time.Time) error {
	used, err := b.config.Usage.SumAllTx(ctx, b.tx, b.tenantID, start, b.now)
	if err != nil {
		return err
	}
	for i := range b.charges {
		c := &b.charges[i]
		more := price(*c, used.Units(usage.Meter(c.Meter))) - price(*c, c.Used)
		if !c.PeriodStart.Equal(start) || !c.Charging || more <= 0 {
			continue
		}
		c.WaivedCents += more
		err := b.q.SetWaivedOverage(ctx, db.SetWaivedOverageParams{
			TenantID: b.tenantID, PeriodStart: c.PeriodStart, Meter: c.Meter, WaivedCents: c.WaivedCents,
		})
		if err != nil {
			return fmt.Errorf("waive: %w", err)
		}
	}
	return nil
}

// shorten ends periods that are open at a time, except the one with a start.
func (b *books) shorten(ctx context.Context, until, except time.Time) error {
	err := b.q.ShortenOveragePeriods(ctx, db.ShortenOveragePeriodsParams{
		TenantID: b.tenantID, Until: until, ExceptStart: except, Now: b.now,
	})
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

// addUpPeriod stores the charges of a period. limit is the present spend cap, for announcements.
func (b *books) addUpPeriod(ctx context.Context, p db.OveragePeriod, limit *int64) error {
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
		left := newHeadroom(p.CapCents, charges)
		for _, c := range list {
			units, before := used.Units(usage.Meter(c.Meter)), *c
			if !c.Charging {
				continue
			}
			c.Used = max(c.Used, units)
			c.Cents = left.raise(c.Cents, price(*c, c.Used)-c.WaivedCents)
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

// price returns what usage of a meter costs by the terms of its charge, without the spend cap.
func price(c db.OverageCharge, used int64) int64 {
	return usage.OverageCents(used, c.Included, c.PriceCents, c.Units)
}

// currency is a currency in the processor's form.
func currency(code string) string { return strings.ToLower(code) }
