package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

const (
	// prunedDays is the length of the benchmark in days of its clock: twice the longest retention, 30 days.
	prunedDays = 60
	// prunedRows is the number of rows that each table gets per day.
	prunedRows = 10_000
	// settledDay is the day from which the tables must not grow: the first deliveries are deleted on day 30.
	settledDay = 33
)

// prunedTables grow with the load and are pruned.
func prunedTables() []string {
	return []string{"river_job", "idempotency_keys", "events", "webhook_deliveries"}
}

// BenchmarkPruning runs 60 days of a steady load in fast motion: each day, every table that grows with the load gets 10,000 rows,
// all areas delete their old rows, and the tables are vacuumed, as autovacuum does in the meantime. It prints the rows and the size of
// each table over time, and fails if a table goes on growing after the longest retention. deleted/s is the speed of the
// deletion, over all tables.
func BenchmarkPruning(b *testing.B) {
	now := time.Now()
	a := newServicesAt(b, hub.New(hub.Config{}), func() time.Time { return now })
	_, err := a.pool.Exec(b.Context(), `INSERT INTO webhook_endpoints (id, tenant_id, url, events, secret, created_at, updated_at)
		VALUES ('wh_1', $1, 'https://acme.example', '{}', '', now(), now())`, a.caller.TenantID)
	require.NoError(b, err)
	var sizes []map[string]tableSize
	var deleted int64
	var took time.Duration
	for b.Loop() {
		for day := range prunedDays {
			a.writeDay(b, day, now)
			now = now.Add(24 * time.Hour)
			before, start := a.sizes(b), time.Now()
			for name, area := range a.Keepers() {
				require.NoError(b, area.DeleteOld(b.Context()), name)
			}
			took += time.Since(start)
			_, err := a.pool.Exec(b.Context(), `VACUUM ANALYZE `+strings.Join(prunedTables(), ", "))
			require.NoError(b, err)
			sizes = append(sizes, a.sizes(b))
			for table, after := range sizes[len(sizes)-1] {
				deleted += before[table].rows - after.rows
			}
		}
	}
	b.Log(sizesOverTime(sizes))
	for _, table := range prunedTables() {
		settled, last := sizes[settledDay][table], sizes[len(sizes)-1][table]
		require.LessOrEqual(b, last.rows, settled.rows, table)
		require.LessOrEqual(b, last.bytes, settled.bytes*11/10, table)
		b.ReportMetric(float64(last.bytes)/(1<<20), table+"-MiB")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(deleted)/took.Seconds(), "deleted/s")
}

// writeDay writes the rows of one day, as the server leaves them when the requests and deliveries are done.
func (a *services) writeDay(b *testing.B, day int, now time.Time) {
	b.Helper()
	for _, statement := range []string{
		`INSERT INTO idempotency_keys (tenant_id, key, fingerprint, run_id, created_at, lease_until, committed_at, status, content_type, body)
		 SELECT '{tenant}', 'key-{day}-' || i, sha256(''), 'run', {now}, {now}, {now}, 201, 'application/json', decode(repeat('00', 300), 'hex') FROM {i}`,
		`INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence)
		 SELECT 'evt_{day}_' || i, '{tenant}', 'product.upserted', 'prod_' || i,
		     '{"event":"product.upserted","tenantId":"{tenant}","occurredAt":"2026-01-01T00:00:00.000Z","data":{}}', {now}, {day} FROM {i}`,
		`INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, sequence, next_attempt_at, created_at)
		 SELECT 'del_{day}_' || i, '{tenant}', 'wh_1', 'evt_{day}_' || i, 'prod_' || i, {day}, {now}, {now} FROM {i}`,
		`UPDATE webhook_deliveries SET status = 'delivered', attempts = 1, tries = 1, next_attempt_at = NULL, response_status = 204, delivered_at = {now},
		     log = '[{"at": "2026-01-01T00:00:00Z", "durationMs": 12, "responseStatus": 204, "error": null}]' WHERE status = 'pending'`,
		`INSERT INTO river_job (kind, queue, state, max_attempts, attempt, args, finalized_at, attempted_at)
		 SELECT 'webhook_deliver', 'webhooks', 'completed', 25, 1, jsonb_build_object('deliveryId', 'del_{day}_' || i), {now}, {now} FROM {i}`,
	} {
		statement = strings.NewReplacer("{tenant}", a.caller.TenantID, "{day}", fmt.Sprintf("%03d", day),
			"{i}", fmt.Sprintf("generate_series(1, %d) AS i", prunedRows), "{now}", "'"+now.UTC().Format(time.RFC3339)+"'::timestamptz").Replace(statement)
		_, err := a.pool.Exec(b.Context(), statement)
		require.NoError(b, err, statement)
	}
}

// tableSize is the size of a table with its indexes and TOAST.
type tableSize struct{ rows, bytes int64 }

func (a *services) sizes(b *testing.B) map[string]tableSize {
	b.Helper()
	sizes := map[string]tableSize{}
	for _, table := range prunedTables() {
		var s tableSize
		err := a.pool.QueryRow(context.WithoutCancel(b.Context()), `SELECT (SELECT count(*) FROM `+table+`), pg_total_relation_size('`+table+`')`).
			Scan(&s.rows, &s.bytes)
		require.NoError(b, err)
		sizes[table] = s
	}
	return sizes
}

// sizesOverTime is a table of every fifth day.
func sizesOverTime(sizes []map[string]tableSize) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%4s", "day")
	for _, table := range prunedTables() {
		fmt.Fprintf(&text, "  %28s", table)
	}
	for day := 4; day < len(sizes); day += 5 {
		fmt.Fprintf(&text, "\n%4d", day+1)
		for _, table := range prunedTables() {
			s := sizes[day][table]
			fmt.Fprintf(&text, "  %9d rows %8.1f MiB", s.rows, float64(s.bytes)/(1<<20))
		}
	}
	return text.String()
}
