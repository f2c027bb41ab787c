package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/areas"
	"showfloor/internal/console/platform"
	"showfloor/internal/console/seed"
	"showfloor/internal/media/hub"
	"showfloor/internal/tenancy/audit"
)

const (
	// listRequests is the number of requests for each operation.
	listRequests = 60
	// manyRows is the number of rows per request above which a sequential scan fails the benchmark. A table with one or two rows for
	// each tenant may be read whole: for a count over all of them PostgreSQL prefers that to an index.
	manyRows = 2 * listTenants
)

// listCase is a request for a list, a search or figures. {last} stands for a page far behind.
type listCase struct{ name, path string }

// listCases are the requests.
func listCases(rows *seed.Seed) []listCase {
	return []listCase{
		{"analytics-week", "/v1/me/analytics"},
		{"analytics-hours", "/v1/me/analytics?interval=hour&from={month}"},
		{"analytics-year", "/v1/me/analytics?interval=day&from={year}"},
		{"overview", "/v1/me/overview"},
		{"usage", "/v1/me/billing/usage"},
		{"streams", "/v1/me/streams"},
		{"stream-chat", "/v1/streams/" + rows.ID("str", 2) + "/chat"},
		{"sessions", "/v1/me/sessions?limit=200"},
		{"sessions-type", "/v1/me/sessions?type=webinar"},
		{"participants", "/v1/me/sessions/" + rows.ID("sess", 2) + "/participants"},
		{"channels", "/v1/me/channels"},
		{"channels-user", "/v1/me/channels?userId=ada"},
		{"channels-user-none", "/v1/me/channels?userId=nobody"},
		{"channel-members", "/v1/me/channels/" + rows.ID("chan", 2) + "/members"},
		{"channel-messages", "/v1/me/channels/" + rows.ID("chan", 2) + "/messages"},
		{"channel-moderation", "/v1/me/channels/" + rows.ID("chan", 2) + "/moderation"},
		{"channel-restrictions", "/v1/me/channels/" + rows.ID("chan", 2) + "/restrictions"},
		{"channel-restrictions-kind-none", "/v1/me/channels/" + rows.ID("chan", 2) + "/restrictions?kind=ban"},
		{"channel-restrictions-user", "/v1/me/channels/" + rows.ID("chan", 2) + "/restrictions?userId=user-2&userId=user-3"},
		{"team", "/v1/me/team"},
		{"api-keys", "/v1/me/api-keys"},
		{"products", "/v1/me/catalog/products"},
		{"products-hit", "/v1/me/catalog/products?q=stoneware"},
		{"products-none", "/v1/me/catalog/products?q=teapot"},
		{"products-active-none", "/v1/me/catalog/products?q=teapot&activeOnly=1"},
		{"discounts", "/v1/me/commerce/discounts"},
		{"auctions", "/v1/me/commerce/auctions"},
		{"auctions-live", "/v1/me/commerce/auctions?status=LIVE"},
		{"auction", "/v1/me/commerce/auctions/" + rows.ID("auc", 2)},
		{"orders", "/v1/me/commerce/orders"},
		{"orders-status", "/v1/me/commerce/orders?status=REFUNDED"},
		{"orders-stream-customer", "/v1/me/commerce/orders?streamId=" + rows.ID("str", 2) + "&customerExternalId=customer-0&status=REFUNDED"},
		{"orders-customer-none", "/v1/me/commerce/orders?customerExternalId=nobody"},
		{"webhooks", "/v1/me/webhooks"},
		{"deliveries", "/v1/me/webhooks/" + rows.ID("wh", 2) + "/deliveries"},
		{"deliveries-failed", "/v1/me/webhooks/" + rows.ID("wh", 2) + "/deliveries?status=failed"},
		{"deliveries-none", "/v1/me/webhooks/" + rows.ID("wh", 2) + "/deliveries?status=retrying"},
		{"deliveries-event", "/v1/me/webhooks/" + rows.ID("wh", 2) + "/deliveries?event=auction.won"},
		{"deliveries-until", "/v1/me/webhooks/" + rows.ID("wh", 2) + "/deliveries?until={month}"},
		{"events", "/v1/me/events"},
		{"events-oldest", "/v1/me/events?order=asc"},
		{"events-name", "/v1/me/events?event=auction.won"},
		{"events-subject", "/v1/me/events?subject=prod_" + rows.Set() + "7&event=auction.won"},
		{"admin-tenants", "/v1/admin/tenants"},
		{"admin-tenants-last", "/v1/admin/tenants?page={last}"},
		{"admin-tenants-status", "/v1/admin/tenants?status=ACTIVE&plan=FREE&page=900"},
		{"admin-tenants-none", "/v1/admin/tenants?q=teapot"},
		{"admin-tenants-mail", "/v1/admin/tenants?q=user-77777@"},
		{"admin-tenant", "/v1/admin/tenants/{tenant}"},
		{"admin-users", "/v1/admin/users"},
		{"admin-users-last", "/v1/admin/users?page={last}"},
		{"admin-users-tenant", "/v1/admin/users?tenantId={tenant}&page=900"},
		{"admin-users-none", "/v1/admin/users?q=teapot"},
		{"admin-audit", "/v1/admin/audit"},
		{"admin-audit-900", "/v1/admin/audit?page=900"},
		{"admin-audit-last", "/v1/admin/audit?page={last}"},
		{"admin-audit-tenant", "/v1/admin/audit?tenantId={tenant}&page=900"},
		{"admin-audit-action", "/v1/admin/audit?action=stream.*"},
		{"admin-audit-actor", "/v1/admin/audit?actor=key_7"},
		{"admin-audit-type", "/v1/admin/audit?actor=user&entity=product&from={month}"},
		{"admin-audit-entity", "/v1/admin/audit?entity=" + rows.ID("str", 2)},
		{"admin-usage", "/v1/admin/operations/usage"},
		{"audit-none", "/v1/me/audit?action=nothing"},
		{"admin-kpis", "/v1/admin/dashboard/kpis"},
		{"admin-growth", "/v1/admin/dashboard/growth"},
		{"admin-recent", "/v1/admin/dashboard/recent-activity"},
		{"admin-activity", "/v1/admin/platform-activity/overview"},
		{"admin-activity-tenants", "/v1/admin/platform-activity/by-tenant?pageSize=100"},
		{"admin-growth-year", "/v1/admin/reports/tenant-growth?days=365"},
		{"admin-streams-year", "/v1/admin/reports/stream-activity?days=365"},
		{"admin-top-tenants", "/v1/admin/reports/top-tenants?limit=100"},
		{"admin-developers", "/v1/admin/dev-activity/overview"},
		{"admin-webhooks", "/v1/admin/webhooks/summary"},
		{"admin-endpoints", "/v1/admin/webhooks/endpoints?pageSize=100"},
		{"admin-endpoint-deliveries", "/v1/admin/webhooks/endpoints/" + rows.ID("wh", 2) + "/deliveries?page=400"},
		{"admin-deliveries", "/v1/admin/operations/webhook-deliveries?limit=100"},
		{"admin-deliveries-failed", "/v1/admin/operations/webhook-deliveries?status=failed"},
		{"admin-deliveries-none", "/v1/admin/operations/webhook-deliveries?status=retrying"},
		{"admin-deliveries-delivered", "/v1/admin/operations/webhook-deliveries?status=delivered"},
		{"admin-runs", "/v1/admin/operations/scheduler-runs"},
		{"admin-database", "/v1/admin/system/database/stats"},
		{"admin-live", "/v1/admin/streams/live?pageSize=100"},
		{"admin-live-tenant", "/v1/admin/streams/live?tenantId={tenant}"},
		{"admin-history", "/v1/admin/streams/history"},
		{"admin-history-900", "/v1/admin/streams/history?page=900"},
		{"admin-history-tenant", "/v1/admin/streams/history?tenantId={tenant}&page=900"},
		{"admin-history-status", "/v1/admin/streams/history?status=ENDED&tenantId=" + rows.ID("ten", 5)},
		{"admin-history-none", "/v1/admin/streams/history?status=IDLE"},
		{"admin-stream", "/v1/admin/streams/" + rows.ID("str", 2)},
		{"admin-inspector", "/v1/admin/stream-inspector?pageSize=100"},
		{"admin-inspection", "/v1/admin/stream-inspector/" + rows.ID("str", 2)},
		{"admin-keys", "/v1/admin/stream-keys"},
		{"admin-keys-900", "/v1/admin/stream-keys?page=900"},
		{"admin-keys-tenant", "/v1/admin/stream-keys?tenantId={tenant}&consumed=true&page=900"},
		{"admin-keys-unused", "/v1/admin/stream-keys?consumed=false"},
		{"admin-keys-part", "/v1/admin/stream-keys?q=show%2077777"},
		{"admin-keys-none", "/v1/admin/stream-keys?q=teapot"},
		{"admin-recordings", "/v1/admin/recordings"},
		{"admin-recordings-tenant", "/v1/admin/recordings?tenantId={tenant}&status=READY&page=900"},
		{"admin-recordings-none", "/v1/admin/recordings?status=FAILED"},
		{"admin-plans", "/v1/admin/plans"},
		{"admin-subscriptions", "/v1/admin/subscriptions"},
		{"admin-subscriptions-status", "/v1/admin/subscriptions?status=CANCELED&page=900"},
		{"admin-subscriptions-none", "/v1/admin/subscriptions?status=PAST_DUE"},
		{"admin-invoices", "/v1/admin/billing/invoices"},
		{"admin-invoices-tenant", "/v1/admin/billing/invoices?tenantId={tenant}&status=PAID&page=900"},
		{"admin-invoices-none", "/v1/admin/billing/invoices?status=OPEN"},
		{"admin-billing", "/v1/admin/billing/overview"},
		{"admin-plan-distribution", "/v1/admin/dashboard/plan-distribution"},
		{"admin-revenue", "/v1/admin/dashboard/revenue"},
		{"admin-plan-mix", "/v1/admin/reports/plan-mix"},
		{"admin-bandwidth", "/v1/admin/bandwidth/overview?days=90"},
		{"admin-settings", "/v1/admin/settings"},
		{"admin-system-settings", "/v1/admin/system/settings"},
		{"admin-health", "/v1/admin/system/health"},
		{"admin-tickets", "/v1/admin/tickets"},
		{"admin-tickets-900", "/v1/admin/tickets?page=900"},
		{"admin-tickets-filters", "/v1/admin/tickets?status=CLOSED&priority=HIGH&tenantId={tenant}"},
		{"admin-tickets-none", "/v1/admin/tickets?status=PENDING"},
		{"admin-ticket", "/v1/admin/tickets/" + rows.ID("tick", 2)},
		{"admin-announcements", "/v1/admin/announcements"},
		{"admin-compliance", "/v1/admin/compliance/overview"},
		{"admin-compliance-last", "/v1/admin/compliance/overview?page={last}"},
		{"admin-apps", "/v1/admin/first-party-apps"},
	}
}

