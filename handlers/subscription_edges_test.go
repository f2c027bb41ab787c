package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const day = 24 * time.Hour

// counted counts a table's rows.
func counted(t *testing.T, s *apitest.Server, rows string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*)::int FROM "+rows, args...).Scan(&n))
	return n
}

// TestTwoTabsThatBookTwoPlans: two pages that were created at the same time are both paid. The older subscription ends and its unused
// part is credited; the tenant has the newer plan.
func TestTwoTabsThatBookTwoPlans(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	_, err := s.Pool.Exec(t.Context(), "UPDATE plans SET trial_days = 0")
	require.NoError(t, err)
	arrived, resume := s.Sandbox.Block("/v1/checkout/sessions")
	first := make(chan apitest.Response, 1)
	go func() { first <- owner.Call(t, "POST", "/v1/me/billing/checkout", bookingBody("PRO", "MONTH")) }()
	<-arrived
	st := book(t, owner, s, "STARTER", "YEAR", sandbox.CardPays)
	require.Equal(t, api.PlanTierSTARTER, st.Plan)
	require.NoError(t, s.Sandbox.Advance(time.Minute))
	resume()
	page := answer[api.BillingCheckout](t, <-first, 201)
	_, err = s.Sandbox.CompleteCheckout(page.SessionID, sandbox.CardPays)
	require.NoError(t, err)
	require.Equal(t, api.PlanTierPRO, billingStatus(t, owner, s).Plan)
	both := s.Sandbox.Subscriptions() // newest first
	require.Len(t, both, 2)
	require.Equal(t, 1, counted(t, s, "river_job WHERE kind = 'billing_cancel_duplicate' AND args->>'processorSubscriptionId' = $1", both[1].ID))
	for range 2 { // the job may run twice, and one for the newer subscription does nothing
		for _, sub := range both {
			require.NoError(t, s.Subscriptions.CancelDuplicate(t.Context(), subscription.CancelDuplicateArgs{
				TenantID: owner.TenantID, ProcessorSubscriptionID: sub.ID,
			}))
		}
	}
	both = s.Sandbox.Subscriptions()
	require.Equal(t, []string{sandbox.Active, sandbox.Canceled}, []string{both[0].Status, both[1].Status})
	require.Less(t, s.Sandbox.Customers()[0].BalanceCents, int64(-28000), "nearly the whole year of STARTER is credited")
	st = billingStatus(t, owner, s)
	require.Equal(t, []any{api.PlanTierPRO, api.TenantStatusACTIVE}, []any{st.Plan, st.TenantStatus})
	require.Zero(t, counted(t, s, "mails WHERE kind = 'billing_ended'"), "the tenant has a plan")
}

// TestAPortalChangeWhileAnAdminPauses: both changes stay.
func TestAPortalChangeWhileAnAdminPauses(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, admin := s.Register(t), s.Admin(t, platform.Billing)
	sub := subscriptionOf(t, book(t, owner, s, "PRO", "MONTH", sandbox.CardPays))
	require.NoError(t, s.Sandbox.Advance(20*day))
	billingStatus(t, owner, s)
	arrived, resume := s.Sandbox.Block("/v1/subscriptions/")
	paused := make(chan apitest.Response, 1)
	go func() { paused <- admin.Call(t, "POST", "/v1/admin/subscriptions/"+sub.ID+"/pause", nil) }()
	<-arrived
	_, err := s.Sandbox.CancelInPortal(s.Sandbox.Subscriptions()[0].ID, true)
	require.NoError(t, err)
	resume()
	got := answer[api.AdminSubscription](t, <-paused, 201)
	require.Equal(t, []any{api.SubscriptionStatusPAUSED, true}, []any{got.Status, got.CancelAtPeriodEnd})
	require.NoError(t, s.Sandbox.Advance(2*month))
	st := billingStatus(t, owner, s)
	require.Equal(t, []any{api.PlanTierFREE, api.SubscriptionStatusCANCELED}, []any{st.Plan, subscriptionOf(t, st).Status})
}

