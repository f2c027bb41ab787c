package webhook_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestRetentionGoesOnUntilAllIsDeleted has more old rows than one statement deletes.
func TestRetentionGoesOnUntilAllIsDeleted(t *testing.T) {
	t.Parallel()
	const rows = 10_001
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)}) // DeleteOld deletes rows of all tenants
	hook := r.owner.Webhook(t, "http://127.0.0.1:1/")
	run := func(sql string, args ...any) {
		_, err := r.Pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	now := r.Clock.Now()
	run(`INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence, fanned_at)
		SELECT 'evt_' || n, $1, 'stream.started', 'str_1', '{}', $3::timestamptz, n, now() FROM generate_series(1, $2::int) n`, r.owner.TenantID, rows, now)
	run(`INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, sequence, status, created_at)
		SELECT 'del_' || n, $1, $2, 'evt_' || n, 'str_1', n, CASE n WHEN 7 THEN 'retrying' WHEN 8 THEN 'failed' ELSE 'delivered' END, $4::timestamptz
		FROM generate_series(1, $3::int) n`, r.owner.TenantID, hook.ID, rows, now)
	left := func() (deliveries, events int) {
		require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM webhook_deliveries), (SELECT count(*) FROM events)").
			Scan(&deliveries, &events))
		return deliveries, events
	}
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	deliveries, events := left()
	require.Equal(t, []int{rows, rows}, []int{deliveries, events}, "not old yet")
	r.Clock.Advance(31 * 24 * time.Hour)
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	deliveries, events = left()
	require.Equal(t, []int{1, 1}, []int{deliveries, events}, "waiting deliveries are kept with their events")
}

// TestDeletedEndpointsAreDeleted: 30 days later, once no delivery refers to them.
func TestDeletedEndpointsAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	kept, gone := r.owner.Webhook(t, "http://127.0.0.1:1/"), r.owner.Webhook(t, "http://127.0.0.1:1/")
	run := func(sql string, args ...any) {
		_, err := r.Pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	now := r.Clock.Now()
	run(`INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence, fanned_at)
		VALUES ('evt_1', $1, 'stream.started', 'str_1', '{}', $2::timestamptz, 1, now())`, r.owner.TenantID, now)
	run(`INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, sequence, status, created_at)
		VALUES ('del_1', $1, $2, 'evt_1', 'str_1', 1, 'retrying', $3)`, r.owner.TenantID, kept.ID, now)
	for _, hook := range []string{kept.ID, gone.ID} {
		r.owner.Call(t, "DELETE", "/v1/me/webhooks/"+hook, nil).Is(t, 200)
	}
	left := func() (ids []string) {
		require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT coalesce(array_agg(id), '{}') FROM webhook_endpoints").Scan(&ids))
		return ids
	}
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	require.Len(t, left(), 2, "not old yet")
	r.Clock.Advance(31 * 24 * time.Hour)
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	require.Equal(t, []string{kept.ID}, left())
	run("UPDATE webhook_deliveries SET status = 'failed'")
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	require.Empty(t, left())
}
