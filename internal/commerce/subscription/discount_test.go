package subscription_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestDiscountsInTheRecurringRevenue: the ledger has the beginning and the end of a discount, each once, and no event.
func TestDiscountsInTheRecurringRevenue(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	w := &walk{s: s, owner: owner}
	var page api.BillingCheckout
	owner.Call(t, "POST", "/v1/me/billing/checkout", map[string]any{
		"plan": "PRO", "successUrl": "https://acme.example/", "cancelUrl": "https://acme.example/",
	}).Into(t, 201, &page)
	_, err := s.Sandbox.CompleteCheckout(page.SessionID, sandbox.CardPays)
	require.NoError(t, err)
	require.NoError(t, s.Sandbox.Advance(15*24*time.Hour)) // the trial ends
	coupon := func(form url.Values) {
		id := s.Sandbox.Post(t, "/v1/coupons", form)
		s.Sandbox.Post(t, "/v1/subscriptions/"+s.Sandbox.Subscriptions()[0].ID, url.Values{"coupon": {id}})
	}
	check := func(cents int64) {
		t.Helper()
		require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
		require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
		revenue, err := s.Subscriptions.GetRevenue(t.Context())
		require.NoError(t, err)
		require.Equal(t, cents, revenue.MonthlyRecurring["USD"])
		require.Equal(t, cents, w.sum(t, "kind IN ('NEW', 'REACTIVATION', 'EXPANSION', 'CONTRACTION', 'CHURN')"), "the ledger adds up")
	}
	check(9900)
	events := func() (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE event = 'subscription.updated'").Scan(&n))
		return n
	}
	before := events()
	coupon(url.Values{"percent_off": {"100"}, "duration": {"repeating"}, "duration_in_months": {"2"}})
	check(0)
	require.EqualValues(t, -9900, w.sum(t, "kind = 'CONTRACTION'"), "the subscription still runs")
	coupon(url.Values{"amount_off": {"900"}, "currency": {"usd"}, "duration": {"forever"}})
	check(9000)
	require.EqualValues(t, 9000, w.sum(t, "kind = 'EXPANSION'"))
	coupon(url.Values{"percent_off": {"25"}, "duration": {"repeating"}, "duration_in_months": {"2"}})
	check(7425)
	require.Equal(t, before, events(), "nothing that an event shows has changed")
	require.NoError(t, s.Sandbox.Advance(63*24*time.Hour))
	check(9900)
	coupon(url.Values{"percent_off": {"25"}, "duration": {"once"}})
	check(9900)
}
