package overage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/tenancy/usage"
)

// TestUsageAboveIsCharged follows usage from the meter to the paid invoice, and into the next period.
func TestUsageAboveIsCharged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 100)
	r.settle(t)
	require.Zero(t, r.spending(t).OverageCents, "that is included")
	require.Len(t, r.Sandbox.Subscriptions(), 1, "nothing is charged yet")

	r.push(t, 11)
	r.settle(t)
	s := r.spending(t)
	require.True(t, s.Available)
	require.EqualValues(t, 100, s.OverageCents, "a part of 10 is charged as a whole")
	require.Equal(t, "usd", s.Currency)
	var u api.BillingUsage
	r.owner.Call(t, "GET", usagePath, nil).Into(t, 200, &u)
	require.Equal(t, new(int64(100)), u.Meters[len(u.Meters)-1].OverageCents)
	r.push(t, 20)
	r.pass(t, 33*day)
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{200, 0}, []int64{paid, unpaid}, "31 pushes above are 4 times 10")

	require.Zero(t, r.spending(t).OverageCents, "a new period")
	r.push(t, 101)
	r.pass(t, 32*day)
	paid, _ = r.charges(t)
	require.EqualValues(t, 250, paid)
	var list []api.TenantInvoice
	r.owner.Call(t, "GET", "/v1/me/billing/invoices", nil).Into(t, 200, &list)
	require.Len(t, list, 5, "three of the plan, two of overage; those of 0 are left out")
	charged, reported := r.stored(t)
	require.Equal(t, charged, reported)
}

// TestTheSpendCapHolds: charges stop at the cap and new work is refused; a higher cap allows more.
func TestTheSpendCapHolds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var got api.SpendCap
	r.owner.Call(t, "GET", capPath, nil).Into(t, 200, &got)
	require.True(t, got.CapCents.IsNull())
	r.setCap(t, 100)
	r.push(t, 118)
	r.work(t)
	require.NoError(t, r.Usage.CheckAllowance(t.Context(), r.owner.TenantID, usage.StreamMinutes))
	require.ErrorContains(t, r.Usage.CheckAllowance(t.Context(), r.owner.TenantID, usage.Pushes), "spend cap")
	require.Equal(t, 100, r.spending(t).ReachedPercent)
	r.push(t, 500) // work that was running
	r.settle(t)
	require.EqualValues(t, 100, r.spending(t).OverageCents)

	r.setCap(t, 150)
	r.settle(t)
	require.EqualValues(t, 150, r.spending(t).OverageCents, "the usage that the lower cap kept uncharged")
	r.setCap(t, 0)
	r.settle(t)
	require.EqualValues(t, 150, r.spending(t).OverageCents, "nothing is taken back")
	r.pass(t, 33*day)
	r.setCap(t, nil)
	r.pass(t, 2*day)
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{150, 0}, []int64{paid, unpaid}, "a change after the end has no effect on the period")
	require.NoError(t, r.Usage.CheckAllowance(t.Context(), r.owner.TenantID, usage.Pushes))
}

// TestTheLastHourIsInTheSameInvoice: usage at the end of a period is in its invoice, because the draft is open for an hour. Usage
// that is written later is carried into the next invoice.
func TestTheLastHourIsInTheSameInvoice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 110)
	r.settle(t)
	var u api.BillingUsage
	r.owner.Call(t, "GET", usagePath, nil).Into(t, 200, &u)
	end := u.PeriodEnd.Time
	r.pass(t, end.Sub(r.Clock.Now())-time.Minute)
	r.push(t, 10)
	r.Clock.Advance(end.Sub(r.Clock.Now()) + 3*time.Minute)
	for range 6 {
		r.work(t)
		r.Clock.Advance(11 * time.Minute)
	}
	r.work(t)
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{100, 0}, []int64{paid, unpaid})

	r.use(t, usage.Pushes, end.Add(-time.Hour), 10) // reported a day late
	r.pass(t, 2*day)
	paid, _ = r.charges(t)
	require.EqualValues(t, 100, paid)
	r.pass(t, 32*day)
	paid, _ = r.charges(t)
	require.EqualValues(t, 150, paid, "it is counted in its own period, and billed in the next invoice")
}

// TestTheEndOfASubscriptionBillsTheRest: after the end of the plan, the overage is invoiced at once, and usage on FREE costs nothing.
func TestTheEndOfASubscriptionBillsTheRest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 105)
	r.settle(t)
	r.push(t, 10)
	for _, sub := range r.Sandbox.Subscriptions() {
		if sub.Metadata["showfloor_kind"] == "" {
			require.NoError(t, r.Sandbox.Client.CancelSubscription(t.Context(), sub.ID, false))
		}
	}
	r.sync(t)
	r.push(t, 1000)
	r.pass(t, day)
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{100, 0}, []int64{paid, unpaid})
	for _, s := range r.Sandbox.Subscriptions() {
		require.Equal(t, "canceled", s.Status)
	}
	require.False(t, r.spending(t).Available)
	open := 0
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM overage_periods WHERE look_at IS NOT NULL").Scan(&open))
	require.Zero(t, open)
}

