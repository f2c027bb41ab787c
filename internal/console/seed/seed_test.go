package seed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/console/seed"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func small() seed.Counts {
	return seed.Counts{Tenants: 5, Streams: 40, Deliveries: 30, AuditEntries: 50, Rows: 20, Live: 2}
}

func TestEachTableHasItsRows(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	rows, err := seed.New(small(), "", time.Now())
	require.NoError(t, err)
	var steps int
	require.NoError(t, rows.Write(t.Context(), pool, func(_ string, written, all int) {
		require.LessOrEqual(t, written, all)
		steps++
	}))
	require.Greater(t, steps, 20)
	for table, want := range map[string]int{
		"tenants": 5, "streams": 40, "stream_keys": 40, "webhook_deliveries": 30, "events": 30, "audit_entries": 50, "orders": 20, "order_items": 20,
		"products": 20, "users": 20, "channels": 30, "sessions": 20, "participants": 20, "bids": 20, "channel_messages": 20, "usage_intervals": 20,
		"recordings": 20, "subscriptions": 20, "invoices": 20, "tickets": 20, "ticket_messages": 20, "compliance_records": 5,
	} {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		require.Equal(t, want, n, table)
	}
	for table, reference := range map[string]string{
		"orders": "streams AS other ON other.id = stream_id", "webhook_deliveries": "webhook_endpoints AS other ON other.id = endpoint_id",
		"auctions": "products AS other ON other.id = product_id", "channel_messages": "channels AS other ON other.id = channel_id",
		"stream_keys": "streams AS other ON other.id = stream_id", "participants": "sessions AS other ON other.id = room_id",
		"recordings": "streams AS other ON other.id = stream_id", "invoices": "subscriptions AS other ON other.id = subscription_id",
		"tickets": "users AS other ON other.id = requester_id", "ticket_messages": "tickets AS other ON other.id = ticket_id",
	} {
		var foreign int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table+" AS own LEFT JOIN "+reference+
			" WHERE other.tenant_id IS DISTINCT FROM own.tenant_id").Scan(&foreign))
		require.Zero(t, foreign, "%s refer to another tenant's rows", table)
	}
	var found int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM orders WHERE id = ANY ($1)", []string{rows.ID("ord", 1), rows.ID("ord", 20)}).Scan(&found))
	require.Equal(t, 2, found, "ids of Go and of SQL")
	var half int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM streams WHERE tenant_id = $1", rows.Tenant()).Scan(&half))
	require.GreaterOrEqual(t, half, 20)
}

func TestSecondRunOfADayAddsNothing(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	morning := time.Now().UTC().Truncate(24 * time.Hour)
	for range 2 {
		rows, err := seed.New(small(), "", morning)
		require.NoError(t, err)
		require.NoError(t, rows.Write(t.Context(), pool, func(string, int, int) {}))
		morning = morning.Add(20 * time.Hour)
	}
	var n int
	for table, want := range map[string]int{"streams": 40, "stream_keys": 40, "audience_hours": 20, "audit_entries": 50} {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		require.Equal(t, want, n, table)
	}
	more := small()
	more.Streams++
	other, err := seed.New(more, "", morning)
	require.NoError(t, err)
	require.NoError(t, other.Write(t.Context(), pool, func(string, int, int) {}))
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM streams").Scan(&n))
	require.Equal(t, 81, n, "other counts have other ids")
	next, err := seed.New(small(), "", morning.Add(24*time.Hour))
	require.NoError(t, err)
	require.NoError(t, next.Write(t.Context(), pool, func(string, int, int) {}))
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM streams").Scan(&n))
	require.Equal(t, 121, n, "another day has other ids")
}

func TestCountsAreChecked(t *testing.T) {
	t.Parallel()
	for _, counts := range []seed.Counts{{}, {Tenants: 5, Streams: 9, Deliveries: 10, AuditEntries: 10, Rows: 10}} {
		_, err := seed.New(counts, "", time.Now())
		require.ErrorIs(t, err, seed.ErrTooFew)
	}
}

func TestTenantMustExist(t *testing.T) {
	t.Parallel()
	_, err := seed.New(small(), "x' OR true --", time.Now())
	require.ErrorIs(t, err, seed.ErrNoTenant)
	rows, err := seed.New(small(), "ten_01m8gb27d4f1yaxt3f5tx3mrkh", time.Now())
	require.NoError(t, err)
	require.ErrorIs(t, rows.Write(t.Context(), dbtest.New(t), func(string, int, int) {}), seed.ErrNoTenant)
}

// TestSumsHaveTheRows: the server had summed the hours before the rows were written.
func TestSumsHaveTheRows(t *testing.T) {
	t.Parallel()
	pool, now := dbtest.New(t), time.Now
	days := audit.NewDays(pool, now)
	require.NoError(t, days.CountDays(t.Context()))
	rows, err := seed.New(small(), "", now())
	require.NoError(t, err)
	require.NoError(t, rows.Write(t.Context(), pool, func(string, int, int) {}))
	require.NoError(t, days.CountDays(t.Context()))
	var summed int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT coalesce(sum(entries), 0) FROM audit_platform_days").Scan(&summed))
	require.GreaterOrEqual(t, summed, 49, "all but the entries of the last minutes")
}
