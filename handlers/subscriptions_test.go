package handlers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const (
	statusPath       = "/v1/me/billing/status"
	subscriptionPath = "/v1/me/billing/subscription"
	month            = 31 * 24 * time.Hour
)

func bookingBody(plan, interval string) map[string]any {
	return map[string]any{
		"plan": plan, "interval": interval, "successUrl": "https://acme.example/done", "cancelUrl": "https://acme.example/billing",
	}
}

// answer reads a response with a status.
func answer[T any](t *testing.T, r apitest.Response, status int) (v T) {
	t.Helper()
	r.Into(t, status, &v)
	return v
}

// book books a plan on the hosted page, and returns the status after that.
func book(t *testing.T, c *apitest.Caller, s *apitest.Server, plan, interval, card string) api.BillingStatus {
	t.Helper()
	page := answer[api.BillingCheckout](t, c.Call(t, "POST", "/v1/me/billing/checkout", bookingBody(plan, interval)), 201)
	_, err := s.Sandbox.CompleteCheckout(page.SessionID, card)
	require.NoError(t, err)
	return billingStatus(t, c, s)
}

// billingStatus copies the processor's state first.
func billingStatus(t *testing.T, c *apitest.Caller, s *apitest.Server) api.BillingStatus {
	t.Helper()
	require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), c.TenantID))
	return answer[api.BillingStatus](t, c.Call(t, "GET", statusPath, nil), 200)
}

func subscriptionOf(t *testing.T, st api.BillingStatus) api.TenantSubscription {
	t.Helper()
	got, err := st.Subscription.Get()
	require.NoError(t, err)
	return got
}

func TestATenantBooksAPlan(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	st := billingStatus(t, owner, s)
	require.Equal(t, api.PlanTierFREE, st.Plan)
	require.Equal(t, api.TenantStatusACTIVE, st.TenantStatus)
	require.True(t, st.Subscription.IsNull())

	st = book(t, owner, s, "STARTER", "MONTH", sandbox.CardPays)
	sub := subscriptionOf(t, st)
	require.Equal(t, api.PlanTierSTARTER, st.Plan, "a trial has the plan's limits")
	require.Equal(t, api.TenantStatusTRIAL, st.TenantStatus)
	require.Equal(t, api.SubscriptionStatusTRIALING, sub.Status)
	require.EqualValues(t, 2900, sub.PriceCents)

	require.NoError(t, s.Sandbox.Advance(15*24*time.Hour))
	st = billingStatus(t, owner, s)
	require.Equal(t, api.TenantStatusACTIVE, st.TenantStatus)
	require.Equal(t, api.SubscriptionStatusACTIVE, subscriptionOf(t, st).Status)
	invoice, err := st.LatestInvoice.Get()
	require.NoError(t, err)
	require.Equal(t, api.InvoiceStatusPAID, invoice.Status)
	require.EqualValues(t, 2900, invoice.PaidCents)
	require.NotEmpty(t, invoice.Lines)
	list := answer[[]api.TenantInvoice](t, owner.Call(t, "GET", "/v1/me/billing/invoices", nil), 200)
	require.Equal(t, invoice, list[0])
	theirs := answer[api.AdminInvoicePage](t, s.Admin(t, platform.Billing).Call(t, "GET", "/v1/admin/billing/invoices?status=PAID", nil), 200)
	require.Equal(t, invoice.Lines, theirs.Items[0].Lines)
	require.Equal(t, invoice.PdfURL, theirs.Items[0].PdfURL)
	require.Equal(t, *invoice.SubtotalCents, theirs.Items[0].SubtotalCents)

	// Each step has one event and one mail.
	log, _ := events(t, owner, "/v1/me/events?limit=200")
	var names []string
	for _, e := range log {
		names = append(names, string(e.Event))
	}
	require.Contains(t, names, "subscription.updated")
	require.Contains(t, names, "invoice.paid")
	owner.Call(t, "POST", "/v1/me/billing/checkout", bookingBody("PRO", "MONTH")).Problem(t, 409, "conflict")
}

func TestPlansThatCantBeBooked(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	for _, plan := range []string{"FREE", "ENTERPRISE"} {
		owner.Call(t, "POST", "/v1/me/billing/checkout", bookingBody(plan, "MONTH")).Problem(t, 400, "plan_not_for_sale")
	}
	owner.Call(t, "POST", "/v1/me/billing/portal", map[string]any{"returnUrl": "https://acme.example/"}).Problem(t, 409, "conflict")
	owner.Call(t, "PATCH", subscriptionPath, map[string]any{"plan": "PRO"}).Problem(t, 409, "conflict")
	owner.Call(t, "PATCH", subscriptionPath, map[string]any{"plan": "PRO", "cancelAtPeriodEnd": true}).Problem(t, 400, "invalid_input")
	owner.Call(t, "PATCH", subscriptionPath, map[string]any{}).Problem(t, 400, "invalid_input")
	plans := answer[[]api.BillingPlan](t, owner.Call(t, "GET", "/v1/me/billing/plans", nil), 200)
	require.Len(t, plans, 2)
	require.Equal(t, 14, plans[0].TrialDays)
}

