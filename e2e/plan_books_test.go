package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/sandbox"
)

// planBooks are the processor's state and the rows of the server's database about subscriptions.
type planBooks struct {
	box *sandbox.Server
	now time.Time
	// theirs are the processor's subscriptions by id, bills its invoices.
	theirs map[string]sandbox.Subscription
	bills  map[string]sandbox.Invoice
	// tiers are plans by the id of their product at the processor.
	tiers         map[string]string
	tenants       map[string]planTenant
	subscriptions []planRow
	invoices      []billRow
	entries       []entryRow
	// changes are the events and mails the kinds of mails, by tenant, in order.
	changes []changeRow
	mails   map[string]map[string]int
}

type planTenant struct {
	ID, Plan, Status                          string
	StatusBeforeSuspension, ProcessorCustomer *string
	PlanChanges, Updates                      []string
}

type planRow struct {
	ID, TenantID, Plan, Status, BillingInterval, Currency, Collection string
	ProcessorSubscriptionID, PendingPlan                              *string
	PriceCents, MonthlyCents                                          int64
	PeriodStart, PeriodEnd                                            time.Time
	TrialEndsAt, CanceledAt, PendingAt, UnpaidAt                      *time.Time
	CancelAtPeriodEnd                                                 bool
	CreatedAt                                                         time.Time
}

type billRow struct {
	ID, TenantID, ProcessorInvoiceID, Status, Currency string
	SubscriptionID, Number                             *string
	TotalCents, PaidCents, DueCents, RefundedCents     int64
	FailedAttempts                                     int
	PaidAt                                             *time.Time
}

type entryRow struct {
	TenantID, Kind, Currency  string
	SubscriptionID, InvoiceID *string
	AmountCents               int64
}

type changeRow struct {
	TenantID, Event, Subject string
	Data                     json.RawMessage
}

// readPlanBooks reads both sides.
func readPlanBooks(t testing.TB, pool *pgxpool.Pool, box *sandbox.Server) *planBooks {
	t.Helper()
	b := &planBooks{
		box: box, now: box.Now(), theirs: map[string]sandbox.Subscription{}, bills: map[string]sandbox.Invoice{}, tiers: map[string]string{},
		tenants: map[string]planTenant{}, mails: map[string]map[string]int{},
		subscriptions: read[planRow](t, pool, `SELECT id, tenant_id, plan, status, billing_interval, currency, collection, processor_subscription_id,
			pending_plan, price_cents, monthly_cents, period_start, period_end, trial_ends_at, canceled_at, pending_at, unpaid_at, cancel_at_period_end,
			created_at FROM subscriptions ORDER BY created_at DESC, id DESC`),
		invoices: read[billRow](t, pool, `SELECT id, tenant_id, processor_invoice_id, status, currency, subscription_id, number, total_cents, paid_cents, due_cents,
			refunded_cents, failed_attempts, paid_at FROM invoices ORDER BY created_at, id`),
		entries: read[entryRow](t, pool, "SELECT tenant_id, kind, currency, subscription_id, invoice_id, amount_cents FROM revenue_entries ORDER BY id"),
		changes: read[changeRow](t, pool, `SELECT tenant_id, event, subject, payload->'data' AS data FROM events
			WHERE event IN ('subscription.updated', 'invoice.paid', 'invoice.payment_failed') ORDER BY subject, sequence`),
	}
	for _, sub := range box.Subscriptions() {
		b.theirs[sub.ID] = sub
	}
	for _, i := range box.Invoices() {
		b.bills[i.ID] = i
	}
	type product struct{ Tier, ProcessorProductID string }
	for _, p := range read[product](t, pool, "SELECT tier, processor_product_id FROM plans WHERE processor_product_id IS NOT NULL") {
		b.tiers[p.ProcessorProductID] = p.Tier
	}
	for _, a := range read[planTenant](t, pool, `SELECT t.id, t.plan, t.status, t.status_before_suspension, c.processor_customer_id AS processor_customer,
			array(SELECT concat(a.before->>'plan', ' to ', a.after->>'plan') FROM audit_entries a
				WHERE a.tenant_id = t.id AND a.action = 'tenant.change_plan' ORDER BY a.at, a.id) AS plan_changes,
			array(SELECT a.entity_id FROM audit_entries a WHERE a.tenant_id = t.id AND a.actor_type = 'system'
				AND a.action IN ('subscription.create', 'subscription.update') ORDER BY a.entity_id) AS updates
		FROM tenants t LEFT JOIN billing_customers c ON c.tenant_id = t.id`) {
		b.tenants[a.ID] = a
	}
	type letter struct {
		TenantID, Kind string
		N              int
	}
	for _, m := range read[letter](t, pool, "SELECT tenant_id, kind, count(*)::int AS n FROM mails WHERE kind LIKE 'billing%' GROUP BY 1, 2") {
		if b.mails[m.TenantID] == nil {
			b.mails[m.TenantID] = map[string]int{}
		}
		b.mails[m.TenantID][m.Kind] = m.N
	}
	return b
}

