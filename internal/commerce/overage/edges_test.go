package overage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/tenancy/usage"
)

// plan returns the id of the plan's subscription at the processor.
func (r *rig) plan(t *testing.T) string {
	t.Helper()
	for _, sub := range r.Sandbox.Subscriptions() {
		if sub.Metadata["showfloor_kind"] == "" {
			return sub.ID
		}
	}
	t.Fatal("no subscription to a plan")
	return ""
}

// TestFirstOverageAtTheEndOfAPeriod: the price is added only after the period, so the charge is in the next invoice.
func TestFirstOverageAtTheEndOfAPeriod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 100)
	r.work(t)
	var u api.BillingUsage
	r.owner.Call(t, "GET", usagePath, nil).Into(t, 200, &u)
	r.pass(t, u.PeriodEnd.Sub(r.Clock.Now())-time.Minute)
	r.push(t, 10)
	r.Clock.Advance(3 * time.Minute)
	for range 4 {
		r.work(t)
		r.Clock.Advance(5 * time.Minute)
	}
	r.pass(t, 33*day)
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{50, 0}, []int64{paid, unpaid})
}

// TestALowerCapAtTheLastMoment doesn't undo charges, and a charge at the cap stays there with cheaper terms.
func TestALowerCapAtTheLastMoment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 120)
	r.setCap(t, 0) // no job has run yet
	require.EqualValues(t, 100, r.spending(t).OverageCents)
	r.setCap(t, 100)
	r.setAllowances(t, "PRO", charged("PUSHES", 100, 10, 10))
	r.work(t)
	require.Equal(t, 100, r.spending(t).ReachedPercent)
	require.ErrorContains(t, r.Usage.CheckAllowance(t.Context(), r.owner.TenantID, usage.Pushes), "spend cap")
	for n := range 18 {
		r.setCap(t, n)
	}
	r.owner.Call(t, "PUT", capPath, map[string]any{"capCents": 500}).Problem(t, 429, "rate_limited")
	r.pass(t, hour)
	r.setCap(t, 500)
}

// TestAPauseIsNotCharged: the period goes on after a pause, and usage of the pause stays uncharged.
func TestAPauseIsNotCharged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 110)
	r.settle(t)
	id := r.plan(t)
	require.NoError(t, r.Sandbox.Client.PauseCollection(t.Context(), id))
	r.pass(t, 2*day)
	r.push(t, 1000)
	r.pass(t, day)
	require.NoError(t, r.Sandbox.Client.ResumeSubscription(t.Context(), processor.Subscription{ID: id, Status: "active"}, false))
	r.pass(t, hour)
	require.True(t, r.spending(t).Available)
	r.push(t, 10)
	r.pass(t, 33*day)
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{100, 0}, []int64{paid, unpaid})
}

// TestTwoSubscriptionsForOverage: a second one ends without an invoice.
func TestTwoSubscriptionsForOverage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 110)
	r.settle(t)
	state, err := r.Sandbox.Client.ReadCustomer(t.Context(), r.Sandbox.Customers()[0].ID)
	require.NoError(t, err)
	_, err = r.Sandbox.Client.CreateOverageSubscription(t.Context(), processor.NewOverage{
		Key: "another", CustomerID: r.Sandbox.Customers()[0].ID, TenantID: r.owner.TenantID, PriceIDs: state.Overage[0].PriceIDs,
		FirstPeriodEnd: r.Clock.Now().Add(20 * day), PaymentMethodID: state.Overage[0].PaymentMethodID,
	})
	require.NoError(t, err)
	r.push(t, 10)
	r.pass(t, 33*day)
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{100, 0}, []int64{paid, unpaid})
}

// TestTheCapChangesInAPause: the period that goes on has the new cap.
func TestTheCapChangesInAPause(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 110)
	r.settle(t)
	id := r.plan(t)
	require.NoError(t, r.Sandbox.Client.PauseCollection(t.Context(), id))
	r.pass(t, day)
	r.setCap(t, 50)
	require.NoError(t, r.Sandbox.Client.ResumeSubscription(t.Context(), processor.Subscription{ID: id, Status: "active"}, false))
	r.pass(t, hour)
	r.push(t, 10)
	r.pass(t, hour)
	require.EqualValues(t, 50, r.spending(t).OverageCents)
	charged, _ := r.stored(t)
	require.EqualValues(t, 50, charged)
	r.setCap(t, 500)
	r.pass(t, 33*day)
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{100, 0}, []int64{paid, unpaid}, "a higher cap charges the usage that the lower one kept uncharged")
}

// TestUnpaidOverageIsChargedAfterItsPayment: while attempts to collect it have stopped, nothing is reported. After the payment, another
// subscription bills the rest.
func TestUnpaidOverageIsChargedAfterItsPayment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 120)
	r.settle(t)
	plan, customer := r.plan(t), r.Sandbox.Customers()[0].ID
	_, err := r.Sandbox.UseCard(customer, sandbox.CardFailsLater)
	require.NoError(t, err)
	payPlan := func() {
		for _, i := range r.Sandbox.Invoices() {
			if i.Status == "open" && i.SubscriptionID == plan {
				_, err := r.Sandbox.PayInvoice(i.ID)
				require.NoError(t, err)
			}
		}
	}
	for range 40 {
		payPlan()
		r.pass(t, 30*hour)
		r.push(t, 5)
	}
	status := ""
	for _, sub := range r.Sandbox.Subscriptions() {
		if sub.ID != plan {
			status = sub.Status
		}
	}
	require.Equal(t, "unpaid", status)
	require.False(t, r.spending(t).Available)
	_, err = r.Sandbox.UseCard(customer, sandbox.CardPays)
	require.NoError(t, err)
	for _, i := range r.Sandbox.Invoices() {
		if i.Status == "open" {
			_, err := r.Sandbox.PayInvoice(i.ID)
			require.NoError(t, err)
		}
	}
	r.pass(t, 2*day)
	require.True(t, r.spending(t).Available)
	r.pass(t, 33*day)
	charged, _ := r.stored(t)
	require.Greater(t, charged, int64(100))
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{charged, 0}, []int64{paid, unpaid})
}
