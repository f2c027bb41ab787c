package subscription

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"showfloor/gen/db"
)

// Amounts are cents by currency (ISO 4217, upper case). Amounts in different currencies are never added.
type Amounts map[string]int64

// add adds cents of a currency.
func (a Amounts) add(currency string, cents int64) { a[currency] += cents }

// Currencies lists those with an amount, sorted.
func (a Amounts) Currencies() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a)), func(c string) bool { return a[c] == 0 })
}

// Times returns the amounts times a factor.
func (a Amounts) Times(factor int64) Amounts {
	out := Amounts{}
	for currency, cents := range a {
		out[currency] = cents * factor
	}
	return out
}

// Overview has the tenants' payments and open amounts.
type Overview struct {
	At time.Time
	// Subscriptions counts by status.
	Subscriptions                    map[string]int64
	MonthlyRecurring                 Amounts
	TrialsEndingSoon, Canceling      int64
	OpenInvoices, OverdueInvoices    int64
	Open, Overdue                    Amounts
	PaidThisMonth, RefundedThisMonth Amounts
	FailedPayments                   int64
	ChurnPercent                     float64
}

const (
	// recently is the period of churn and failed payments.
	recently = 30 * 24 * time.Hour
	// soon is the period of trials that end soon.
	soon = 7 * 24 * time.Hour
)

// GetOverview returns the tenants' payments and open amounts.
func (s *Service) GetOverview(ctx context.Context) (o Overview, err error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	o = Overview{
		At: now, Subscriptions: map[string]int64{},
		Open: Amounts{}, Overdue: Amounts{}, PaidThisMonth: Amounts{}, RefundedThisMonth: Amounts{},
	}
	counts, err := q.CountPlatformSubscriptions(ctx, Statuses())
	if err != nil {
		return o, fmt.Errorf("count subscriptions: %w", err)
	}
	for _, c := range counts {
		o.Subscriptions[c.Status] = c.N
	}
	var paying int64
	if o.MonthlyRecurring, paying, err = recurring(ctx, q); err != nil {
		return o, err
	}
	outlook, err := q.CountSubscriptionOutlook(ctx, now.Add(soon))
	if err != nil {
		return o, fmt.Errorf("count outlook: %w", err)
	}
	o.TrialsEndingSoon, o.Canceling = outlook.TrialsEnding, outlook.Canceling
	open, err := q.SumOpenInvoices(ctx, now)
	if err != nil {
		return o, fmt.Errorf("sum open invoices: %w", err)
	}
	for _, row := range open {
		o.OpenInvoices += row.N
		o.OverdueInvoices += row.OverdueN
		o.Open.add(row.Currency, row.Cents)
		o.Overdue.add(row.Currency, row.OverdueCents)
	}
	month, err := q.SumRevenue(ctx, db.SumRevenueParams{Since: monthStart(now, 0), Until: monthStart(now, 1)})
	if err != nil {
		return o, fmt.Errorf("sum the month's revenue: %w", err)
	}
	for _, row := range month {
		switch row.Kind {
		case kindPayment:
			o.PaidThisMonth.add(row.Currency, row.Cents)
		case kindRefund:
			o.RefundedThisMonth.add(row.Currency, row.Cents)
		}
	}
	return o, o.addRecent(ctx, q, now, paying)
}

// addRecent adds churn and failed payments. paying is the number of subscriptions that count as recurring revenue now.
func (o *Overview) addRecent(ctx context.Context, q *db.Queries, now time.Time, paying int64) error {
	rows, err := q.SumRevenue(ctx, db.SumRevenueParams{Since: now.Add(-recently), Until: now.Add(time.Second)})
	if err != nil {
		return fmt.Errorf("sum recent revenue: %w", err)
	}
	var churned, begun int64
	for _, row := range rows {
		switch row.Kind {
		case kindChurn:
			churned += row.N
		case kindNew, kindReactivation:
			begun += row.N
		case kindFailure:
			o.FailedPayments += row.N
		}
	}
	o.ChurnPercent = percent(churned, paying+churned-begun)
	return nil
}

// percent returns a share in percent with one decimal, at most 100. A share of nothing is 0, or 100 if there is a part.
func percent(part, whole int64) float64 {
	switch {
	case part <= 0:
		return 0
	case part >= whole:
		return 100
	default:
		return math.Round(float64(part)*1000/float64(whole)) / 10
	}
}

// recurring returns the monthly recurring revenue, and the number of subscriptions that it comes from.
func recurring(ctx context.Context, q *db.Queries) (Amounts, int64, error) {
	rows, err := q.SumRecurring(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("sum recurring revenue: %w", err)
	}
	sums, n := Amounts{}, int64(0)
	for _, row := range rows {
		sums.add(row.Currency, row.Cents)
		n += row.N
	}
	return sums, n, nil
}

