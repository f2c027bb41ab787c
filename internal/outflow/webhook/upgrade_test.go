package webhook_test

import (
	"context"
	"io/fs"
	"log/slog"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/schema"
)

// The statements with which a server of the previous version emits events, and writes deliveries in a
// job if there are too many for the transaction of the events. Names of arguments are numbers.
const (
	oldCountEvents = `INSERT INTO event_subjects AS s (tenant_id, subject, sequence)
SELECT $1, unnest($2::text[]), unnest($3::bigint[]) FROM (SELECT mark_emitting() AS done OFFSET 0) m WHERE m.done
ON CONFLICT (tenant_id, subject) DO UPDATE SET sequence = s.sequence + excluded.sequence
RETURNING s.sequence`
	oldCreateEvents = `INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence)
SELECT unnest($1::text[]), $2, unnest($3::text[]), unnest($4::text[]), unnest($5::text[])::json, $6::timestamptz,
    unnest($7::bigint[])`
	oldListEndpointsForEvents = `SELECT id, events, EXISTS (
    SELECT FROM event_fanouts f WHERE f.tenant_id = $1 AND f.subject = ANY ($2::text[])
)::boolean AS deferred FROM webhook_endpoints
WHERE tenant_id = $1 AND deleted_at IS NULL AND status = 'active'
  AND (cardinality(events) = 0 OR events && $3::text[])
ORDER BY id`
	oldCreateEventFanouts = `INSERT INTO event_fanouts (event_id, tenant_id, subject, sequence, endpoint_ids, created_at)
SELECT unnest($1::text[]), $2, unnest($3::text[]), unnest($4::bigint[]),
    string_to_array(unnest($5::text[]), ','), $6::timestamptz`
	oldCreateWebhookDelivery = `INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, sequence, next_attempt_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`
	oldListEventFanouts = `SELECT event_id, subject, cardinality(endpoint_ids)::integer AS deliveries FROM event_fanouts
WHERE tenant_id = $1 ORDER BY subject, sequence LIMIT $2`
	oldTakeEventFanouts = `WITH taken AS (
    DELETE FROM event_fanouts f WHERE f.tenant_id = $1 AND f.event_id = ANY ($2::text[])
    RETURNING f.event_id, f.subject, f.sequence, f.endpoint_ids
)
SELECT event_id, endpoint_ids FROM taken ORDER BY subject, sequence`
	oldDeleteEventsBefore = `DELETE FROM events WHERE id = ANY (ARRAY(
    SELECT e.id FROM events e WHERE e.occurred_at < $1 AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id)
    AND NOT EXISTS (SELECT 1 FROM event_fanouts f WHERE f.event_id = e.id)
    ORDER BY e.occurred_at LIMIT $2))`
)

// taken is an event with the endpoints that get it.
type taken struct {
	ID        string
	Endpoints []string
}

func query(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) []taken {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[taken])
	require.NoError(t, err)
	return list
}

// emitAsBefore emits an event as a server of the previous version does. If deferred is set, the
// event's delivery is left to a job because there are too many; it also is while the subject has
// waiting events.
func (r *rig) emitAsBefore(t *testing.T, eventID, subject string, deferred bool) {
	t.Helper()
	require.NoError(t, postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		ctx, tenantID, now, names := t.Context(), r.owner.TenantID, r.Clock.Now(), []string{"stream.started"}
		var sequence int64
		require.NoError(t, tx.QueryRow(ctx, oldCountEvents, tenantID, []string{subject}, []int64{1}).Scan(&sequence))
		_, err := tx.Exec(ctx, oldCreateEvents, []string{eventID}, tenantID, names, []string{subject}, []string{"{}"}, now, []int64{sequence})
		require.NoError(t, err)
		var endpointID string
		var events []string
		var waiting bool
		require.NoError(t, tx.QueryRow(ctx, oldListEndpointsForEvents, tenantID, []string{subject}, names).Scan(&endpointID, &events, &waiting))
		if deferred || waiting {
			_, err = tx.Exec(ctx, oldCreateEventFanouts, []string{eventID}, tenantID, []string{subject}, []int64{sequence}, []string{endpointID}, now)
		} else {
			_, err = tx.Exec(ctx, oldCreateWebhookDelivery, "wd_"+eventID, tenantID, endpointID, eventID, subject, sequence, now)
		}
		require.NoError(t, err)
		return nil
	}))
}

