package audit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestEntriesCommitWithTheirChangeAndStay(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	write := func(e audit.Entry, fail error) error {
		return postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
			if err := audit.WriteTx(t.Context(), db.New(tx), now, e); err != nil {
				return err
			}
			return fail
		})
	}
	list := func() []db.AuditEntry {
		rows, err := db.New(pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: "ten_1", MaxRows: 10})
		require.NoError(t, err)
		return rows
	}
	changedMind := errors.New("changed my mind")
	entry := audit.Entry{
		Actor: audit.Actor{Type: "user", ID: "user_1", IP: "192.0.2.1", RequestID: "req_1"}, TenantID: "ten_1",
		Action: "stream.create", Entity: "stream", EntityID: "str_1", After: map[string]any{"name": "Launch"},
	}
	require.ErrorIs(t, write(entry, changedMind), changedMind)
	require.Empty(t, list())

	require.NoError(t, write(entry, nil))
	require.NoError(t, write(audit.Entry{Actor: audit.System("webhooks"), TenantID: "ten_1", Action: "webhook.disable", Entity: "webhook", EntityID: "wh_1", Reason: "gone"}, nil))
	rows := list()
	require.Len(t, rows, 2)
	require.Equal(t, "system", rows[0].ActorType, "newest first")
	require.Equal(t, "gone", *rows[0].Reason)
	require.Nil(t, rows[0].IP)
	require.Nil(t, rows[0].RequestID)
	require.Nil(t, rows[0].Before)
	require.Equal(t, now, rows[1].At.UTC())
	require.Equal(t, "192.0.2.1", *rows[1].IP)
	require.JSONEq(t, `{"name":"Launch"}`, string(rows[1].After))

	at := time.Date(2026, 5, 4, 12, 0, 0, 870e6, time.UTC)
	entry.After = map[string]any{"endsAt": at, "none": (*time.Time)(nil), "plan": map[string]any{"trialEndsAt": &at}}
	require.NoError(t, write(entry, nil))
	rows = list()
	require.JSONEq(t, `{"endsAt":"2026-05-04T12:00:00.870Z","none":null,"plan":{"trialEndsAt":"2026-05-04T12:00:00.870Z"}}`, string(rows[0].After))

	_, err := pool.Exec(t.Context(), "UPDATE audit_entries SET actor_id = 'nobody'")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "DELETE FROM audit_entries")
	require.NoError(t, err)
	require.Equal(t, rows, list(), "entries can't be changed or removed")

	require.Error(t, write(audit.Entry{Actor: audit.System("x"), After: func() {}}, nil), "a value without a JSON form")
	require.Error(t, write(audit.Entry{Actor: audit.Actor{Type: "robot"}}, nil))
}
