package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
)

// used records a tenant's usage at a time.
func used(t *testing.T, s *apitest.Server, tenantID string, m usage.Meter, at time.Time, amount int64) {
	t.Helper()
	_, err := s.Usage.Record(t.Context(), []usage.Interval{{
		Owner: usage.Owner{TenantID: tenantID}, Source: "test", ResourceID: "str_1", Meter: m, From: at, To: at.Add(10 * time.Second), Amount: amount,
	}})
	require.NoError(t, err)
}

// meters returns the used and the included amounts of an answer; -1 for no limit.
func meters(t *testing.T, list []api.MeterUsage) (use, included map[string]int64) {
	t.Helper()
	require.Len(t, list, 8)
	use, included = map[string]int64{}, map[string]int64{}
	for _, m := range list {
		use[string(m.Meter)], included[string(m.Meter)] = m.Used, -1
		if !m.Included.IsNull() {
			included[string(m.Meter)] = m.Included.MustGet()
		}
	}
	return use, included
}

func TestBillingUsageIsThatOfTheMonth(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	now := s.Clock.Now()
	begin := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	used(t, s, owner.TenantID, usage.ViewerMinutes, begin, 61)
	used(t, s, owner.TenantID, usage.ViewerMinutes, begin.Add(-time.Microsecond), 1_000_000)
	used(t, s, owner.TenantID, usage.ViewerMinutes, begin.AddDate(0, 1, 0), 1_000_000)
	used(t, s, owner.TenantID, usage.EgressBytes, begin.Add(time.Hour), 12_345)
	used(t, s, owner.TenantID, usage.IngressBytes, begin.Add(time.Hour), 7)
	used(t, s, other.TenantID, usage.EgressBytes, begin.Add(time.Hour), 99)

	var u api.BillingUsage
	owner.Call(t, "GET", "/v1/me/billing/usage", nil).Into(t, 200, &u)
	require.EqualValues(t, "FREE", u.Plan)
	require.True(t, begin.Equal(u.PeriodStart.Time))
	require.True(t, begin.AddDate(0, 1, 0).Equal(u.PeriodEnd.Time))
	use, included := meters(t, u.Meters)
	require.Equal(t, map[string]int64{
		"STREAM_MINUTES": 0, "VIEWER_MINUTES": 2, "PARTICIPANT_MINUTES": 0, "RECORDING_MINUTES": 0,
		"STORAGE_BYTES": 0, "EGRESS_BYTES": 12_345, "TRANSCODE_MINUTES": 0, "PUSHES": 0,
	}, use)
	require.EqualValues(t, 10_000, included["VIEWER_MINUTES"])
	owner.SetPlan(t, "ENTERPRISE")
	owner.Call(t, "GET", "/v1/me/billing/usage", nil).Into(t, 200, &u)
	require.EqualValues(t, "ENTERPRISE", u.Plan)
	_, included = meters(t, u.Meters)
	require.EqualValues(t, -1, included["VIEWER_MINUTES"])
}

// TestAdminsSeeTheTenantsWithTheHighestUsage runs beside other tests' tenants.
func TestAdminsSeeTheTenantsWithTheHighestUsage(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	first, second := s.Register(t), s.Register(t)
	admin := s.Admin(t, platform.Support)
	now := s.Clock.Now()
	const most = 1 << 50
	used(t, s, second.TenantID, usage.EgressBytes, now, most)
	used(t, s, first.TenantID, usage.EgressBytes, now, most+1)
	used(t, s, first.TenantID, usage.StreamMinutes, now, 60)

	var u api.OperationsUsage
	admin.Call(t, "GET", "/v1/admin/operations/usage?limit=2", nil).Into(t, 200, &u)
	require.Len(t, u.Items, 2)
	require.Equal(t, first.TenantID, u.Items[0].TenantID)
	require.Equal(t, second.TenantID, u.Items[1].TenantID)
	use, included := meters(t, u.Items[0].Meters)
	require.EqualValues(t, most+1, use["EGRESS_BYTES"])
	require.EqualValues(t, 1, use["STREAM_MINUTES"])
	require.EqualValues(t, 600, included["STREAM_MINUTES"])
	admin.Call(t, "GET", "/v1/admin/operations/usage?limit=x", nil).Problem(t, 400, "invalid_input")
}