// delivered lists the sequences of the subject's deliveries in the order in which they were written.
func (r *rig) delivered(t *testing.T, subject string) []int64 {
	t.Helper()
	rows, err := r.Pool.Query(t.Context(), `SELECT sequence FROM webhook_deliveries WHERE tenant_id = $1 AND subject = $2
		ORDER BY xmin::text::bigint, sequence`, r.owner.TenantID, subject)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(t, err)
	return list
}

// TestServersOfThePreviousVersionEmit runs the statements of such a server on the upgraded database,
// beside a server of this version. No delivery is lost or written twice, and none before the delivery
// of an earlier event of its subject.
func TestServersOfThePreviousVersionEmit(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	hook := r.owner.Webhook(t, "http://127.0.0.1:1/")
	r.emitAsBefore(t, "evt_1", "str_1", false)
	require.Zero(t, r.waiting(t), "it has its delivery")
	require.NoError(t, r.commit(t, "stream.started", "str_1"))
	r.emitAsBefore(t, "evt_3", "str_1", false)
	require.Equal(t, 2, r.waiting(t), "the third has to wait for the second")
	require.Equal(t, []int64{1}, r.delivered(t, "str_1"))
	r.FanOut(t, r.owner.TenantID)
	require.Equal(t, []int64{1, 2, 3}, r.delivered(t, "str_1"))
	r.emitAsBefore(t, "evt_4", "str_1", false)
	require.Zero(t, r.waiting(t))
	require.Equal(t, []int64{1, 2, 3, 4}, r.delivered(t, "str_1"))

	r.emitAsBefore(t, "evt_5", "str_1", true)
	require.Equal(t, 1, r.waiting(t))
	_, err := r.Pool.Exec(t.Context(), oldDeleteEventsBefore, r.Clock.Now().Add(time.Hour), 100)
	require.NoError(t, err)
	r.FanOut(t, r.owner.TenantID)
	require.Equal(t, []int64{1, 2, 3, 4, 5}, r.delivered(t, "str_1"))

	// Its jobs may take the waiting events of any server.
	require.NoError(t, r.commit(t, "stream.started", "str_2"))
	r.emitAsBefore(t, "evt_7", "str_2", true)
	var ids []string
	rows, err := r.Pool.Query(t.Context(), oldListEventFanouts, r.owner.TenantID, 100)
	require.NoError(t, err)
	for rows.Next() {
		var id, subject string
		var deliveries int32
		require.NoError(t, rows.Scan(&id, &subject, &deliveries))
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []taken{{ids[0], []string{hook.ID}}, {"evt_7", []string{hook.ID}}}, query(t, r.Pool, oldTakeEventFanouts, r.owner.TenantID, ids))
	require.Empty(t, query(t, r.Pool, oldTakeEventFanouts, r.owner.TenantID, ids))
	require.Zero(t, r.waiting(t))
	r.FanOut(t, r.owner.TenantID)
	require.Empty(t, r.delivered(t, "str_2"), "the job writes them")
	r.once(t)
}

