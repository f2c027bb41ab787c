package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// activityOf returns an area's entry of the platform's activity.
func activityOf(t *testing.T, root *apitest.Caller, area api.PlatformArea) api.AreaActivity {
	t.Helper()
	var a api.PlatformActivityOverview
	root.Call(t, "GET", "/v1/admin/platform-activity/overview", nil).Into(t, 200, &a)
	for _, e := range a.Areas {
		if e.Area == area {
			return e
		}
	}
	t.Fatalf("no area %s", area)
	return api.AreaActivity{}
}

// TestAdminsSeeFiguresOfAllTenants: the dashboard, activity and reports count what tenants do, from rows and from sums alike.
func TestAdminsSeeFiguresOfAllTenants(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	root := s.Admin(t, platform.Support)
	owner.Stream(t, nil)
	owner.Session(t, nil)
	owner.Webhook(t, "http://127.0.0.1:1/")
	emit(t, s, owner.TenantID, "str_subject")
	owner.Call(t, "GET", "/v1/me/streams/str_none", nil).Is(t, 404)
	require.NoError(t, s.APICalls.Flush(t.Context()))
	owner.Call(t, "GET", "/v1/me/streams/str_none", nil).Is(t, 404)
	require.NoError(t, s.APICalls.Flush(t.Context()), "counts are added")

	var kpis api.DashboardKpis
	root.Call(t, "GET", "/v1/admin/dashboard/kpis", nil).Into(t, 200, &kpis)
	require.Equal(t, 1, kpis.Tenants.Total)
	require.Equal(t, 1, kpis.NewTenants)
	require.Equal(t, 1, kpis.Users)

	var growth api.DashboardGrowth
	root.Call(t, "GET", "/v1/admin/dashboard/growth", nil).Into(t, 200, &growth)
	require.Len(t, growth.Days, 30)
	require.Equal(t, 1, growth.Days[29].NewTenants)
	require.Equal(t, 1, growth.Days[29].TotalTenants)
	require.Equal(t, 0, growth.Days[28].TotalTenants)

	var recent api.RecentActivity
	root.Call(t, "GET", "/v1/admin/dashboard/recent-activity", nil).Into(t, 200, &recent)
	require.NotEmpty(t, recent.Items)

	check := func() {
		require.Equal(t, 1, activityOf(t, root, api.PlatformAreaSESSIONS).Last24Hours)
		require.Equal(t, 1, activityOf(t, root, api.PlatformAreaDELIVERIES).Last30Days)
		require.Equal(t, 1, activityOf(t, root, api.PlatformAreaSESSIONS).Now.MustGet())
		require.True(t, activityOf(t, root, api.PlatformAreaDELIVERIES).Now.IsNull())
		var page api.TenantActivityPage
		root.Call(t, "GET", "/v1/admin/platform-activity/by-tenant", nil).Into(t, 200, &page)
		require.Equal(t, 1, page.Total)
		require.Equal(t, 1, page.Items[0].Sessions)
		require.EqualValues(t, 1, page.Items[0].Deliveries)
		require.False(t, page.Items[0].LastActiveAt.IsNull())
		var sum api.WebhookSummary
		root.Call(t, "GET", "/v1/admin/webhooks/summary", nil).Into(t, 200, &sum)
		require.Equal(t, api.DeliveryStatusCounts{Total: 1, Pending: 1}, sum.Deliveries)
		require.Equal(t, 1, sum.ActiveEndpoints)
	}
	check()
	s.Clock.Advance(90 * time.Minute) // the hour of the rows is closed
	root = s.Admin(t, platform.Support)
	require.NoError(t, s.Reports.SumActivity(t.Context()))
	check()
	require.NoError(t, s.Reports.SumActivity(t.Context()), "a second run adds nothing")
	check()

	var dev api.DevActivityOverview
	root.Call(t, "GET", "/v1/admin/dev-activity/overview?days=2", nil).Into(t, 200, &dev)
	require.Len(t, dev.Days, 2)
	require.Equal(t, 1, dev.ActiveTenants)
	require.Equal(t, owner.TenantID, dev.Tenants[0].TenantID)
	require.Equal(t, dev.APICalls, dev.Tenants[0].Calls)
	require.EqualValues(t, 2, dev.Tenants[0].ClientErrors)
	calls, err := s.APICalls.CallsOfTenants(t.Context(), []string{owner.TenantID, "ten_none"}, s.Clock.Now().Add(-24*time.Hour))
	require.NoError(t, err)
	require.Equal(t, map[string]int64{owner.TenantID: dev.APICalls}, calls)
}