// shownStatus is our name for the status of the processor's subscription.
func shownStatus(sub sandbox.Subscription) string {
	ended := sub.Status == sandbox.Canceled || sub.Status == sandbox.IncompleteExpired
	switch {
	case ended:
		return "CANCELED"
	case sub.Pause != "" && sub.Status != sandbox.Incomplete:
		return "PAUSED"
	default:
		return strings.ToUpper(sub.Status)
	}
}

func runsStatus(status string) bool {
	return status == "TRIALING" || status == "ACTIVE" || status == "PAST_DUE"
}

// seconds returns a time as the processor has it.
func seconds(at *time.Time) int64 {
	if at == nil {
		return 0
	}
	return at.Unix()
}

// requireSubscriptions requires that each subscription of the processor is copied once and as it is, and that a tenant has one plan.
func (b *planBooks) requireSubscriptions(t testing.TB) {
	t.Helper()
	copies, running := map[string]planRow{}, map[string]int{}
	for _, row := range b.subscriptions {
		if runsStatus(row.Status) {
			running[row.TenantID]++
			require.Equal(t, 1, running[row.TenantID], "tenant %s has two plans", row.TenantID)
		}
		if row.ProcessorSubscriptionID != nil {
			require.Contains(t, b.theirs, *row.ProcessorSubscriptionID)
			copies[*row.ProcessorSubscriptionID] = row
		}
	}
	require.NotEmpty(t, b.theirs)
	for id, sub := range b.theirs {
		row, ok := copies[id]
		require.True(t, ok, "subscription %s (%s) is not copied", id, sub.Status)
		price, _ := b.box.Price(sub.Items[0].PriceID)
		want := planRow{
			ID: row.ID, TenantID: row.TenantID, ProcessorSubscriptionID: &id, Status: shownStatus(sub), Plan: b.tiers[price.ProductID],
			BillingInterval: strings.ToUpper(price.Interval), PriceCents: price.UnitCents, Currency: strings.ToUpper(price.Currency),
			Collection: map[bool]string{false: "CHARGE", true: "INVOICE"}[sub.SendsInvoice], CancelAtPeriodEnd: sub.CancelAtPeriodEnd,
		}
		want.MonthlyCents = monthly(want)
		got := row
		got.PeriodStart, got.PeriodEnd, got.CreatedAt = time.Time{}, time.Time{}, time.Time{}
		got.TrialEndsAt, got.CanceledAt, got.PendingAt, got.UnpaidAt, got.PendingPlan = nil, nil, nil, nil, nil
		require.Equal(t, want, got)
		require.Equal(t, []int64{sub.PeriodStart, sub.PeriodEnd, sub.TrialEnd, sub.CanceledAt},
			[]int64{row.PeriodStart.Unix(), row.PeriodEnd.Unix(), seconds(row.TrialEndsAt), seconds(row.CanceledAt)}, "subscription %s", id)
		require.Equal(t, row.Status == "UNPAID", row.UnpaidAt != nil)
		require.Equal(t, runsStatus(row.Status) && b.changesAtEnd(sub), row.PendingPlan != nil, "the scheduled change of %s", id)
	}
}

