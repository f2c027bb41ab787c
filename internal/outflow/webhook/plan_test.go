package webhook_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/testkit/dbtest"
)

// TestPlansStandOldStatistics: after many deliveries at once, the database's
// statistics say for a minute or more that hardly any delivery is open. The
// statements of every delivery must still find their rows one by one: a plan that
// reads all open ones for each row took 39 s for 500 new deliveries beside
// 100,000.
func TestPlansStandOldStatistics(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	const fill = `INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, sequence, status, created_at, next_attempt_at, next_id)
		SELECT $1 || lpad(n::text, 8, '0'), 'ten_1', 'wh_' || n % 5, 'evt_1', 'prod_' || n / 5, 1, $2, now(), CASE WHEN $2 = 'pending' THEN now() END,
			CASE WHEN $2 = 'pending' AND n % 10 = 0 THEN 'del_next' END
		FROM generate_series(1, 20000) n`
	for _, constraint := range []string{"tenant_id", "endpoint_id", "event_id"} {
		_, err := pool.Exec(t.Context(), "ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_"+constraint+"_fkey")
		require.NoError(t, err)
	}
	_, err := pool.Exec(t.Context(), "ALTER TABLE webhook_deliveries SET (autovacuum_enabled = false)")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), fill, "del_a", "delivered")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "ANALYZE webhook_deliveries")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), fill, "del_b", "pending")
	require.NoError(t, err)

	texts, numbers, times := make([]string, 200), make([]int32, 200), make([]time.Time, 200)
	for name, c := range map[string]struct {
		query   string
		args    []any
		indexes []string
	}{
		"RecordLoneAttempts": {
			db.RecordLoneAttempts,
			[]any{texts, texts, numbers, texts, times, numbers, texts, numbers, texts, texts, times, make([]bool, 200)},
			[]string{"webhook_deliveries_pkey", "webhook_deliveries_pkey"},
		},
		"JoinLines": {
			db.JoinLines, []any{texts, texts, texts, texts},
			[]string{"webhook_deliveries_lane_idx", "webhook_deliveries_pkey", "webhook_deliveries_pkey"},
		},
	} {
		var plan string
		require.NoError(t, pool.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+c.query, c.args...).Scan(&plan), name)
		require.NotContains(t, plan, `"Seq Scan"`, name)
		var indexes []string
		for _, found := range regexp.MustCompile(`"Index Name": "(\w+)"`).FindAllStringSubmatch(plan, -1) {
			indexes = append(indexes, found[1])
		}
		require.Equal(t, c.indexes, indexes, "%s: %s", name, plan)
	}
}

// TestFanOutReadsWaitingEventsOnly checks the statements that look for waiting events, with statistics
// from a time when all events waited: they must read the index of these few, not all events of a tenant.
func TestFanOutReadsWaitingEventsOnly(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	for _, statement := range []string{
		"ALTER TABLE events SET (autovacuum_enabled = false)",
		`INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence, endpoint_ids, fanned_at)
			SELECT 'evt_' || n, 'ten_' || n % 3, 'stream.started', 'str_' || n, '{}', now(), 1, '{wh_1}', NULL FROM generate_series(1, 20000) n`,
		"ANALYZE events",
		"UPDATE events SET fanned_at = now(), endpoint_ids = '{}' WHERE position > 100",
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	for name, c := range map[string]struct {
		query string
		args  []any
	}{
		"ListWaitingTenants": {db.ListWaitingTenants, []any{50, ""}},
		"TakeWaitingEvents":  {db.TakeWaitingEvents, []any{[]string{"ten_1", "ten_2"}, 50, time.Now(), 500}},
	} {
		var plan string
		require.NoError(t, pool.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+c.query, c.args...).Scan(&plan), name)
		require.Contains(t, plan, "events_waiting_idx", name)
		require.NotContains(t, plan, "events_feed_idx", name)
		require.NotContains(t, plan, `"Seq Scan"`, name)
	}
}

// TestEndpointsAreReadOnceForEachName checks that the statement that writes events reads the tenant's endpoints in one
// place, "matched", and not once more for each event.
func TestEndpointsAreReadOnceForEachName(t *testing.T) {
	t.Parallel()
	pool, texts := dbtest.New(t), make([]string, 500)
	var plan string
	require.NoError(t, pool.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+db.CreateEvents,
		texts, texts, texts, texts, "ten_1", time.Now()).Scan(&plan))
	require.Equal(t, 1, strings.Count(plan, `"Relation Name": "webhook_endpoints"`), plan)
	_, matched, _ := strings.Cut(plan, `"CTE matched"`)
	require.Contains(t, matched, `"Relation Name": "webhook_endpoints"`, plan)
}
