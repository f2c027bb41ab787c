package handlers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/console/platform"
	"showfloor/internal/console/seed"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/schema"
)

// TestKeptNumbersOfStatusesFollowTheRows: the totals of admins' lists with a status are those of the rows after inserts, changes of the
// status and deletions, before and after their changes are added up.
func TestKeptNumbersOfStatusesFollowTheRows(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	owner.Stream(t, nil)
	rows, err := seed.New(seed.Counts{Tenants: 5, Streams: 40, Deliveries: 30, AuditEntries: 50, Rows: 40, Live: 2}, owner.TenantID, s.Clock.Now())
	require.NoError(t, err)
	require.NoError(t, rows.Write(t.Context(), s.Pool, func(string, int, int) {}))
	check := func(path, query string, args ...any) {
		t.Helper()
		var want int
		require.NoError(t, s.Pool.QueryRow(t.Context(), query, args...).Scan(&want))
		for range 2 {
			var page struct {
				Total int   `json:"total"`
				Items []any `json:"items"`
			}
			root.Call(t, "GET", path, nil).Into(t, 200, &page)
			require.Equal(t, want, page.Total, path)
			require.Len(t, page.Items, want, path)
			require.NoError(t, s.Analytics.AddRowCounts(t.Context()))
		}
	}
	checkAll := func() {
		t.Helper()
		for path, c := range map[string]struct{ table, status string }{
			"/v1/admin/recordings": {"recordings", "DELETED"}, "/v1/admin/subscriptions": {"subscriptions", "UNPAID"}, "/v1/admin/billing/invoices": {"invoices", "VOID"},
		} {
			check(path+"?pageSize=100", "SELECT count(*) FROM "+c.table)
			check(path+"?pageSize=100&status="+c.status, "SELECT count(*) FROM "+c.table+" WHERE status = $1", c.status)
			if c.table != "subscriptions" { // this list has no filter by tenant
				check(path+"?pageSize=100&tenantId="+owner.TenantID, "SELECT count(*) FROM "+c.table+" WHERE tenant_id = $1", owner.TenantID)
				check(path+"?pageSize=100&tenantId="+owner.TenantID+"&status="+c.status,
					"SELECT count(*) FROM "+c.table+" WHERE tenant_id = $1 AND status = $2", owner.TenantID, c.status)
			}
		}
		check("/v1/admin/streams/history?pageSize=100", "SELECT count(*) FROM streams WHERE status <> 'IDLE'")
		check("/v1/admin/streams/history?pageSize=100&tenantId="+owner.TenantID,
			"SELECT count(*) FROM streams WHERE status <> 'IDLE' AND tenant_id = $1", owner.TenantID)
		check("/v1/admin/streams/history?pageSize=100&status=IDLE", "SELECT count(*) FROM streams WHERE status = 'IDLE'")
		check("/v1/admin/stream-keys?pageSize=100", "SELECT count(*) FROM stream_keys")
		check("/v1/admin/stream-keys?pageSize=100&consumed=false", "SELECT count(*) FROM stream_keys WHERE consumed_at IS NULL")
	}
	checkAll()
	for _, change := range []string{
		`UPDATE recordings SET status = 'DELETED' WHERE right(id, 1) IN ('3', '4')`,
		`UPDATE subscriptions SET status = 'UNPAID', plan = 'PRO' WHERE right(id, 1) IN ('3', '4')`,
		`UPDATE invoices SET status = 'VOID' WHERE right(id, 1) IN ('3', '4')`,
		`DELETE FROM recordings WHERE right(id, 1) = '5'`,
		`DELETE FROM invoices WHERE right(id, 1) = '5'`,
		`UPDATE streams SET status = 'ENDED' WHERE status = 'IDLE'`,
	} {
		tag, err := s.Pool.Exec(t.Context(), change)
		require.NoError(t, err, change)
		require.NotZero(t, tag.RowsAffected(), change)
	}
	checkAll()

	// The migration counts the rows that were there before its triggers, also when it is repeated after an interruption.
	migration, err := schema.FS.ReadFile("0103_admin_lists.sql")
	require.NoError(t, err)
	_, count, found := strings.Cut(string(migration), "WITH by_status AS")
	require.True(t, found)
	count, _, _ = strings.Cut(count, ";")
	for _, table := range []string{"row_counts", "row_count_changes"} {
		_, err := s.Pool.Exec(t.Context(), "DELETE FROM "+table+" WHERE scope LIKE 'all\\_%' OR scope LIKE '%\\_by\\_status'")
		require.NoError(t, err)
	}
	// The last row of a status got another one after the triggers were there.
	_, err = s.Pool.Exec(t.Context(), `UPDATE invoices SET status = 'PAID' WHERE status = 'VOID'`)
	require.NoError(t, err)
	for range 2 {
		_, err := s.Pool.Exec(t.Context(), "WITH by_status AS"+count)
		require.NoError(t, err)
		checkAll()
	}
}