// TestChangesOfAPlan walks through an upgrade, a downgrade, a cancellation and its withdrawal.
func TestChangesOfAPlan(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	book(t, owner, s, "STARTER", "MONTH", sandbox.CardPays)
	require.NoError(t, s.Sandbox.Advance(20*24*time.Hour))
	patch := func(body map[string]any) api.TenantSubscription {
		return answer[api.TenantSubscription](t, owner.Call(t, "PATCH", subscriptionPath, body), 200)
	}
	billingStatus(t, owner, s)
	sub := patch(map[string]any{"plan": "PRO"})
	require.Equal(t, api.PlanTierPRO, sub.Plan, "an upgrade takes effect at once")
	invoice, err := billingStatus(t, owner, s).LatestInvoice.Get()
	require.NoError(t, err)
	require.Positive(t, invoice.PaidCents)
	require.Less(t, invoice.PaidCents, int64(9900-2900+1), "the unused part is credited")

	sub = patch(map[string]any{"plan": "STARTER"})
	require.Equal(t, api.PlanTierPRO, sub.Plan, "a downgrade waits for the end of the period")
	pending, err := sub.PendingChange.Get()
	require.NoError(t, err)
	require.Equal(t, api.PlanTierSTARTER, pending.Plan)
	sub = patch(map[string]any{"plan": "PRO", "interval": "MONTH"})
	require.True(t, sub.PendingChange.IsNull(), "booking the present plan withdraws it")
	patch(map[string]any{"plan": "STARTER"})
	require.NoError(t, s.Sandbox.Advance(month))
	st := billingStatus(t, owner, s)
	require.Equal(t, api.PlanTierSTARTER, st.Plan)
	require.EqualValues(t, 2900, subscriptionOf(t, st).PriceCents)

	require.True(t, patch(map[string]any{"cancelAtPeriodEnd": true}).CancelAtPeriodEnd)
	require.False(t, patch(map[string]any{"cancelAtPeriodEnd": false}).CancelAtPeriodEnd)
	patch(map[string]any{"cancelAtPeriodEnd": true})
	require.NoError(t, s.Sandbox.Advance(month))
	st = billingStatus(t, owner, s)
	require.Equal(t, api.PlanTierFREE, st.Plan)
	require.Equal(t, api.TenantStatusACTIVE, st.TenantStatus)
	require.Equal(t, api.SubscriptionStatusCANCELED, subscriptionOf(t, st).Status)
	st = book(t, owner, s, "STARTER", "YEAR", sandbox.CardPays)
	require.Equal(t, api.SubscriptionStatusACTIVE, subscriptionOf(t, st).Status, "the second subscription to a plan has no trial")
	require.EqualValues(t, 29000, subscriptionOf(t, st).PriceCents)
}

// TestAFailingCard walks from a failed renewal to the limits of FREE, and back.
func TestAFailingCard(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	book(t, owner, s, "PRO", "MONTH", sandbox.CardPays)
	require.NoError(t, s.Sandbox.Advance(20*24*time.Hour))
	admin := s.Admin(t, platform.Billing)
	customer := s.Sandbox.Customers()[0].ID
	_, err := s.Sandbox.UseCard(customer, sandbox.CardFailsLater)
	require.NoError(t, err)
	require.NoError(t, s.Sandbox.Advance(month))
	st := billingStatus(t, owner, s)
	require.Equal(t, api.TenantStatusPASTDUE, st.TenantStatus)
	require.Equal(t, api.PlanTierPRO, st.Plan)
	require.False(t, subscriptionOf(t, st).PaymentURL.IsNull())
	owner.Call(t, "PATCH", subscriptionPath, map[string]any{"plan": "STARTER"}).Problem(t, 409, "conflict")
	require.NoError(t, s.Sandbox.Advance(20*24*time.Hour))
	st = billingStatus(t, owner, s)
	require.Equal(t, api.SubscriptionStatusUNPAID, subscriptionOf(t, st).Status)
	require.Equal(t, api.PlanTierPRO, st.Plan, "the grace period has begun")
	require.False(t, st.LimitsEndAt.IsNull())
	require.NoError(t, s.Sandbox.Advance(8*24*time.Hour))
	require.NoError(t, s.Subscriptions.Look(t.Context()))
	st = answer[api.BillingStatus](t, owner.Call(t, "GET", statusPath, nil), 200)
	require.Equal(t, api.PlanTierFREE, st.Plan)
	overview := answer[api.AdminBillingOverview](t, admin.Call(t, "GET", "/v1/admin/billing/overview", nil), 200)
	require.Positive(t, overview.FailedPayments)

	_, err = s.Sandbox.UseCard(customer, sandbox.CardPays)
	require.NoError(t, err)
	for _, i := range s.Sandbox.Invoices() {
		if i.CustomerID == customer && i.Status == "open" {
			_, err := s.Sandbox.PayInvoice(i.ID)
			require.NoError(t, err)
		}
	}
	st = billingStatus(t, owner, s)
	require.Equal(t, api.PlanTierPRO, st.Plan)
	require.Equal(t, api.TenantStatusACTIVE, st.TenantStatus)
}