// BenchmarkLists measures every list, search and figure on a large platform: 10,000 tenants with 100,000 streams (or as many as
// SHOWFLOOR_BENCH_ROWS says), 5 times as many deliveries and 10 times as many entries of the audit log. Half of the rows belong to the
// tenant that asks. The baseline reads 50 orders by their primary keys on the same pool. A sequential scan over more than
// 20,000 rows fails the benchmark. SHOWFLOOR_BENCH_PLANS names a file that gets the plans.
func BenchmarkLists(b *testing.B) {
	counts := listCounts(b)
	traced := &statements{}
	a := newServicesOn(b, tracedPool(b, traced), hub.New(hub.Config{}), time.Now, areas.Settings{})
	rows := a.seed(b, counts)
	plans := plansFile(b)
	e := router(b, a)
	ours := "http://" + serveHTTP(b, e)
	admin := a.adminToken(b, ours)
	paths := strings.NewReplacer("{tenant}", a.caller.TenantID, "{last}", strconv.Itoa(counts.Tenants/20),
		"{month}", time.Now().AddDate(0, 0, -30).UTC().Format(time.RFC3339), "{year}", time.Now().AddDate(0, 0, -365).UTC().Format(time.RFC3339))
	bare := quantile(times(b, "http://"+serveHTTP(b, bareOrders(b, a, rows))+"/", "", listRequests), .5)
	var scans []string
	for _, c := range listCases(rows) {
		b.Run(c.name, func(b *testing.B) {
			token, path := a.owner.Token, paths.Replace(c.path)
			if strings.HasPrefix(path, "/v1/admin/") {
				token = admin
			}
			times(b, ours+path, token, 8) // more than five, after which PostgreSQL may choose a generic plan
			if plans != nil {
				printPlans(b, plans, a.pool, c.name, traced.record(func() { times(b, ours+path, token, 1) }))
			}
			before := a.tableReads(b)
			var took []time.Duration
			for b.Loop() {
				took = append(took, times(b, ours+path, token, listRequests)...)
			}
			reads := a.tableReads(b)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(quantile(took, .5)), "p50-ms")
			b.ReportMetric(milliseconds(quantile(took, .99)), "p99-ms")
			b.ReportMetric(float64(quantile(took, .5))/float64(bare), "ratio")
			b.ReportMetric(float64(reads.pages-before.pages)/float64(len(took)), "pages")
			for table, n := range reads.scanned {
				if n = (n - before.scanned[table]) / int64(len(took)); n > manyRows {
					scans = append(scans, fmt.Sprintf("%s: a sequential scan reads %d rows of %s for each request", c.name, n, table))
				}
			}
		})
	}
	require.Empty(b, scans)
}

