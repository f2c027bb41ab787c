package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/soak"
)

// TestKillWhileMeeting kills the server repeatedly while participants join a room
// that has too few seats, leave it, are promoted, muted and removed, join breakout
// rooms and call each other. Participants with a token rejoin with it. Afterwards
// the rows, the participants' connections and the events must agree.
func TestKillWhileMeeting(t *testing.T) {
	t.Parallel()
	seed := crashSeed(t)
	t.Logf("SHOWFLOOR_CRASH_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	pool := dbtest.New(t)
	s := serve(t, set("DATABASE_URL", pool.Config().ConnString()), set("RATE_LIMIT_CALLER", "off"), set("RATE_LIMIT_TENANT", "off"),
		set("CALL_RING_TIMEOUT", "3s"))
	m := meet(t, s, seed)
	t.Cleanup(func() {
		m.disperse()
		t.Logf("the meeting: %v", m.counts)
	})
	// On a busy machine, little happens between the kills: then there are more, and longer pauses.
	wanted, most := soak.Times(20, 60), soak.Times(60, 180)
	for kills := 0; kills < wanted || kills < most && !m.hasMet(); kills++ {
		pause(t, time.Duration(50+r.IntN(700))*time.Millisecond)
		if kills >= wanted {
			pause(t, 2*time.Second)
		}
		s.kill()
		s.start(t)
	}
	require.True(t, m.hasMet(), "participants returned and were muted, kicked and promoted")
	pause(t, time.Second)
	m.disperse()

	requireSeats(t, pool)
	// A participant whose leave was lost in a kill keeps the seat until its time to return is over.
	until(t, "the clients in the room are the joined participants", func() bool {
		joined := column(t, pool, "SELECT user_id FROM participants WHERE room_id = '"+m.room+"' AND state = 'joined'")
		return slices.Equal(slices.Sorted(slices.Values(m.inside())), slices.Sorted(slices.Values(joined)))
	})
	for user := range m.kicked {
		require.Equal(t, "kicked", m.bye(m.tokens[user]), "%s stays out", user)
		status, _ := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": user})
		require.Equal(t, 403, status)
	}
	m.leave()
	until(t, "the rooms are empty", func() bool {
		return len(column(t, pool, "SELECT user_id FROM participants WHERE state = 'joined' AND room_id LIKE 'sess_%' OR conn_id IS NOT NULL")) == 0
	})
	until(t, "nothing rings any more", func() bool {
		return len(column(t, pool, "SELECT id FROM sessions WHERE type = 'call' AND state = 'waiting'")) == 0
	})
	status, answer := m.try("POST", "/v1/me/sessions/"+m.room+"/end", nil)
	require.Equal(t, 201, status, answer)
	requireSeats(t, pool)
	requireRoomEvents(t, pool)
}

// requireSeats requires that the counters in sessions equal the number of their
// participants.
func requireSeats(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	require.Empty(t, column(t, pool, `SELECT s.id || ': ' || s.seats || ' seats, ' || s.present || ' present' FROM sessions s
		WHERE s.seats > s.capacity
		OR s.seats <> (SELECT count(*) FROM participants p WHERE p.room_id = s.id AND p.seat <> 'none')
		OR s.present <> (SELECT count(*) FROM participants p WHERE p.room_id = s.id AND p.state = 'joined')
		OR s.state IN ('ended', 'cancelled') AND (s.seats > 0 OR s.ended_at IS NULL)
		OR s.state = 'live' AND s.started_at IS NULL`))
	require.Empty(t, column(t, pool, `SELECT room_id || '/' || user_id || ' is ' || state || ' with seat ' || seat FROM participants
		WHERE room_id LIKE 'sess_%' AND (state = 'joined') <> (seat = 'taken') OR state = 'joined' AND conn_id IS NULL AND seat = 'taken'
		OR state = 'kicked' AND (conn_id IS NOT NULL OR seat <> 'none')`))
}

// requireRoomEvents requires one event for each change in the rows.
func requireRoomEvents(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	for name, so := range map[string]string{
		"session.created": "true",
		"session.started": "s.type = 'call' AND s.started_at IS NOT NULL",
		"session.ended":   "s.state = 'ended'",
		"call.invited":    "s.type = 'call'",
		"call.answered":   "s.type = 'call' AND s.started_at IS NOT NULL",
		"call.declined":   "c.cancelled_as = 'declined'",
		"call.ended":      "s.type = 'call' AND s.state = 'ended'",
	} {
		require.Empty(t, column(t, pool, fmt.Sprintf(`SELECT s.id || ' ' || s.type || ' ' || s.state || ': ' || count(e.id) FROM sessions s
			LEFT JOIN calls c ON c.session_id = s.id LEFT JOIN events e ON e.subject = s.id AND e.event = '%s'
			GROUP BY s.id, c.session_id HAVING count(e.id) <> CASE WHEN coalesce(%s, false) THEN 1 ELSE 0 END`, name, so)), name)
	}
	require.Empty(t, column(t, pool, `SELECT p.user_id || ': ' || count(e.id) FROM participants p
		LEFT JOIN events e ON e.subject = p.room_id AND e.event = 'session.participant.kicked' AND e.payload->'data'->>'userId' = p.user_id
		WHERE p.state = 'kicked' GROUP BY p.room_id, p.user_id HAVING count(e.id) <> 1`), "kicked once, one event")
	require.Empty(t, column(t, pool, `SELECT p.user_id || ' is ' || p.role FROM participants p
		WHERE p.role = 'cohost' AND p.room_id IN (SELECT id FROM sessions WHERE parent_session_id IS NULL)
		AND 1 <> (SELECT count(*) FROM events e WHERE e.subject = p.room_id AND e.event = 'session.participant.promoted'
			AND e.payload->'data'->>'userId' = p.user_id)`), "promoted once, one event")
	require.Empty(t, column(t, pool, `SELECT s.id FROM sessions s WHERE s.parent_session_id IS NOT NULL AND 1 <> (SELECT count(*) FROM events e
		WHERE e.subject = s.parent_session_id AND e.event = 'session.breakouts.created' AND e.payload::text LIKE '%' || s.id || '%')`),
		"one event for each breakout room")
}

func column(t testing.TB, pool *pgxpool.Pool, query string) []string {
	t.Helper()
	type row struct{ Text string }
	var list []string
	for _, r := range read[row](t, pool, "SELECT x.text FROM ("+query+") AS x (text)") {
		list = append(list, r.Text)
	}
	return list
}