// TestAdminReportsOfAnEmptyPlatform: every day is there, and numbers of days and entries are read like those of other lists.
func TestAdminReportsOfAnEmptyPlatform(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.Billing)
	var growth api.TenantGrowthReport
	root.Call(t, "GET", "/v1/admin/reports/tenant-growth?days=7", nil).Into(t, 200, &growth)
	require.Len(t, growth.Days, 7)
	var streams api.StreamActivityReport
	root.Call(t, "GET", "/v1/admin/reports/stream-activity?days=1000", nil).Into(t, 200, &streams)
	require.Len(t, streams.Days, 365, "at most")
	var top api.TopTenantsReport
	root.Call(t, "GET", "/v1/admin/reports/top-tenants?limit=5", nil).Into(t, 200, &top)
	require.Empty(t, top.Items)
	for _, path := range []string{
		"/v1/admin/reports/tenant-growth?days=x", "/v1/admin/reports/stream-activity?days=x", "/v1/admin/reports/top-tenants?limit=x",
		"/v1/admin/dev-activity/overview?days=x", "/v1/admin/operations/webhook-deliveries?status=lost",
		"/v1/admin/operations/webhook-deliveries?limit=x", "/v1/admin/operations/scheduler-runs?limit=x",
		"/v1/admin/platform-activity/by-tenant?page=x", "/v1/admin/webhooks/endpoints?page=x",
	} {
		root.Call(t, "GET", path, nil).Problem(t, 400, "invalid_input")
	}
	root.Call(t, "GET", "/v1/admin/webhooks/endpoints/wh_none/deliveries", nil).Problem(t, 404, "not_found")
	s.Admin(t, platform.SuperAdmin).Call(t, "POST", "/v1/admin/webhooks/deliveries/del_none/retry", nil).Problem(t, 404, "not_found")
}

// TestAdminsRetryDeliveries: a retry by an admin is the tenant's own, with the admin in the audit log.
func TestAdminsRetryDeliveries(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	hook := owner.Webhook(t, "http://127.0.0.1:1/?key=secret")
	emit(t, s, owner.TenantID, "str_subject")

	var endpoints api.AdminWebhookEndpointPage
	root.Call(t, "GET", "/v1/admin/webhooks/endpoints?tenantId="+owner.TenantID, nil).Into(t, 200, &endpoints)
	require.Equal(t, 1, endpoints.Total)
	require.Equal(t, "http://127.0.0.1:1/?key=***", endpoints.Items[0].URL)
	require.Equal(t, 1, endpoints.Items[0].Deliveries)

	var page api.AdminWebhookDeliveryPage
	path := "/v1/admin/webhooks/endpoints/" + hook.ID + "/deliveries"
	root.Call(t, "GET", path, nil).Into(t, 200, &page)
	require.Equal(t, 1, page.Total)
	root.Call(t, "GET", path+"?page=2", nil).Into(t, 200, &page)
	require.Empty(t, page.Items)
	root.Call(t, "GET", path, nil).Into(t, 200, &page)
	d := page.Items[0]

	_, err := s.Pool.Exec(t.Context(), "UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL WHERE id = $1", d.ID)
	require.NoError(t, err)
	var recent api.OperationsDeliveries
	root.Call(t, "GET", "/v1/admin/operations/webhook-deliveries?status=failed&limit=100", nil).Into(t, 200, &recent)
	require.NotEmpty(t, recent.Items)

	retry := "/v1/admin/webhooks/deliveries/" + d.ID + "/retry"
	var again api.WebhookDelivery
	root.Call(t, "POST", retry, nil).Into(t, 201, &again)
	require.Equal(t, api.WebhookDeliveryStatus("retrying"), again.Status)
	require.Equal(t, "webhook_delivery.retry", actions(t, root, "entity="+d.ID))

	owner.Call(t, "PATCH", "/v1/me/webhooks/"+hook.ID, map[string]any{"status": "disabled"}).Is(t, 200)
	root.Call(t, "POST", retry, nil).Problem(t, 409, "conflict")
	s.Admin(t, platform.Support).Call(t, "POST", retry, nil).Problem(t, 403, "forbidden")
}

