package subscription

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/quota"
)

// Status is a tenant's plan with its subscription.
type Status struct {
	Tenant db.Tenant
	// Subscription is nil if there never was one; Invoice is the newest one, nil if there is none.
	Subscription *db.Subscription
	Invoice      *db.Invoice
	// LimitsEndAt is when an UNPAID tenant gets the limits of FREE.
	LimitsEndAt *time.Time
	// Over lists the limits that the tenant exceeds.
	Over []quota.OverLimit
}

const (
	// freshFor is how old a copy may be while a person may come back from a hosted page.
	freshFor = 10 * time.Second
	// readTimeout limits the reading for a status. Without an answer the last copy is shown.
	readTimeout = 5 * time.Second
)

// GetBillingStatus returns the plan and subscription of the caller's tenant. While a person may come back from a hosted page, it is
// read from the processor first.
func (s *Service) GetBillingStatus(ctx context.Context, c tenancy.Caller) (st Status, err error) {
	if err := s.refresh(ctx, c.TenantID); err != nil {
		return st, err
	}
	// Otherwise the answer might have the tenant of before a change and the subscription of after it.
	err = postgres.InSnapshot(ctx, s.config.Pool, func(tx pgx.Tx) error {
		st, err = s.status(ctx, tx, c.TenantID)
		return err
	})
	return st, err
}

// status reads what GetBillingStatus returns.
func (s *Service) status(ctx context.Context, tx pgx.Tx, tenantID string) (st Status, err error) {
	q := db.New(tx)
	if st.Tenant, err = q.GetTenant(ctx, tenantID); err != nil {
		return st, fmt.Errorf("get tenant: %w", err)
	}
	if st.Over, err = s.config.Quotas.OverTx(ctx, tx, tenantID); err != nil {
		return st, err
	}
	list, err := q.ListSubscriptionsOfTenant(ctx, tenantID)
	if err != nil {
		return st, fmt.Errorf("list subscriptions: %w", err)
	}
	if st.Subscription = current(list); st.Subscription != nil {
		st.LimitsEndAt = limitsEndAt(*st.Subscription, s.config.Grace)
	}
	invoice, err := q.GetNewestInvoice(ctx, tenantID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return st, nil
	case err != nil:
		return st, fmt.Errorf("get newest invoice: %w", err)
	}
	st.Invoice = &invoice
	return st, nil
}

// refresh reads the tenant's state from the processor if a person may come back from a hosted page.
func (s *Service) refresh(ctx context.Context, tenantID string) error {
	customer, err := db.New(s.config.Pool).GetBillingCustomer(ctx, tenantID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("get billing customer: %w", err)
	}
	now := s.config.Now()
	read := customer.ReadAt
	if customer.AwayUntil == nil || read != nil && (read.After(*customer.AwayUntil) || now.Sub(*read).Abs() < freshFor) {
		return nil
	}
	_, err, _ = s.reads.Do(tenantID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return nil, s.SyncTenant(ctx, tenantID)
	})
	if err != nil {
		s.config.Log.WarnContext(ctx, "billing status not read from the processor; the last copy is shown", "tenantId", tenantID, "error", err)
	}
	return nil
}

// ListBillingInvoices pages through the invoices of the caller's tenant, newest first. cursor is the id after which the page
// starts, nil for the first page.
func (s *Service) ListBillingInvoices(ctx context.Context, c tenancy.Caller, cursor *string, limit int) ([]db.Invoice, error) {
	list, err := db.New(s.config.Pool).ListInvoices(ctx, db.ListInvoicesParams{
		TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list invoices: %w", err)
	}
	return list, nil
}

// Offer is a plan that a tenant can book, with the trial that it would get.
type Offer struct {
	db.Plan

	Allowances []db.PlanAllowance
	Trial      int
}

// ListBillingPlans returns the plans that the caller's tenant can book.
func (s *Service) ListBillingPlans(ctx context.Context, c tenancy.Caller) ([]Offer, error) {
	q := db.New(s.config.Pool)
	plans, err := q.ListPlans(ctx)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	list, err := q.ListSubscriptionsOfTenant(ctx, c.TenantID)
	if err != nil {
		return nil, fmt.Errorf("list subscriptions: %w", err)
	}
	allowances, err := s.config.Usage.Allowances(ctx)
	if err != nil {
		return nil, err
	}
	plans = slices.DeleteFunc(plans, func(p db.Plan) bool { return !forSale(p) })
	offers := make([]Offer, len(plans))
	for i, p := range plans {
		offers[i] = Offer{Plan: p, Allowances: allowances[p.Tier]}
		offers[i].Trial, _ = trialOf(list, p, s.config.Now())
	}
	return offers, nil
}

// CurrentPeriod returns the period in which the tenant's usage counts at a time (usage.Periods): the month of the subscription that
// contains it. Without a subscription that runs, ok is false.
func (*Service) CurrentPeriod(
	ctx context.Context, through db.DBTX, tenantID string, at time.Time,
) (from, to time.Time, ok bool, err error) {
	list, err := db.New(through).ListSubscriptionsOfTenant(ctx, tenantID)
	if err != nil {
		return from, to, false, fmt.Errorf("list subscriptions: %w", err)
	}
	row := current(list)
	if row == nil || !runs(row.Status) {
		return from, to, false, nil
	}
	from, to = monthOf(row.PeriodStart, row.PeriodEnd, at)
	return from, to, true, nil
}

// monthOf returns the month within a period that contains a time. Months begin on the day of the month on which the period ends, or on
// the last day of a shorter month: the period's start may lie in a shorter month. The first month begins with the period and may be
// shorter. A time before the period counts for its first month. After its end the months go on: the next period has begun, but its
// copy isn't here yet.
func monthOf(start, end, at time.Time) (from, to time.Time) {
	day := anchorDay(start, end)
	n := 0
	for from = addMonths(end, n, day); at.Before(from) && start.Before(from); from = addMonths(end, n, day) {
		n--
	}
	for to = addMonths(end, n+1, day); !at.Before(to); to = addMonths(end, n+1, day) {
		from = to
		n++
	}
	if from.Before(start) {
		from = start
	}
	return from, to
}

// anchorDay returns the day of the month on which a subscription renews: that of the period's end. If the end's month is too short for
// the day of the start, it is the day of the start.
func anchorDay(start, end time.Time) int {
	start, end = start.UTC(), end.UTC()
	if end.AddDate(0, 0, 1).Day() == 1 {
		return max(start.Day(), end.Day())
	}
	return end.Day()
}

// addMonths returns the time n calendar months after t, on a day of the month or the last one of a shorter month.
func addMonths(t time.Time, n, day int) time.Time {
	t = t.UTC()
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(day, last)-1)
}