// TestATrialWithoutPaymentDetails begins with the sign-up and ends without a charge.
func TestATrialWithoutPaymentDetails(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), SignupPlan: "STARTER"})
	owner := s.Register(t)
	st := answer[api.BillingStatus](t, owner.Call(t, "GET", statusPath, nil), 200)
	require.Equal(t, api.PlanTierSTARTER, st.Plan)
	require.Equal(t, api.TenantStatusTRIAL, st.TenantStatus)
	admin := s.Admin(t, platform.Billing)
	id := subscriptionOf(t, st).ID
	extended := answer[api.AdminSubscription](t, admin.Call(t, "POST", "/v1/admin/subscriptions/"+id+"/extend-trial",
		map[string]any{"days": 10}), 201)
	ends, err := extended.TrialEndsAt.Get()
	require.NoError(t, err)
	require.InDelta(t, 24*24, ends.Sub(extended.CreatedAt.Time).Hours(), 1)
	admin.Call(t, "POST", "/v1/admin/subscriptions/"+id+"/extend-trial", map[string]any{"days": 90}).Is(t, 201)
	admin.Call(t, "POST", "/v1/admin/subscriptions/"+id+"/extend-trial", map[string]any{"days": 90}).Problem(t, 400, "invalid_input")
	require.NoError(t, s.Sandbox.Advance(115*24*time.Hour))
	require.NoError(t, s.Subscriptions.Look(t.Context()))
	require.NoError(t, s.Subscriptions.Look(t.Context()))
	st = answer[api.BillingStatus](t, owner.Call(t, "GET", statusPath, nil), 200)
	require.Equal(t, api.PlanTierFREE, st.Plan)
	require.Equal(t, api.SubscriptionStatusPAUSED, subscriptionOf(t, st).Status)
	admin.Call(t, "POST", "/v1/admin/subscriptions/"+id+"/resume", nil).Problem(t, 409, "conflict")
	st = book(t, owner, s, "PRO", "MONTH", sandbox.CardPays)
	require.Equal(t, api.PlanTierPRO, st.Plan)
	list := answer[api.AdminSubscriptionPage](t, admin.Call(t, "GET", "/v1/admin/subscriptions?status=CANCELED", nil), 200)
	var ids []string
	for _, item := range list.Items {
		ids = append(ids, item.ID)
	}
	require.Contains(t, ids, id)
	admin.Call(t, "GET", "/v1/admin/subscriptions?status=ENDED", nil).Problem(t, 400, "invalid_input")
}

// TestAdminsPauseAndCancel tests the admin's actions on a subscription at the processor.
func TestAdminsPauseAndCancel(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	sub := subscriptionOf(t, book(t, owner, s, "PRO", "MONTH", sandbox.CardPays))
	require.NoError(t, s.Sandbox.Advance(20*24*time.Hour))
	billingStatus(t, owner, s)
	admin := s.Admin(t, platform.Billing)
	act := func(action string) api.AdminSubscription {
		return answer[api.AdminSubscription](t, admin.Call(t, "POST", "/v1/admin/subscriptions/"+sub.ID+"/"+action, nil), 201)
	}
	paused := act("pause")
	require.Equal(t, api.SubscriptionStatusPAUSED, paused.Status)
	require.False(t, paused.PausedAt.IsNull())
	require.Equal(t, api.PlanTierFREE, billingStatus(t, owner, s).Plan)
	act("pause")
	require.NoError(t, s.Sandbox.Advance(2*month))
	require.Equal(t, api.SubscriptionStatusPAUSED, subscriptionOf(t, billingStatus(t, owner, s)).Status)
	resumed := act("resume")
	require.Equal(t, api.SubscriptionStatusACTIVE, resumed.Status)
	require.WithinDuration(t, s.Sandbox.Now(), resumed.CurrentPeriodStart.Time, time.Minute, "a new period begins")
	require.Equal(t, api.PlanTierPRO, billingStatus(t, owner, s).Plan)
	require.True(t, act("cancel").CancelAtPeriodEnd)
	require.False(t, act("resume").CancelAtPeriodEnd)
	act("cancel")
	require.NoError(t, s.Sandbox.Advance(2*month))
	require.Equal(t, api.SubscriptionStatusCANCELED, subscriptionOf(t, billingStatus(t, owner, s)).Status)
	admin.Call(t, "POST", "/v1/admin/subscriptions/"+sub.ID+"/cancel", nil).Problem(t, 409, "conflict")
	admin.Call(t, "POST", "/v1/admin/subscriptions/"+sub.ID+"/resume", nil).Problem(t, 409, "conflict")
	admin.Call(t, "POST", "/v1/admin/subscriptions/sub_01m18qg1mhf2bsz1fk6m8v4jxe/pause", nil).Problem(t, 404, "not_found")
}

