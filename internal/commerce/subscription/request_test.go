package subscription_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// pro returns an owner whose tenant has paid for PRO.
func pro(t *testing.T, s *apitest.Server) *apitest.Caller {
	t.Helper()
	owner := s.Register(t)
	var page api.BillingCheckout
	owner.Call(t, "POST", "/v1/me/billing/checkout", map[string]any{
		"plan": "PRO", "successUrl": "https://acme.example/", "cancelUrl": "https://acme.example/",
	}).Into(t, 201, &page)
	_, err := s.Sandbox.CompleteCheckout(page.SessionID, sandbox.CardPays)
	require.NoError(t, err)
	require.NoError(t, s.Sandbox.Advance(15*24*time.Hour)) // the trial ends
	require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
	return owner
}

const subscriptionPath = "/v1/me/billing/subscription"

// TestAFailedChangeKeepsTheBooking: an upgrade that the processor doesn't make leaves the booked downgrade, and the audit log says so.
func TestAFailedChangeKeepsTheBooking(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := pro(t, s)
	var sub api.TenantSubscription
	owner.Call(t, "PATCH", subscriptionPath, map[string]any{"plan": "STARTER"}).Into(t, 200, &sub)
	pending := func() {
		t.Helper()
		require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
		var st api.BillingStatus
		owner.Call(t, "GET", "/v1/me/billing/status", nil).Into(t, 200, &st)
		sub, err := st.Subscription.Get()
		require.NoError(t, err)
		change, err := sub.PendingChange.Get()
		require.NoError(t, err, "the booked change is still there")
		require.Equal(t, api.PlanTierSTARTER, change.Plan)
	}
	pending()
	admin := s.Admin(t, platform.Billing)
	id := s.Sandbox.Subscriptions()[0].ID
	for name, change := range map[string]func() apitest.Response{
		"upgrade": func() apitest.Response {
			return owner.Call(t, "PATCH", subscriptionPath, map[string]any{"interval": "YEAR"})
		},
		"cancellation": func() apitest.Response {
			return owner.Call(t, "PATCH", subscriptionPath, map[string]any{"cancelAtPeriodEnd": true})
		},
		"move": func() apitest.Response {
			return admin.Call(t, "PATCH", "/v1/admin/tenants/"+owner.TenantID+"/plan", map[string]any{"plan": "ENTERPRISE", "priceCents": 90000})
		},
	} {
		s.Sandbox.Fail(10, "/v1/subscriptions/"+id, 429)
		require.Equal(t, 503, change().Status, name)
		s.Sandbox.ClearFaults()
		pending()
	}
	outcomes := func() (requested, failed int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE action !~ '_failed$' AND after ? 'requested'),
			count(*) FILTER (WHERE action ~ '_failed$' AND after->>'outcome' = 'NOT_DONE') FROM audit_entries`).Scan(&requested, &failed))
		return requested, failed
	}
	requested, failed := outcomes()
	require.Equal(t, 4, requested)
	require.Equal(t, 3, failed)
	require.Zero(t, mails(t, s, "billing_change_withdrawn"))

	owner.Call(t, "PATCH", subscriptionPath, map[string]any{"plan": "PRO", "interval": "MONTH"}).Is(t, 200)
	require.Equal(t, 1, mails(t, s, "billing_change_withdrawn"))
}

func mails(t *testing.T, s *apitest.Server, kind string) (n int) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM mails WHERE kind = $1", kind).Scan(&n))
	return n
}

// TestAdminsChangesAreMailed: each change by an admin is mailed once, also if the state is copied again.
func TestAdminsChangesAreMailed(t *testing.T) {
	t.Parallel()
	for name, trial := range map[string]func(t *testing.T, s *apitest.Server) *apitest.Caller{
		"without payment details": func(t *testing.T, s *apitest.Server) *apitest.Caller { t.Helper(); return s.Register(t) },
		"at the processor": func(t *testing.T, s *apitest.Server) *apitest.Caller {
			t.Helper()
			owner := s.Register(t)
			var page api.BillingCheckout
			owner.Call(t, "POST", "/v1/me/billing/checkout", map[string]any{
				"plan": "PRO", "successUrl": "https://acme.example/", "cancelUrl": "https://acme.example/",
			}).Into(t, 201, &page)
			_, err := s.Sandbox.CompleteCheckout(page.SessionID, sandbox.CardPays)
			require.NoError(t, err)
			return owner
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), SignupPlan: "STARTER"})
			owner, admin := trial(t, s), s.Admin(t, platform.Billing)
			copied := func() (sub api.TenantSubscription) {
				require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
				var st api.BillingStatus
				owner.Call(t, "GET", "/v1/me/billing/status", nil).Into(t, 200, &st)
				sub, err := st.Subscription.Get()
				require.NoError(t, err)
				return sub
			}
			act := func(action string, body any) {
				t.Helper()
				admin.Call(t, "POST", "/v1/admin/subscriptions/"+copied().ID+"/"+action, body).Is(t, 201)
				copied()
			}
			act("extend-trial", map[string]any{"days": 10})
			require.Equal(t, 1, mails(t, s, "billing_trial_extended"))
			act("pause", nil)
			act("pause", nil)
			require.Equal(t, 1, mails(t, s, "billing_paused"))
			act("resume", nil)
			require.Equal(t, 1, mails(t, s, "billing_resumed"))
			require.Equal(t, api.SubscriptionStatusTRIALING, copied().Status)
		})
	}
}

func TestAGivenPlanIsMailed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, admin := s.Register(t), s.Admin(t, platform.Billing)
	for n, plan := range []string{"PRO", "PRO", "FREE"} {
		admin.Call(t, "PATCH", "/v1/admin/tenants/"+owner.TenantID+"/plan", map[string]any{"plan": plan}).Is(t, 200)
		require.Equal(t, []int{1, 1, 2}[n], mails(t, s, "billing_granted"))
	}
}