// TestTheProcessorIsAwayForADay: plans and limits stay, changes are refused, and afterwards the renewal of that day is copied once.
func TestTheProcessorIsAwayForADay(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	book(t, owner, s, "PRO", "MONTH", sandbox.CardPays)
	require.NoError(t, s.Sandbox.Advance(14*day-time.Hour))
	before := billingStatus(t, owner, s)
	require.Equal(t, api.TenantStatusTRIAL, before.TenantStatus)
	s.Sandbox.Down(true)
	for range 24 {
		require.NoError(t, s.Sandbox.Advance(time.Hour))
		require.NoError(t, s.Subscriptions.Look(t.Context()))
		require.Error(t, s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
	}
	owner.Call(t, "PATCH", subscriptionPath, map[string]any{"plan": "STARTER"}).Problem(t, 503, "processor_unavailable")
	owner.Call(t, "POST", "/v1/me/billing/checkout", bookingBody("PRO", "YEAR")).Problem(t, 503, "processor_unavailable")
	st := answer[api.BillingStatus](t, owner.Call(t, "GET", statusPath, nil), 200)
	require.Equal(t, []any{before.Plan, before.TenantStatus}, []any{st.Plan, st.TenantStatus})
	s.Sandbox.Down(false)
	for range 2 {
		require.Equal(t, api.TenantStatusACTIVE, billingStatus(t, owner, s).TenantStatus)
		require.Equal(t, 1, counted(t, s, "events WHERE event = 'invoice.paid' AND (payload->'data'->>'totalCents')::int > 0"))
		require.Equal(t, 1, counted(t, s, "mails WHERE kind = 'billing_trial_paid'"))
	}
}

// TestAClockThatIsWrong: with our clock hours or days away from the processor's, copies, plan and status are the same; a tenant that has paid
// loses nothing.
func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"behind": -40 * day, "an hour behind": -time.Hour, "ahead": 40 * day} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), BillingSkew: skew})
			owner, admin := s.Register(t), s.Admin(t, platform.Billing)
			sub := subscriptionOf(t, book(t, owner, s, "PRO", "MONTH", sandbox.CardPays))
			for range 4 {
				st := billingStatus(t, owner, s)
				require.NoError(t, s.Subscriptions.Look(t.Context()))
				require.Equal(t, api.PlanTierPRO, st.Plan)
				require.WithinDuration(t, time.Unix(s.Sandbox.Subscriptions()[0].PeriodEnd, 0), subscriptionOf(t, st).CurrentPeriodEnd.Time, 0)
				require.NoError(t, s.Sandbox.Advance(20*day))
			}
			require.Equal(t, api.TenantStatusACTIVE, billingStatus(t, owner, s).TenantStatus)
			require.LessOrEqual(t, counted(t, s, "mails WHERE kind = 'billing_trial_ends'"), 1)
			for _, action := range []string{"pause", "resume"} {
				admin.Call(t, "POST", "/v1/admin/subscriptions/"+sub.ID+"/"+action, nil).Is(t, 201)
			}
			require.Equal(t, api.PlanTierPRO, billingStatus(t, owner, s).Plan)
			invoices := counted(t, s, "invoices WHERE total_cents > 0")
			require.Len(t, s.Sandbox.Invoices(), invoices+1, "a period that is paid isn't charged again, only the trial's invoice has no amount")
		})
	}
}

// TestACurrencyThatThePlanDoesNotHave: the processor keeps a customer's currency, so a plan that is sold in another one meanwhile can't be
// booked. The running subscription continues, and amounts in different currencies aren't added.
func TestACurrencyThatThePlanDoesNotHave(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, other, admin := s.Register(t), s.Register(t), s.Admin(t, platform.Billing)
	book(t, owner, s, "STARTER", "MONTH", sandbox.CardPays)
	require.NoError(t, s.Sandbox.Advance(20*day))
	require.Equal(t, api.TenantStatusACTIVE, billingStatus(t, owner, s).TenantStatus)
	_, err := s.Pool.Exec(t.Context(), "UPDATE plans SET currency = 'EUR'")
	require.NoError(t, err)
	for _, body := range []map[string]any{{"plan": "PRO"}, {"interval": "YEAR"}} {
		p := owner.Call(t, "PATCH", subscriptionPath, body).Problem(t, 409, "conflict")
		require.Contains(t, p.Message, "sold in EUR")
	}
	admin.Call(t, "PATCH", "/v1/admin/tenants/"+owner.TenantID+"/plan", map[string]any{"plan": "PRO"}).Problem(t, 409, "conflict")
	sub := subscriptionOf(t, billingStatus(t, owner, s))
	require.Equal(t, []any{api.PlanTierSTARTER, api.Currency("usd"), int64(2900)}, []any{sub.Plan, sub.Currency, sub.PriceCents})
	require.Equal(t, api.Currency("eur"), subscriptionOf(t, book(t, other, s, "PRO", "MONTH", sandbox.CardPays)).Currency)
	require.NoError(t, s.Sandbox.Advance(20*day))
	billingStatus(t, other, s)
	overview := answer[api.AdminBillingOverview](t, admin.Call(t, "GET", "/v1/admin/billing/overview", nil), 200)
	require.Len(t, overview.MonthlyRecurring, 2)

	owner.Call(t, "PATCH", subscriptionPath, map[string]any{"cancelAtPeriodEnd": true}).Is(t, 200)
	require.NoError(t, s.Sandbox.Advance(2*month))
	require.Equal(t, api.PlanTierFREE, billingStatus(t, owner, s).Plan)
	sub = subscriptionOf(t, book(t, owner, s, "PRO", "MONTH", sandbox.CardPays))
	require.Equal(t, []any{api.PlanTierPRO, api.Currency("eur")}, []any{sub.Plan, sub.Currency})
	require.Zero(t, counted(t, s, `(SELECT FROM revenue_entries WHERE tenant_id = $1 AND currency = 'USD' AND kind NOT IN ('PAYMENT', 'FAILURE')
		GROUP BY currency HAVING sum(amount_cents) <> 0) x`, owner.TenantID), "nothing recurring is left in the former currency")
}

