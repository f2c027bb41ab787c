package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/rooms/session"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const retentionMonth = 30 * 24 * time.Hour

// kept is a server whose sessions, rooms and channels have rows in every table that
// refers to a session.
type kept struct {
	*apitest.Server

	owner *apitest.Caller
}

func newKept(t *testing.T) *kept {
	t.Helper()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)}) // its own database: retention deletes sessions of all tenants
	return &kept{s, s.Register(t)}
}

// session opens a session that has been used, with a breakout room.
func (k *kept) session(t *testing.T) (ids []string) {
	t.Helper()
	made := k.owner.Session(t, map[string]any{"inviteUserIds": []string{"ben"}, "transcriptionEnabled": true})
	k.used(t, made.ID)
	var rooms []api.Session
	k.owner.Call(t, "POST", "/v1/me/sessions/"+made.ID+"/breakouts", map[string]any{"count": 1, "assignments": map[string]any{"1": []string{"ben"}}}).
		Into(t, 201, &rooms)
	k.used(t, rooms[0].ID)
	return []string{made.ID, rooms[0].ID}
}

// used writes rows of every kind in a room.
func (k *kept) used(t *testing.T, roomID string) {
	t.Helper()
	k.owner.Join(t, roomID, "ada", nil)
	k.owner.Say(t, roomID, "ada", "hello").Is(t, 201)
	k.owner.Call(t, "POST", "/v1/me/channels/"+roomID+"/moderate/mute", map[string]any{"target": "ben", "by": "ada"}).Is(t, 201)
	k.owner.Call(t, "POST", "/v1/me/sessions/"+roomID+"/captions", map[string]any{"userId": "ada", "key": "1", "text": "hello"}).Is(t, 201)
	require.NoError(t, db.New(k.Pool).SaveSummaryPart(t.Context(), db.SaveSummaryPartParams{
		SessionID: roomID, TenantID: k.owner.TenantID, Answer: []byte("{}"), Now: k.Clock.Now(),
	}))
	_, err := db.New(k.Pool).CreateUtterance(t.Context(), db.CreateUtteranceParams{
		ID: "utt_" + roomID, TenantID: k.owner.TenantID, SessionID: roomID, UserID: "ada", Sound: []byte("x"), Now: k.Clock.Now(),
		SpeakerMost: 1, SessionMost: 1, TenantMost: 100,
	})
	require.NoError(t, err)
	require.NoError(t, db.New(k.Pool).CreatePin(t.Context(), db.CreatePinParams{
		ID: "pin_" + roomID, TenantID: k.owner.TenantID, RoomID: roomID, ProductID: "prod_1", PinnedBy: "ada", Now: k.Clock.Now(),
	}))
}

func (k *kept) end(t *testing.T, id string) {
	t.Helper()
	k.owner.Call(t, "POST", "/v1/me/sessions/"+id+"/end", nil).Is(t, 201)
}

// rows returns all rows of all tables, each prefixed with its table's name.
func (k *kept) rows(t *testing.T) (list []string) {
	t.Helper()
	tables, err := k.Pool.Query(t.Context(), "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'river%' ORDER BY 1")
	require.NoError(t, err)
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	require.NoError(t, err)
	for _, name := range names {
		found, err := k.Pool.Query(t.Context(), "SELECT $1 || ' ' || t::text FROM "+pgx.Identifier{name}.Sanitize()+" t ORDER BY 1", name)
		require.NoError(t, err)
		texts, err := pgx.CollectRows(found, pgx.RowTo[string])
		require.NoError(t, err)
		list = append(list, texts...)
	}
	return list
}

// retain deletes sessions that ended longer ago than keep, as of later from now.
func (k *kept) retain(t *testing.T, keep, later time.Duration) {
	t.Helper()
	now := func() time.Time { return k.Clock.Now().Add(later) }
	require.NoError(t, session.NewRetention(k.Pool, keep, now, k.Chat, k.Calls, k.Transcripts, k.Speech, k.Summaries).DeleteOld(t.Context()))
}

// naming returns the rows that contain the id of one of the sessions.
func naming(rows, ids []string) (found []string) {
	for _, row := range rows {
		if slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(row, id) }) {
			found = append(found, row)
		}
	}
	return found
}

// staying lists the tables whose rows may name a deleted session.
var staying = []string{"events", "audit_entries"}

// tableOf is the table's name in a row of rows.
func tableOf(row string) string {
	name, _, _ := strings.Cut(row, " ")
	return name
}