// times sends requests one after the other and returns the time of each, until the whole answer is read.
func times(b *testing.B, url, token string, n int) (took []time.Duration) {
	b.Helper()
	client := &http.Client{Timeout: time.Minute}
	for range n {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
		require.NoError(b, err)
		r.Header.Set("Authorization", "Bearer "+token)
		start := time.Now()
		resp, err := client.Do(r)
		require.NoError(b, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(b, err)
		took = append(took, time.Since(start))
		require.NoError(b, resp.Body.Close())
		require.Equal(b, http.StatusOK, resp.StatusCode, "%s: %s", url, body)
	}
	return took
}

// adminToken creates an admin and logs it in.
func (a *services) adminToken(b *testing.B, base string) string {
	b.Helper()
	const email, password = "root@example.com", "correct horse battery"
	_, _, err := a.Console.CreateAdmin(b.Context(), audit.System("bench"), email, platform.SuperAdmin, password)
	require.NoError(b, err)
	body, err := json.Marshal(map[string]string{"email": email, "password": password})
	require.NoError(b, err)
	client := &http.Client{Timeout: time.Minute}
	resp, err := client.Post(base+"/v1/admin/auth/login", "application/json", bytes.NewReader(body))
	require.NoError(b, err)
	defer resp.Body.Close()
	var login struct {
		Token string `json:"token"`
	}
	require.NoError(b, json.NewDecoder(resp.Body).Decode(&login))
	require.NotEmpty(b, login.Token)
	return login.Token
}

// bareOrders serves 50 orders by their primary keys: no authentication, no checks.
func bareOrders(b *testing.B, a *services, rows *seed.Seed) http.Handler {
	b.Helper()
	var ids []string
	for row := range 50 {
		ids = append(ids, rows.ID("ord", row+1))
	}
	e := echo.New()
	e.GET("/", func(c echo.Context) error {
		rows, err := a.pool.Query(c.Request().Context(), `SELECT id, status, customer_external_id, total_cents, currency, created_at
			FROM orders WHERE id = ANY ($1)`, ids)
		if err != nil {
			return err
		}
		defer rows.Close()
		var list []map[string]any
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				return err
			}
			list = append(list, map[string]any{
				"id": values[0], "status": values[1], "customer": values[2], "totalCents": values[3], "currency": values[4], "createdAt": values[5],
			})
		}
		return c.JSON(http.StatusOK, list)
	})
	return e
}