// TestASuspendedTenantThatPays: it stays suspended, keeps its subscription, and gets the status that follows from it when the suspension
// ends.
func TestASuspendedTenantThatPays(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, admin := s.Register(t), s.Admin(t, platform.SuperAdmin)
	book(t, owner, s, "PRO", "MONTH", sandbox.CardPays)
	require.NoError(t, s.Sandbox.Advance(20*day))
	customer := s.Sandbox.Customers()[0].ID
	_, err := s.Sandbox.UseCard(customer, sandbox.CardFailsLater)
	require.NoError(t, err)
	require.NoError(t, s.Sandbox.Advance(month))
	require.Equal(t, api.TenantStatusPASTDUE, billingStatus(t, owner, s).TenantStatus)
	tenantPath := "/v1/admin/tenants/" + owner.TenantID
	admin.Call(t, "POST", tenantPath+"/suspend", map[string]any{"reason": "a test"}).Is(t, 201)
	for _, i := range s.Sandbox.Invoices() {
		if i.Status == sandbox.StatusOpen {
			_, err := s.Sandbox.PayInvoice(i.ID)
			require.NoError(t, err)
		}
	}
	require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
	require.Equal(t, 1, counted(t, s, "tenants WHERE id = $1 AND status = 'SUSPENDED' AND plan = 'PRO'", owner.TenantID))
	owner.Call(t, "GET", statusPath, nil).Problem(t, 403, "tenant_suspended")
	back := answer[api.Tenant](t, admin.Call(t, "POST", tenantPath+"/unsuspend", nil), 201)
	require.Equal(t, api.TenantStatusACTIVE, back.Status)
	require.Equal(t, api.PlanTierPRO, billingStatus(t, owner, s).Plan)
}

// TestTheLastPaymentMethodIsDeleted: an upgrade waits for a payment, the next renewal fails, and a new card recovers the subscription.
func TestTheLastPaymentMethodIsDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	book(t, owner, s, "PRO", "MONTH", sandbox.CardPays)
	require.NoError(t, s.Sandbox.Advance(20*day))
	customer := s.Sandbox.Customers()[0].ID
	require.NoError(t, s.Sandbox.RemoveCards(customer))
	require.Equal(t, api.TenantStatusACTIVE, billingStatus(t, owner, s).TenantStatus)
	change := answer[api.TenantSubscription](t, owner.Call(t, "PATCH", subscriptionPath, map[string]any{"interval": "YEAR"}), 200)
	require.Equal(t, api.BillingIntervalMONTH, change.Interval)
	require.False(t, change.PaymentURL.IsNull(), "a person must pay the difference first")
	require.NoError(t, s.Sandbox.Advance(month))
	st := billingStatus(t, owner, s)
	require.Equal(t, []any{api.PlanTierPRO, api.TenantStatusPASTDUE}, []any{st.Plan, st.TenantStatus})
	require.Equal(t, 2, counted(t, s, "mails WHERE kind = 'billing_payment_failed'"), "of the upgrade and of the renewal")
	_, err := s.Sandbox.UseCard(customer, sandbox.CardPays)
	require.NoError(t, err)
	require.NoError(t, s.Sandbox.Advance(16*day))
	st = billingStatus(t, owner, s)
	require.Equal(t, []any{api.PlanTierPRO, api.TenantStatusACTIVE}, []any{st.Plan, st.TenantStatus})
}