// TestRetentionDeletesSessionsWithAllOfTheirs: and deletes nothing else. Events,
// audit entries and usage stay.
func TestRetentionDeletesSessionsWithAllOfTheirs(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	old := k.session(t)
	k.end(t, old[0])
	call := k.owner.Ring(t, nil)
	old = append(old, call.SessionID)
	k.owner.Call(t, "POST", "/v1/me/calls/"+call.SessionID+"/decline", map[string]any{"userId": "ben"}).Is(t, 201)
	live, ringing := k.session(t), k.owner.Ring(t, nil)
	group := k.owner.Channel(t, nil)
	k.owner.Say(t, group.ID, "ada", "hello").Is(t, 201)
	k.owner.Say(t, k.owner.Stream(t, nil).ID, "ada", "hello").Is(t, 201)
	k.Clock.Advance(retentionMonth)
	k.owner = k.owner.LogInAgain(t)
	recent := k.session(t)
	k.end(t, recent[0])

	before := k.rows(t)
	k.retain(t, 0, 1000*retentionMonth)
	require.Equal(t, before, k.rows(t), "forever by default")
	k.retain(t, retentionMonth, -time.Second)
	require.Equal(t, before, k.rows(t), "not before their time")

	k.retain(t, retentionMonth, time.Second)
	after := k.rows(t)
	var tables []string
	for _, row := range before {
		if !slices.Contains(after, row) {
			require.NotEmpty(t, naming([]string{row}, old), "%s is no expired session's", row)
			tables = append(tables, tableOf(row))
		}
	}
	slices.Sort(tables)
	require.Equal(t, []string{
		"calls", "channel_members", "channel_messages", "channel_moderation", "channel_restrictions", "channels", "event_subjects", "participants", "product_pins", "sessions",
		"summary_parts", "transcript_lines", "transcript_sizes", "utterances",
	}, slices.Compact(tables))
	for _, row := range naming(after, old) {
		require.Contains(t, staying, tableOf(row), row)
	}
	for _, row := range after {
		require.Contains(t, before, row, "nothing is written")
	}
	for _, id := range old {
		k.owner.Call(t, "GET", "/v1/me/sessions/"+id, nil).Problem(t, 404, "not_found")
		k.owner.Say(t, id, "ada", "late").Problem(t, 404, "not_found")
	}
	for _, id := range []string{live[0], live[1], ringing.SessionID, recent[0], recent[1], group.ID} {
		require.NotEmpty(t, naming(after, []string{id}))
	}
	k.retain(t, retentionMonth, time.Second)
	require.Equal(t, after, k.rows(t), "again: nothing is left")
}

// TestRetentionGoesOnAfterAnInterruption: sessions may be deleted in part, and
// there may be more of them than one transaction deletes.
func TestRetentionGoesOnAfterAnInterruption(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	old := k.session(t)
	k.end(t, old[0])
	_, err := k.Pool.Exec(t.Context(), "DELETE FROM participants WHERE room_id = $1", old[0])
	require.NoError(t, err)
	_, err = k.Pool.Exec(t.Context(), `INSERT INTO sessions (id, tenant_id, type, name, host_id, capacity, layout, state, started_at, ended_at, created_at, updated_at)
		SELECT id || '_' || n, tenant_id, type, name, host_id, capacity, layout, state, started_at, ended_at, created_at, updated_at
		FROM sessions, generate_series(1, 250) n WHERE id = $1`, old[0])
	require.NoError(t, err)
	k.retain(t, retentionMonth, retentionMonth+time.Second)
	var left int
	require.NoError(t, k.Pool.QueryRow(t.Context(), "SELECT count(*) FROM sessions").Scan(&left))
	require.Zero(t, left)
}

// TestRetentionLeavesNoChannelBehind: a message creates the session's first
// channel row while the session is deleted. Retention deletes both.
func TestRetentionLeavesNoChannelBehind(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	old := k.owner.Session(t, nil).ID
	k.end(t, old)
	tx, err := k.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // if the test fails
	made, err := db.New(tx).CreateRoomChannel(t.Context(), db.CreateRoomChannelParams{TenantID: k.owner.TenantID, ID: old})
	require.NoError(t, err)
	require.EqualValues(t, 1, made)
	done := make(chan error, 1)
	go func() {
		now := func() time.Time { return k.Clock.Now().Add(2 * retentionMonth) }
		done <- session.NewRetention(k.Pool, retentionMonth, now, k.Chat, k.Calls, k.Transcripts, k.Speech, k.Summaries).DeleteOld(t.Context())
	}()
	(&rig{Server: k.Server}).behind(t, tx, 1)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-done)
	for _, row := range naming(k.rows(t), []string{old}) {
		require.Contains(t, staying, tableOf(row), row)
	}
}
