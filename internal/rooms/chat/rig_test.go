package chat_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// rig is a tenant on two servers that share only a database.
type rig struct {
	s, other *apitest.Server
	owner    *apitest.Caller
	caller   tenancy.Caller
}

func newRig(t testing.TB) *rig {
	t.Helper()
	pool := dbtest.Shared(t)
	r := &rig{s: apitest.New(t, apitest.Options{Pool: pool}), other: apitest.New(t, apitest.Options{Pool: pool})}
	r.owner = r.s.Register(t)
	r.caller = tenancy.Caller{TenantID: r.owner.TenantID, UserID: r.owner.UserID}
	return r
}

// service is the service of one of the two servers.
func (r *rig) service(n int) *chat.Service {
	if n%2 == 0 {
		return r.s.Chat
	}
	return r.other.Chat
}

// as is the caller for a participant of a room.
func (r *rig) as(roomID, userID string) tenancy.Caller {
	return tenancy.Caller{TenantID: r.owner.TenantID, Participant: &tenancy.Participant{RoomID: roomID, UserID: userID}}
}

// in makes a user a participant of a room, or changes its role and state there.
func (r *rig) in(t testing.TB, roomID, userID, role, state string) {
	t.Helper()
	_, err := r.s.Pool.Exec(t.Context(), `INSERT INTO participants
		(room_id, user_id, tenant_id, display_name, role, can_publish_screen, state, joined_at, created_at, updated_at)
		VALUES ($1, $2, $3, upper($2), $4, false, $5, now(), current_timestamp, transaction_timestamp())
		ON CONFLICT (room_id, user_id) DO UPDATE SET role = excluded.role, state = excluded.state, display_name = excluded.display_name`, roomID, userID, r.owner.TenantID, role, state)
	require.NoError(t, err)
}

func message(userID, text string) chat.Input {
	return chat.Input{Body: text, AuthorID: userID, AuthorName: "User " + userID}
}

// say writes a message through server n modulo 2.
func (r *rig) say(t testing.TB, n int, channelID, userID, text string) (db.ChannelMessage, error) {
	t.Helper()
	return r.service(n).SendChannelMessage(t.Context(), r.caller, channelID, message(userID, text))
}

// said returns a channel's messages in the order of their ids.
func (r *rig) said(t testing.TB, channelID string) (texts []string) {
	t.Helper()
	rows, err := r.s.Pool.Query(t.Context(), "SELECT coalesce(body, '-') FROM channel_messages WHERE channel_id = $1 ORDER BY id", channelID)
	require.NoError(t, err)
	texts, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return texts
}

// happened is an event of a channel.
type emitted struct {
	Event string
	Data  map[string]any
}

// events returns the channel's events, in order.
func (r *rig) events(t testing.TB, channelID string) (list []emitted) {
	t.Helper()
	all, err := db.New(r.s.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	for _, e := range all {
		if e.Subject == channelID+"/chat" {
			var h emitted
			require.NoError(t, json.Unmarshal(e.Payload, &h))
			list = append(list, h)
		}
	}
	return list
}

// refused requires a problem with this code.
func refused(t testing.TB, err error, code string) {
	t.Helper()
	require.True(t, problem.Is(err, code), "%v", err)
}

// stop locks the channel's row until release is called. tx holds the lock and may
// change the row.
func (r *rig) stop(t testing.TB, channelID string) (tx pgx.Tx, release func()) { //nolint:ireturn // as pgx has it
	t.Helper()
	tx, err := r.s.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	_, err = tx.Exec(t.Context(), "SELECT FROM channels WHERE id = $1 FOR UPDATE", channelID)
	require.NoError(t, err)
	return tx, func() { require.NoError(t, tx.Commit(t.Context())) }
}

// waiters returns once n transactions wait for the channel's row, which tx has
// locked.
func (r *rig) waiters(t testing.TB, tx pgx.Tx, n int) {
	t.Helper()
	apitest.Until(t, "transactions at the lock", func() bool {
		var waiting int
		err := r.s.Pool.QueryRow(t.Context(), `WITH RECURSIVE behind AS (
			SELECT pid FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))
			UNION SELECT s.pid FROM pg_stat_activity s, behind b WHERE b.pid = ANY (pg_blocking_pids(s.pid)))
			SELECT count(*) FROM behind`, tx.Conn().PgConn().PID()).Scan(&waiting)
		require.NoError(t, err)
		return waiting >= n
	})
}