// TestMonthsOfDifferentLength: a subscription of the last day of January renews on the last days of the months, also on 29 February, and a
// year that begins then ends on 28 February.
func TestMonthsOfDifferentLength(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	monthly, yearly := s.Register(t), s.Register(t)
	_, err := s.Pool.Exec(t.Context(), "UPDATE plans SET trial_days = 0")
	require.NoError(t, err)
	leap := leapYearAfter(s.Sandbox.Now())
	at := func(year int, m time.Month, day int) {
		t.Helper()
		require.NoError(t, s.Sandbox.AdvanceTo(time.Date(year, m, day, 12, 0, 0, 0, time.UTC)))
	}
	until := func(c *apitest.Caller, year int, m time.Month, day int) {
		t.Helper()
		y, n, d := subscriptionOf(t, billingStatus(t, c, s)).CurrentPeriodEnd.Date()
		require.Equal(t, []int{year, int(m), day}, []int{y, int(n), d})
	}
	at(leap, time.January, 31)
	book(t, monthly, s, "PRO", "MONTH", sandbox.CardPays)
	until(monthly, leap, time.February, 29)
	at(leap, time.February, 29)
	book(t, yearly, s, "PRO", "YEAR", sandbox.CardPays)
	until(monthly, leap, time.March, 31)
	until(yearly, leap+1, time.February, 28)
	at(leap, time.April, 1)
	until(monthly, leap, time.April, 30)
	usage := answer[api.BillingUsage](t, yearly.Call(t, "GET", "/v1/me/billing/usage", nil), 200)
	require.Equal(t, usage.PeriodEnd.Day(), usage.PeriodStart.Day(), "months of the year begin on the same day")
	at(leap+1, time.March, 1)
	until(monthly, leap+1, time.March, 31)
	until(yearly, leap+2, time.February, 28)
}

// leapYearAfter returns the first leap year that begins after a time.
func leapYearAfter(at time.Time) int {
	year := at.UTC().Year() + 1
	for time.Date(year, time.February, 29, 0, 0, 0, 0, time.UTC).Day() != 29 {
		year++
	}
	return year
}

// TestAnInvoiceThatIsPaidAfterTheEnd: the look finds the payment of an ended subscription's invoice, although its report was lost.
func TestAnInvoiceThatIsPaidAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, admin := s.Register(t), s.Admin(t, platform.Billing)
	sub := subscriptionOf(t, book(t, owner, s, "PRO", "MONTH", sandbox.CardPays))
	require.NoError(t, s.Sandbox.Advance(20*day))
	_, err := s.Sandbox.UseCard(s.Sandbox.Customers()[0].ID, sandbox.CardFailsLater)
	require.NoError(t, err)
	require.NoError(t, s.Sandbox.Advance(month))
	require.Equal(t, api.TenantStatusPASTDUE, billingStatus(t, owner, s).TenantStatus)
	admin.Call(t, "POST", "/v1/admin/subscriptions/"+sub.ID+"/cancel", nil).Is(t, 201)
	require.Equal(t, 1, counted(t, s, "subscriptions WHERE status = 'CANCELED'"))
	require.NoError(t, s.Sandbox.Advance(2*day)) // no checkout page is open any more
	billingStatus(t, owner, s)
	looked := func() int {
		t.Helper()
		require.NoError(t, s.Sandbox.Advance(61*time.Minute))
		_, err := s.Pool.Exec(t.Context(), "DELETE FROM river_job WHERE kind = 'billing_sync'")
		require.NoError(t, err)
		require.NoError(t, s.Subscriptions.Look(t.Context()))
		return counted(t, s, "river_job WHERE kind = 'billing_sync'")
	}
	require.Equal(t, 1, looked())
	for _, i := range s.Sandbox.Invoices() {
		if i.Status == sandbox.StatusOpen {
			_, err := s.Sandbox.PayInvoice(i.ID)
			require.NoError(t, err)
		}
	}
	require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
	require.Zero(t, counted(t, s, "invoices WHERE status = 'OPEN'"))
	require.Zero(t, looked(), "nothing can change any more")
}
