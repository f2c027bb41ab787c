package audit_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/dbtest"
)

// TestRetentionDeletesOldEntriesOnly: retention deletes older entries, and none when entries are
// kept forever; no other statement can delete entries.
func TestRetentionDeletesOldEntriesOnly(t *testing.T) {
	t.Parallel()
	pool, now := dbtest.New(t), time.Now()
	write := func(action string, at time.Time) {
		require.NoError(t, postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
			return audit.WriteTx(t.Context(), db.New(tx), at, audit.Entry{Actor: audit.System("x"), Action: action})
		}))
	}
	actions := func() []string {
		rows, err := pool.Query(t.Context(), "SELECT action FROM audit_entries ORDER BY action")
		require.NoError(t, err)
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return list
	}
	write("kept", now)
	write("old", now.Add(-40*24*time.Hour))
	const month = 30 * 24 * time.Hour
	later := func(by time.Duration) func() time.Time { return func() time.Time { return now.Add(by) } }
	require.NoError(t, audit.NewRetention(pool, 0, later(1000*month)).DeleteOld(t.Context()))
	_, err := pool.Exec(t.Context(), "DELETE FROM audit_entries")
	require.NoError(t, err)
	require.Equal(t, []string{"kept", "old"}, actions())

	// The ids of both have today's time, as after a clock that was wrong: no entry is deleted too early.
	require.NoError(t, audit.NewRetention(pool, month, later(0)).DeleteOld(t.Context()))
	require.Equal(t, []string{"kept", "old"}, actions())
	require.NoError(t, audit.NewRetention(pool, month, later(month-time.Hour)).DeleteOld(t.Context()))
	require.Equal(t, []string{"kept", "old"}, actions())
	require.NoError(t, audit.NewRetention(pool, month, later(month+time.Hour)).DeleteOld(t.Context()))
	require.Empty(t, actions())
	require.NoError(t, audit.NewRetention(pool, month, later(month+time.Hour)).DeleteOld(t.Context()), "twice")
}