// changesAtEnd reports whether the processor has a scheduled change of the plan for the period's end.
func (b *planBooks) changesAtEnd(sub sandbox.Subscription) bool {
	for _, sched := range b.box.Schedules() {
		if sched.ID == sub.ScheduleID && sched.Status == sandbox.Active {
			return sched.Current+1 < len(sched.Phases)
		}
	}
	return false
}

// monthly is the part of a subscription in the monthly recurring revenue.
func monthly(row planRow) int64 {
	switch {
	case row.Status != "ACTIVE" && row.Status != "PAST_DUE":
		return 0
	case row.BillingInterval == "YEAR":
		return (row.PriceCents + 6) / 12
	default:
		return row.PriceCents
	}
}

// requireInvoices requires that each invoice of the processor is copied once and as it is.
func (b *planBooks) requireInvoices(t testing.TB) {
	t.Helper()
	require.Len(t, b.invoices, len(b.bills))
	paid := 0
	for _, row := range b.invoices {
		i, ok := b.bills[row.ProcessorInvoiceID]
		require.True(t, ok)
		require.Equal(t, []any{strings.ToUpper(i.Status), i.TotalCents, i.PaidCents, i.DueCents - i.PaidCents, i.PaidAt, i.Number},
			[]any{row.Status, row.TotalCents, row.PaidCents, row.DueCents, seconds(row.PaidAt), text(row.Number)}, "invoice %s", i.ID)
		least := int(i.Attempts)
		if i.Status == sandbox.Paid { // the last attempt may have succeeded; a payment on the page isn't one
			least = max(0, least-1)
			paid++
		}
		require.GreaterOrEqual(t, row.FailedAttempts, least, "failed attempts of invoice %s, which is %s", i.ID, i.Status)
		require.LessOrEqual(t, row.FailedAttempts, int(i.Attempts), "failed attempts of invoice %s, which is %s", i.ID, i.Status)
	}
	require.NotZero(t, paid)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// requireTenants requires the plan and the status that follow from the subscriptions, and that the audit log explains them.
func (b *planBooks) requireTenants(t testing.TB) {
	t.Helper()
	for id, a := range b.tenants {
		var now *planRow
		for i, row := range b.subscriptions {
			if row.TenantID == id && (now == nil || weight(row.Status) > weight(now.Status)) {
				now = &b.subscriptions[i]
			}
		}
		if now == nil {
			continue
		}
		plan, status := "FREE", "ACTIVE"
		graced := now.Status == "UNPAID" && b.now.Before(now.UnpaidAt.AddDate(0, 0, 7))
		if runsStatus(now.Status) || graced {
			plan = now.Plan
		}
		switch now.Status {
		case "TRIALING":
			status = "TRIAL"
		case "PAST_DUE", "UNPAID":
			status = "PAST_DUE"
		}
		is := a.Status
		if is == "SUSPENDED" {
			is = text(a.StatusBeforeSuspension)
		}
		require.Equal(t, []string{plan, status}, []string{a.Plan, is}, "tenant %s with a subscription that is %s", id, now.Status)
		last := "FREE"
		for _, change := range a.PlanChanges {
			from, to, _ := strings.Cut(change, " to ")
			require.Equal(t, last, from, "the audit log has each change of the plan once: %v", a.PlanChanges)
			last = to
		}
		require.Equal(t, a.Plan, last)
	}
}

// weight orders statuses by how much a subscription counts for its tenant.
func weight(status string) int {
	return map[string]int{"CANCELED": 1, "INCOMPLETE": 2, "UNPAID": 3, "PAUSED": 4, "PAST_DUE": 5, "TRIALING": 5, "ACTIVE": 5}[status]
}