// TestAdminsSeeTheSystem: health, jobs and sizes, without arguments of jobs.
func TestAdminsSeeTheSystem(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root := s.Admin(t, platform.Support)
	_, err := s.Streams.Heartbeat(t.Context(), nil)
	require.NoError(t, err)
	var health api.SystemHealth
	root.Call(t, "GET", "/v1/admin/system/health", nil).Into(t, 200, &health)
	require.NotEmpty(t, health.Checks)
	require.NotEmpty(t, health.Nodes)
	var stats api.DatabaseStats
	root.Call(t, "GET", "/v1/admin/system/database/stats", nil).Into(t, 200, &stats)
	require.NotEmpty(t, stats.Tables)
	require.Positive(t, stats.TotalBytes)
	require.Positive(t, stats.Migration)
	var runs api.SchedulerRuns
	root.Call(t, "GET", "/v1/admin/operations/scheduler-runs?kind=none", nil).Into(t, 200, &runs)
	require.Empty(t, runs.Items)
	root.Call(t, "GET", "/v1/admin/operations/scheduler-runs", nil).Into(t, 200, &runs)
}

// TestTenantsReadTheirAuditLog: owners and admins read the tenant's entries with filters, and nothing about admins of the platform.
func TestTenantsReadTheirAuditLog(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other, root := s.Register(t), s.Register(t), s.Admin(t, platform.SuperAdmin)
	st := owner.Stream(t, nil)
	other.Stream(t, nil)
	root.Call(t, "POST", "/v1/admin/tenants/"+owner.TenantID+"/suspend", map[string]any{"reason": "Copyright"}).Is(t, 201)
	root.Call(t, "POST", "/v1/admin/tenants/"+owner.TenantID+"/unsuspend", nil).Is(t, 201)

	list := func(query string) (entries []api.TenantAuditEntry) {
		owner.Call(t, "GET", "/v1/me/audit?"+query, nil).Into(t, 200, &entries)
		return entries
	}
	created := list("action=stream.*")
	require.Len(t, created, 1, "other tenants' entries are left out")
	require.Equal(t, st.ID, created[0].EntityID)
	require.Equal(t, owner.UserID, created[0].ActorID.MustGet())
	require.Equal(t, created, list("entity="+st.ID+"&actor=user"))
	byAdmin := list("actor=admin")
	require.Len(t, byAdmin, 2)
	for _, e := range byAdmin {
		require.True(t, e.ActorID.IsNull() && e.IP.IsNull() && e.Reason.IsNull() && e.Before.IsNull() && e.After.IsNull())
	}
	require.Len(t, list("limit=1"), 1)
	require.Contains(t, owner.Call(t, "GET", "/v1/me/audit?limit=1", nil).Header.Get("Link"), "cursor="+byAdmin[0].ID)
	require.Empty(t, list("to=2001-01-01T00:00:00Z"))
	owner.Call(t, "GET", "/v1/me/audit?cursor=x", nil).Problem(t, 400, "invalid_input")
	owner.Colleague(t, tenancy.Developer).Call(t, "GET", "/v1/me/audit", nil).Problem(t, 403, "forbidden")
}