// tableReads is what PostgreSQL has counted since its start.
type tableReads struct {
	// pages is the number of 8 KiB pages of tables and indexes that statements have read, from memory or from the disk.
	pages int64
	// scanned is the number of rows that sequential scans have read, by table.
	scanned map[string]int64
}

// tableReads makes the pool's idle connections report their counters and reads the sums.
func (a *services) tableReads(b *testing.B) tableReads {
	b.Helper()
	idle := a.pool.AcquireAllIdle(b.Context())
	for _, conn := range idle {
		_, err := conn.Exec(b.Context(), `SELECT pg_stat_force_next_flush()`)
		require.NoError(b, err)
	}
	for _, conn := range slices.Backward(idle) {
		conn.Release()
	}
	reads := tableReads{scanned: map[string]int64{}}
	rows, err := a.pool.Query(b.Context(), `SELECT t.relname::text, t.seq_tup_read,
		(coalesce(heap_blks_hit + heap_blks_read, 0) + coalesce(idx_blks_hit + idx_blks_read, 0) + coalesce(toast_blks_hit + toast_blks_read, 0))::bigint
		FROM pg_stat_user_tables t JOIN pg_statio_user_tables USING (relid)`)
	require.NoError(b, err)
	defer rows.Close()
	for rows.Next() {
		var table string
		var scanned, pages int64
		require.NoError(b, rows.Scan(&table, &scanned, &pages))
		reads.scanned[table] = scanned
		reads.pages += pages
	}
	require.NoError(b, rows.Err())
	return reads
}
