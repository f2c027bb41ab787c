package audit_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/sums"
	"showfloor/internal/testkit/dbtest"
)

// oldEntries writes an entry for each of the last 100 hours, whose ids have its time.
func oldEntries(t *testing.T, pool *pgxpool.Pool, now time.Time) {
	t.Helper()
	for n := range 100 {
		at := now.Add(-time.Duration(n) * time.Hour)
		require.NoError(t, db.New(pool).CreateAuditEntry(t.Context(), db.CreateAuditEntryParams{
			ID: id.Earliest(id.Audit, at), At: at, ActorType: "system", ActorID: "x", Action: "a.b", Entity: "a", EntityID: "a_1",
		}))
	}
}

// totals returns the number of entries before the mark, the sum of the days, and the number of rows that count nothing.
func totals(t *testing.T, pool *pgxpool.Pool) (entries, summed, zeros int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM audit_entries e WHERE e.at < u.until), (SELECT sum(d.entries) FROM audit_days d),
			(SELECT count(*) FROM audit_days d WHERE d.entries = 0)
		FROM summed_until u WHERE u.name = 'audit'`).Scan(&entries, &summed, &zeros))
	var differ int
	require.NoError(t, pool.QueryRow(t.Context(), `
		WITH days AS (SELECT day, actor_type, action, entity, sum(entries)::bigint FROM audit_days GROUP BY 1, 2, 3, 4)
		SELECT count(*) FROM ((TABLE days EXCEPT TABLE audit_platform_days) UNION ALL (TABLE audit_platform_days EXCEPT TABLE days)) d`).Scan(&differ))
	require.Zero(t, differ, "the sums of all tenants")
	return entries, summed, zeros
}

// meanwhile runs one in a transaction, and starts another one before its commit, which has to wait for it.
func meanwhile(t *testing.T, pool *pgxpool.Pool, one func(q *db.Queries) error, other func() error) {
	t.Helper()
	ended := make(chan error, 1)
	require.NoError(t, postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		if err := one(db.New(tx)); err != nil {
			return err
		}
		go func() { ended <- other() }()
		backend := tx.Conn().PgConn().PID()
		require.Eventually(t, func() bool {
			var waits bool
			err := pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid)))", backend).Scan(&waits)
			return err == nil && waits
		}, time.Minute, 5*time.Millisecond)
		return nil
	}))
	require.NoError(t, <-ended)
}

// TestRetentionAndCountsTakeTurns: entries that retention deletes while another server counts them are not counted, and a day
// without entries has no row.
func TestRetentionAndCountsTakeTurns(t *testing.T) {
	t.Parallel()
	now, keep := time.Now(), 50*time.Hour
	before := now.Add(-keep)
	for name, run := range map[string]func(pool *pgxpool.Pool){
		"retention first": func(pool *pgxpool.Pool) {
			meanwhile(t, pool, func(q *db.Queries) error {
				if err := q.AllowAuditRetention(t.Context()); err != nil {
					return err
				}
				p := db.DeleteAuditEntriesBeforeParams{BeforeID: id.Earliest(id.Audit, before), Before: before, MaxRows: 1000}
				n, err := q.DeleteAuditEntriesBefore(t.Context(), p)
				require.Greater(t, n, int64(40))
				return err
			}, func() error { return audit.NewDays(pool, func() time.Time { return now }).CountDays(t.Context()) })
		},
		"count first": func(pool *pgxpool.Pool) {
			until := now.Add(-time.Hour)
			meanwhile(t, pool, func(q *db.Queries) error {
				_, err := q.LockSummedUntil(t.Context(), db.LockSummedUntilParams{Name: sums.Audit, Before: until})
				require.NoError(t, err)
				require.NoError(t, q.WriteAuditDays(t.Context(), db.WriteAuditDaysParams{Until: until}))
				return q.SetSummedUntil(t.Context(), db.SetSummedUntilParams{Name: sums.Audit, Until: until})
			}, func() error {
				return audit.NewRetention(pool, keep, func() time.Time { return now }).DeleteOld(t.Context())
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.New(t)
			oldEntries(t, pool, now)
			run(pool)
			entries, summed, zeros := totals(t, pool)
			require.Equal(t, entries, summed)
			require.Less(t, entries, 51)
			require.Greater(t, entries, 40)
			require.Zero(t, zeros)
		})
	}
}