// TestOverageThatIsntPaidIsBlocked: while a charge of overage is unpaid, the included usage is the limit.
func TestOverageThatIsntPaidIsBlocked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 120)
	r.settle(t)
	_, err := r.Sandbox.UseCard(r.Sandbox.Customers()[0].ID, sandbox.CardFailsLater)
	require.NoError(t, err)
	r.pass(t, 32*day)
	require.False(t, r.spending(t).Available)
	r.push(t, 101)
	r.pass(t, hour)
	require.ErrorContains(t, r.Usage.CheckAllowance(t.Context(), r.owner.TenantID, usage.Pushes), "used up")
	_, err = r.Sandbox.UseCard(r.Sandbox.Customers()[0].ID, sandbox.CardPays)
	require.NoError(t, err)
	for _, i := range r.Sandbox.Invoices() {
		if i.Status == "open" {
			_, err := r.Sandbox.PayInvoice(i.ID)
			require.NoError(t, err)
		}
	}
	r.pass(t, hour)
	require.True(t, r.spending(t).Available)
	require.NoError(t, r.Usage.CheckAllowance(t.Context(), r.owner.TenantID, usage.Pushes))
}

// TestTrialsAndOtherTenantsArentCharged: without a paid subscription, CHARGE refuses like BLOCK.
func TestTrialsAndOtherTenantsArentCharged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.setAllowances(t, "FREE", charged("PUSHES", 10, 50, 10))
	other := r.Register(t)
	_, err := r.Usage.Record(t.Context(), []usage.Interval{{
		Owner: usage.Owner{TenantID: other.TenantID}, Source: "test", ResourceID: "res", Meter: usage.Pushes, From: r.Clock.Now(),
		To: r.Clock.Now(), Amount: 11,
	}})
	require.NoError(t, err)
	require.ErrorContains(t, r.Usage.CheckAllowance(t.Context(), other.TenantID, usage.Pushes), "while the subscription is ACTIVE")
	require.NoError(t, r.Overage.Charge(t.Context(), other.TenantID))
	var u api.BillingUsage
	other.Call(t, "GET", usagePath, nil).Into(t, 200, &u)
	require.Equal(t, []any{false, int64(0)}, []any{u.Spending.Available, u.Spending.OverageCents})
	charged, _ := r.stored(t)
	require.Zero(t, charged)
	viewer := r.owner.Colleague(t, "VIEWER")
	viewer.Call(t, "PUT", capPath, map[string]any{"capCents": 1}).Problem(t, 403, "forbidden")
}

// TestTheJobs: tenants with usage in a new period are found, and those with a due period get a job.
func TestTheJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	jobs := func() (n int) {
		err := r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE kind = 'overage_charge' AND finalized_at IS NULL").Scan(&n)
		require.NoError(t, err)
		return n
	}
	require.NoError(t, r.Overage.EnqueueDue(t.Context()))
	require.NoError(t, r.Overage.EnqueueNew(t.Context()))
	require.Zero(t, jobs(), "nothing was used")
	r.push(t, 1)
	require.NoError(t, r.Overage.EnqueueNew(t.Context()))
	require.NoError(t, r.Overage.EnqueueNew(t.Context()))
	require.Equal(t, 1, jobs())
	r.work(t)
	_, err := r.Pool.Exec(t.Context(), "DELETE FROM river_job WHERE kind = 'overage_charge'")
	require.NoError(t, err)
	require.NoError(t, r.Overage.EnqueueNew(t.Context()))
	require.NoError(t, r.Overage.EnqueueDue(t.Context()))
	require.Zero(t, jobs(), "the period is known, and looked at in an hour")
	r.Clock.Advance(hour)
	require.NoError(t, r.Overage.EnqueueDue(t.Context()))
	require.Equal(t, 1, jobs())
}

// TestTermsChangeWithinAPeriod: new terms hold for the whole period, what is stored stays, and a meter that isn't charged any more
// costs nothing more.
func TestTermsChangeWithinAPeriod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.push(t, 120)
	r.work(t)
	r.setAllowances(t, "PRO", charged("PUSHES", 100, 80, 10))
	r.work(t)
	require.EqualValues(t, 160, r.spending(t).OverageCents)
	r.setAllowances(t, "PRO", charged("PUSHES", 110, 50, 10))
	r.work(t)
	require.EqualValues(t, 160, r.spending(t).OverageCents, "it never becomes less")
	r.setAllowances(t, "PRO", map[string]any{"meter": "PUSHES", "included": 100})
	r.push(t, 1000)
	r.pass(t, 32*day)
	paid, unpaid := r.charges(t)
	require.Equal(t, []int64{160, 0}, []int64{paid, unpaid})
}
