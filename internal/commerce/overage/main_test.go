package overage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const (
	usagePath = "/v1/me/billing/usage"
	capPath   = "/v1/me/billing/spend-cap"
	hour      = time.Hour
	day       = 24 * time.Hour
)

// rig is a tenant on PRO, which includes 100 pushes in a month, and charges 50 cents for each 10 more.
type rig struct {
	*apitest.Server

	owner *apitest.Caller
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	r := &rig{s, s.Register(t)}
	r.setAllowances(t, "PRO", charged("PUSHES", 100, 50, 10))
	r.book(t, "PRO", "MONTH", sandbox.CardPays)
	return r
}

// charged is an allowance with the overage CHARGE.
func charged(meter string, included, cents, units int) map[string]any {
	return map[string]any{"meter": meter, "included": included, "overage": "CHARGE", "overagePriceCents": cents, "overageUnits": units}
}

// setAllowances replaces the allowances of a plan, which begins without a trial.
func (r *rig) setAllowances(t *testing.T, tier string, list ...any) {
	t.Helper()
	admin := r.Admin(t, "SUPER_ADMIN")
	var plans api.AdminPlanPage
	admin.Call(t, "GET", "/v1/admin/plans", nil).Into(t, 200, &plans)
	for _, p := range plans.Items {
		if string(p.Tier) == tier {
			admin.Call(t, "PATCH", "/v1/admin/plans/"+p.ID, map[string]any{"trialDays": 0, "allowances": list}).Is(t, 200)
		}
	}
}

func (r *rig) book(t *testing.T, plan, interval, card string) {
	t.Helper()
	var page api.BillingCheckout
	r.owner.Call(t, "POST", "/v1/me/billing/checkout", map[string]any{
		"plan": plan, "interval": interval, "successUrl": "https://acme.example/", "cancelUrl": "https://acme.example/",
	}).Into(t, 201, &page)
	_, err := r.Sandbox.CompleteCheckout(page.SessionID, card)
	require.NoError(t, err)
	r.sync(t)
}

func (r *rig) sync(t *testing.T) {
	t.Helper()
	require.NoError(t, r.Subscriptions.SyncTenant(t.Context(), r.owner.TenantID))
}

// pass moves all clocks, in steps in which the hourly work is done.
func (r *rig) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for step := min(d, 8*hour); d > 0; d -= step {
		step = min(d, step)
		r.Clock.Advance(step)
		r.work(t)
	}
	r.owner = r.owner.LogInAgain(t)
}

// work does what the hourly jobs do.
func (r *rig) work(t *testing.T) {
	t.Helper()
	r.sync(t)
	require.NoError(t, r.Overage.Charge(t.Context(), r.owner.TenantID))
}

// settle lets a charge be reported and counted.
func (r *rig) settle(t *testing.T) {
	t.Helper()
	r.work(t) // a new price is added first
	for range 2 {
		r.Clock.Advance(11 * time.Minute)
		r.work(t)
	}
}

// push uses pushes now.
func (r *rig) push(t *testing.T, n int64) { t.Helper(); r.use(t, usage.Pushes, r.Clock.Now(), n) }

func (r *rig) use(t *testing.T, m usage.Meter, at time.Time, n int64) {
	t.Helper()
	r.Clock.Advance(time.Second)
	_, err := r.Usage.Record(t.Context(), []usage.Interval{{
		Owner: usage.Owner{TenantID: r.owner.TenantID}, Source: "test/" + r.Clock.Now().String(), ResourceID: "res", Meter: m, From: at, To: at,
		Amount: n,
	}})
	require.NoError(t, err)
}

// setCap sets the spend cap; nil for none.
func (r *rig) setCap(t *testing.T, cents any) {
	t.Helper()
	r.owner.Call(t, "PUT", capPath, map[string]any{"capCents": cents}).Is(t, 200)
}

func (r *rig) spending(t *testing.T) api.Spending {
	t.Helper()
	var u api.BillingUsage
	r.owner.Call(t, "GET", usagePath, nil).Into(t, 200, &u)
	require.NotNil(t, u.Spending)
	return *u.Spending
}

// charges sums what the processor has invoiced for overage, in cents without tax.
func (r *rig) charges(t *testing.T) (paid, unpaid int64) {
	t.Helper()
	subs := map[string]bool{}
	for _, s := range r.Sandbox.Subscriptions() {
		subs[s.ID] = s.Metadata["showfloor_kind"] == "overage"
	}
	for _, i := range r.Sandbox.Invoices() {
		switch {
		case !subs[i.SubscriptionID]:
		case i.Status == "paid":
			paid += i.TotalCents
		default:
			unpaid += i.TotalCents
		}
	}
	return paid, unpaid
}

// stored sums the charges and what was reported of them.
func (r *rig) stored(t *testing.T) (charged, reported int64) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT coalesce(sum(cents), 0)::bigint FROM overage_charges").Scan(&charged))
	require.NoError(t, r.Pool.QueryRow(t.Context(),
		"SELECT coalesce(sum(cents), 0)::bigint FROM overage_reports WHERE status = 'COUNTED'").Scan(&reported))
	return charged, reported
}