// migratedBefore returns a database with the schema before the file.
func migratedBefore(t *testing.T, file string) *pgxpool.Pool {
	t.Helper()
	pool, before := dbtest.NewEmpty(t), fstest.MapFS{}
	files, err := fs.Glob(schema.FS, "*.sql")
	require.NoError(t, err)
	for _, name := range files {
		if name < file {
			content, err := fs.ReadFile(schema.FS, name)
			require.NoError(t, err)
			before[name] = &fstest.MapFile{Data: content}
		}
	}
	require.NoError(t, postgres.Migrate(t.Context(), pool, before, nil, slog.New(slog.DiscardHandler)))
	for _, statement := range []string{
		`INSERT INTO tenants (id, name, created_at, updated_at) VALUES ('ten_1', 'One', now(), now())`,
		`INSERT INTO webhook_endpoints (id, tenant_id, url, events, secret, created_at, updated_at)
			VALUES ('wh_1', 'ten_1', 'https://example.com/', '{}', '', now(), now())`,
		`INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence) SELECT 'evt_' || n, 'ten_1', 'stream.started', 'str_1', '{}', now(), n
			FROM generate_series(1, 4) n`,
		`INSERT INTO event_fanouts (event_id, tenant_id, subject, sequence, endpoint_ids, created_at)
			VALUES ('evt_3', 'ten_1', 'str_1', 3, '{wh_1,wh_2}', now()), ('evt_4', 'ten_1', 'str_1', 4, '{wh_2}', now())`,
		`INSERT INTO river_job (kind, args, max_attempts, queue)
			VALUES ('webhook_fan_out', '{}', 25, 'webhook_fanouts'), ('webhook_deliver', '{}', 25, 'webhooks')`,
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	return pool
}

// TestTheUpgradeKeepsWaitingEvents upgrades a database in which some events wait for their deliveries
// in the table event_fanouts, which the upgrade replaces.
func TestTheUpgradeKeepsWaitingEvents(t *testing.T) {
	t.Parallel()
	pool := migratedBefore(t, "0044")
	require.NoError(t, postgres.Migrate(t.Context(), pool, schema.FS, schema.SearchIndexes(), slog.New(slog.DiscardHandler)))
	require.Equal(t, []taken{{"evt_3", []string{"wh_1", "wh_2"}}, {"evt_4", []string{"wh_2"}}},
		query(t, pool, "SELECT id, endpoint_ids FROM events WHERE fanned_at IS NULL ORDER BY sequence"))
	var kinds []string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT array_agg(kind) FROM river_job").Scan(&kinds))
	require.Equal(t, []string{"webhook_deliver"}, kinds)
}

// TestTheUpgradeWaitsForRunningTransactions upgrades while a server of the previous version is in
// transactions that lock events and event_fanouts, in both orders. Its next statements still run: those
// of the transactions and, with the plans that the connections keep, those after the upgrade.
func TestTheUpgradeWaitsForRunningTransactions(t *testing.T) {
	t.Parallel()
	pool := migratedBefore(t, "0044")
	emits, fansOut := begin(t, pool), begin(t, pool)
	now, names := time.Now(), []string{"stream.ended"}
	var waiting bool
	endpoints := func(c querier) {
		require.NoError(t, c.QueryRow(t.Context(), oldListEndpointsForEvents, "ten_1", []string{"str_1"}, names).Scan(nil, nil, &waiting))
		require.True(t, waiting)
	}
	create := func(c querier, id string) {
		_, err := c.Exec(t.Context(), oldCreateEvents, []string{id}, "ten_1", names, []string{"str_1"}, []string{"{}"}, now, []int64{5})
		require.NoError(t, err)
	}
	create(emits, "evt_5")
	_, err := fansOut.Exec(t.Context(), oldTakeEventFanouts, "ten_1", []string{"evt_3"})
	require.NoError(t, err)
	_, err = fansOut.Exec(t.Context(), "SELECT 1") // ends the last statement's snapshot, for which the build of an index waits
	require.NoError(t, err)

	migrated := make(chan error, 1)
	go func() {
		migrated <- postgres.Migrate(t.Context(), pool, schema.FS, schema.SearchIndexes(), slog.New(slog.DiscardHandler))
	}()
	waitForLock(t, pool, "events")
	endpoints(emits)
	_, err = emits.Exec(t.Context(), oldCreateEventFanouts, []string{"evt_5"}, "ten_1", []string{"str_1"}, []int64{5}, []string{"wh_1"}, now)
	require.NoError(t, err)
	require.NoError(t, emits.Commit(t.Context()))
	waitForLock(t, pool, "event_fanouts")
	_, err = fansOut.Exec(t.Context(), oldCreateWebhookDelivery, "wd_3", "ten_1", "wh_1", "evt_3", "str_1", 3, now)
	require.NoError(t, err)
	require.NoError(t, fansOut.Commit(t.Context()))
	require.NoError(t, <-migrated)

	require.Equal(t, []taken{{"evt_4", []string{"wh_2"}}, {"evt_5", []string{"wh_1"}}},
		query(t, pool, "SELECT id, endpoint_ids FROM events WHERE fanned_at IS NULL ORDER BY sequence"))
	create(emits.Conn(), "evt_6")
	endpoints(emits.Conn())
	list, err := fansOut.Conn().Query(t.Context(), oldTakeEventFanouts, "ten_1", []string{"evt_4", "evt_5"})
	require.NoError(t, err)
	took, err := pgx.CollectRows(list, pgx.RowToStructByPos[taken])
	require.NoError(t, err)
	require.Len(t, took, 2)
}

// querier is a transaction or its connection after the commit.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func begin(t *testing.T, pool *pgxpool.Pool) pgx.Tx { //nolint:ireturn // as pgx has it
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	return tx
}

// waitForLock waits until a transaction waits for a lock on the table.
func waitForLock(t *testing.T, pool *pgxpool.Pool, table string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waits bool
		err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks
			WHERE relation = to_regclass($1) AND NOT granted AND mode = 'AccessExclusiveLock')`, table).Scan(&waits)
		return err == nil && waits
	}, 30*time.Second, 5*time.Millisecond)
}