// RecurringByPlan returns the monthly recurring revenue of each plan.
func (s *Service) RecurringByPlan(ctx context.Context) (map[string]Amounts, error) {
	rows, err := db.New(s.config.Pool).SumRecurring(ctx)
	if err != nil {
		return nil, fmt.Errorf("sum recurring revenue: %w", err)
	}
	plans := map[string]Amounts{}
	for _, row := range rows {
		if plans[row.Plan] == nil {
			plans[row.Plan] = Amounts{}
		}
		plans[row.Plan].add(row.Currency, row.Cents)
	}
	return plans, nil
}

// Revenue is the platform's revenue.
type Revenue struct {
	// Wired: there is a key of the payment processor.
	Wired            bool
	At               time.Time
	MonthlyRecurring Amounts
	// Months are the last 12 calendar months in UTC, oldest first, including the current one.
	Months []RevenueMonth
}

// RevenueMonth is the revenue of one month.
type RevenueMonth struct {
	Start                                           time.Time
	Payments, Fees, Refunds                         Amounts
	Recurring                                       Amounts
	New, Reactivated, Expanded, Contracted, Churned Amounts
}

const revenueMonths = 12

// monthStart returns the start of the month that is n months after that of a time, in UTC.
func monthStart(t time.Time, n int) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
}

// GetRevenue returns the revenue of the last 12 months.
func (s *Service) GetRevenue(ctx context.Context) (r Revenue, err error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	r = Revenue{Wired: s.config.Processor.Configured(), At: now}
	if r.MonthlyRecurring, _, err = recurring(ctx, q); err != nil {
		return r, err
	}
	since, until := monthStart(now, 1-revenueMonths), monthStart(now, 1)
	months := map[time.Time]*RevenueMonth{}
	for n := range revenueMonths {
		m := &RevenueMonth{
			Start: monthStart(since, n), Payments: Amounts{}, Fees: Amounts{}, Refunds: Amounts{},
			New: Amounts{}, Reactivated: Amounts{}, Expanded: Amounts{}, Contracted: Amounts{}, Churned: Amounts{},
		}
		months[m.Start] = m
	}
	rows, err := q.SumRevenueByMonth(ctx, db.SumRevenueByMonthParams{Since: since, Until: until})
	if err != nil {
		return r, fmt.Errorf("sum revenue by month: %w", err)
	}
	for _, row := range rows {
		if m := months[row.Month.UTC()]; m != nil {
			m.add(row.Kind, row.Currency, row.Cents)
		}
	}
	fees, err := s.config.Orders.SumPlatformFees(ctx, since, until)
	if err != nil {
		return r, err
	}
	for _, f := range fees {
		if m := months[f.Month.UTC()]; m != nil {
			m.Fees.add(f.Currency, f.Cents)
		}
	}
	for _, m := range months {
		r.Months = append(r.Months, *m)
	}
	slices.SortFunc(r.Months, func(a, b RevenueMonth) int { return cmp.Compare(a.Start.Unix(), b.Start.Unix()) })
	r.setRecurring()
	return r, nil
}

func (m *RevenueMonth) add(kind, currency string, cents int64) {
	switch kind {
	case kindPayment:
		m.Payments.add(currency, cents)
	case kindRefund:
		m.Refunds.add(currency, cents)
	case kindNew:
		m.New.add(currency, cents)
	case kindReactivation:
		m.Reactivated.add(currency, cents)
	case kindExpansion:
		m.Expanded.add(currency, cents)
	case kindContraction:
		m.Contracted.add(currency, -cents)
	case kindChurn:
		m.Churned.add(currency, -cents)
	}
}

// setRecurring computes each month's recurring revenue backwards from the present one.
func (r *Revenue) setRecurring() {
	at := r.MonthlyRecurring
	for i := len(r.Months) - 1; i >= 0; i-- {
		m := &r.Months[i]
		m.Recurring = maps.Clone(at)
		before := maps.Clone(at)
		for _, gained := range []Amounts{m.New, m.Reactivated, m.Expanded} {
			for currency, cents := range gained {
				before[currency] -= cents
			}
		}
		for _, lost := range []Amounts{m.Contracted, m.Churned} {
			for currency, cents := range lost {
				before[currency] += cents
			}
		}
		at = before
	}
}

// PaidOfTenants returns the amounts of these tenants' invoices that were paid since a time. A tenant without any has no entry.
func (s *Service) PaidOfTenants(ctx context.Context, tenantIDs []string, since time.Time) (map[string]Amounts, error) {
	rows, err := db.New(s.config.Pool).SumPaidOfTenants(ctx, db.SumPaidOfTenantsParams{TenantIds: tenantIDs, Since: since})
	if err != nil {
		return nil, fmt.Errorf("sum paid invoices: %w", err)
	}
	paid := map[string]Amounts{}
	for _, r := range rows {
		if paid[r.TenantID] == nil {
			paid[r.TenantID] = Amounts{}
		}
		paid[r.TenantID].add(r.Currency, r.Cents)
	}
	return paid, nil
}