// TestAdminsChangeATenantsPlan: with a subscription that moves, without one free of charge, and by invoices at an agreed price.
func TestAdminsChangeATenantsPlan(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	admin := s.Admin(t, platform.Billing)
	change := func(body map[string]any) api.TenantSummary {
		return answer[api.TenantSummary](t, admin.Call(t, "PATCH", "/v1/admin/tenants/"+owner.TenantID+"/plan", body), 200)
	}
	require.Equal(t, api.PlanTierPRO, change(map[string]any{"plan": "PRO", "reason": "a friend"}).Plan)
	require.Equal(t, api.PlanTierPRO, billingStatus(t, owner, s).Plan, "a plan that an admin has set stays")
	require.Empty(t, s.Sandbox.Subscriptions())
	admin.Call(t, "PATCH", "/v1/admin/tenants/"+owner.TenantID+"/plan", map[string]any{"plan": "FREE", "priceCents": 1000}).Problem(t, 400, "invalid_input")

	require.Equal(t, api.PlanTierENTERPRISE, change(map[string]any{"plan": "ENTERPRISE", "priceCents": 250000, "daysUntilDue": 14}).Plan)
	st := billingStatus(t, owner, s)
	sub := subscriptionOf(t, st)
	require.Equal(t, api.CollectionMethodINVOICE, *sub.Collection)
	require.EqualValues(t, 250000, sub.PriceCents)
	invoice, err := st.LatestInvoice.Get()
	require.NoError(t, err)
	require.Equal(t, api.InvoiceStatusOPEN, invoice.Status)
	require.False(t, invoice.DueAt.IsNull())

	require.Equal(t, api.PlanTierFREE, change(map[string]any{"plan": "FREE"}).Plan)
	require.Equal(t, api.SubscriptionStatusCANCELED, subscriptionOf(t, billingStatus(t, owner, s)).Status)
	admin.Call(t, "PATCH", "/v1/admin/tenants/ten_01m18qg1mhf2bsz1fk6m8v4jxd/plan", map[string]any{"plan": "PRO"}).Problem(t, 404, "not_found")
}

// TestOnlyOwnersCancel: also in the portal.
func TestOnlyOwnersCancel(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	book(t, owner, s, "PRO", "MONTH", sandbox.CardPays)
	member := owner.Colleague(t, tenancy.Admin)
	member.Call(t, "PATCH", subscriptionPath, map[string]any{"cancelAtPeriodEnd": true}).Problem(t, 403, "forbidden")
	body := map[string]any{"returnUrl": "https://acme.example/billing"}
	mine := answer[api.BillingPortal](t, member.Call(t, "POST", "/v1/me/billing/portal", body), 201)
	theirs := answer[api.BillingPortal](t, owner.Call(t, "POST", "/v1/me/billing/portal", body), 201)
	require.True(t, strings.HasPrefix(mine.URL, s.Sandbox.URL))
	require.NotEqual(t, mine.URL, theirs.URL)
	owner.Call(t, "PATCH", subscriptionPath, map[string]any{"cancelAtPeriodEnd": true}).Is(t, 200)
}

// TestARefusalOfTheProcessorIsAConflict: a refused reading or product is a 409 without the processor's own text, and books nothing.
func TestARefusalOfTheProcessorIsAConflict(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	book(t, owner, s, "PRO", "MONTH", sandbox.CardPays)
	_, err := s.Pool.Exec(t.Context(), "UPDATE billing_customers SET processor_customer_id = 'cus_of_another_account'")
	require.NoError(t, err)
	for _, body := range []map[string]any{{"plan": "STARTER"}, {"cancelAtPeriodEnd": true}} {
		p := owner.Call(t, "PATCH", subscriptionPath, body).Problem(t, 409, "conflict")
		require.NotContains(t, p.Message, "cus_of_another_account")
	}
	owner.Call(t, "POST", "/v1/me/billing/portal", map[string]any{"returnUrl": "https://acme.example/"}).Problem(t, 409, "conflict")
}
