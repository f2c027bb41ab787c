package session_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/rooms/session"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// cluster is two nodes on one database, each with an SFU.
type cluster struct {
	a, b  *apitest.Server
	owner *apitest.Caller
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	pool := dbtest.New(t)
	c := &cluster{
		a: apitest.New(t, apitest.Options{Pool: pool, Node: "node_a", SFUURL: "wss://a"}),
		b: apitest.New(t, apitest.Options{Pool: pool, Node: "node_b", SFUURL: "wss://b"}),
	}
	// Each server's clock starts at its own creation, which a busy machine delays by seconds.
	c.a.Clock.Advance(c.b.Clock.Now().Sub(c.a.Clock.Now()))
	c.owner = c.a.Register(t)
	return c
}

// beat writes the heartbeats of both nodes with their numbers of participants.
func (c *cluster) beat(t *testing.T, a, b int) {
	t.Helper()
	require.NoError(t, c.a.Sessions.Beat(t.Context(), a))
	require.NoError(t, c.b.Sessions.Beat(t.Context(), b))
}

// at is the SFU address in a token for the room.
func (c *cluster) at(t *testing.T, s *apitest.Server, sessionID string) string {
	t.Helper()
	var token api.SessionToken
	s.With(t, c.owner.Token).SessionToken(t, sessionID, "ben", nil).Into(t, 201, &token)
	return token.SfuURL
}

func TestARoomIsOnOneNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.beat(t, 5, 3)
	first := c.owner.Session(t, nil).ID
	require.Equal(t, "wss://b", c.at(t, c.a, first), "the one with fewer participants")
	c.beat(t, 1, 3)
	require.Equal(t, "wss://b", c.at(t, c.b, first))
	require.Equal(t, "wss://b", c.at(t, c.a, first), "it stays there")
	require.Equal(t, "wss://a", c.at(t, c.b, c.owner.Session(t, nil).ID))

	guest := c.owner.Ticket(t, first, "ben", nil)
	_, err := guest.Enter(t, first) // at a
	var moved *session.Moved
	require.ErrorAs(t, err, &moved)
	require.Equal(t, "wss://b", moved.SFUURL)
	in := session.EnterInput{Token: guest.Token, RoomID: first, ConnID: "conn"}
	_, err = c.b.Sessions.Enter(t.Context(), in)
	require.NoError(t, err)

	in.Token = c.owner.Ticket(t, first, "cleo", nil).Token
	_, err = c.b.Sessions.Enter(t.Context(), in)
	require.NoError(t, err)

	c.a.Clock.Advance(31 * time.Second) // b writes no heartbeat meanwhile
	require.NoError(t, c.a.Sessions.Beat(t.Context(), 9))
	_, err = guest.Enter(t, first)
	require.NoError(t, err, "a has it now")
	require.Empty(t, c.owner.Participant(t, first, "ben").Gone)
	require.Equal(t, session.GoneMoved, c.owner.Participant(t, first, "cleo").Gone, "she has to come after, if b lives after all")
	require.Equal(t, "wss://a", c.at(t, c.a, first))
	c.b.Clock.Advance(31 * time.Second)
	require.Equal(t, "wss://a", c.at(t, c.b, first), "and b knows, when it is back")
	_, err = c.b.Sessions.Enter(t.Context(), in)
	require.ErrorAs(t, err, &moved)
	require.Equal(t, "wss://a", moved.SFUURL)
}

// TestAStreamsRoomIsWhereItsEncoderIs: so its media needs no transfer between
// nodes.
func TestAStreamsRoomIsWhereItsEncoderIs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.beat(t, 0, 100)
	st := c.owner.Stream(t, nil)
	var token api.SfuToken
	path := "/v1/me/streams/" + st.ID + "/sfu-token"
	c.owner.Call(t, "POST", path, nil).Into(t, 201, &token)
	require.Equal(t, "wss://a", token.SfuURL, "nothing is on air yet")
	_, err := c.a.Pool.Exec(t.Context(), `INSERT INTO publishers (id, tenant_id, stream_id, source, node, remote_ip, accepted_at)
		VALUES ('pub_1', $1, $2, 'rtmp', 'node_b', '127.0.0.1', $3)`, c.owner.TenantID, st.ID, c.a.Clock.Now())
	require.NoError(t, err)
	c.owner.Call(t, "POST", path, nil).Into(t, 201, &token)
	require.Equal(t, "wss://b", token.SfuURL)
	_, err = c.a.Sessions.Enter(t.Context(), session.EnterInput{Token: token.Token, RoomID: st.ID, ConnID: "c"})
	var moved *session.Moved
	require.ErrorAs(t, err, &moved)
}

func TestANodeThatWasKilledLosesItsConnections(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.beat(t, 0, 1)
	room := c.owner.Session(t, map[string]any{"capacity": 2}).ID
	r := &rig{Server: c.a, owner: c.owner, room: room}
	ben := c.owner.Join(t, room, "ben", nil)
	st := c.owner.Stream(t, nil).ID
	var token api.SfuToken
	c.owner.Call(t, "POST", "/v1/me/streams/"+st+"/sfu-token", map[string]any{"userId": "ben"}).Into(t, 201, &token)
	_, err := c.a.Sessions.Enter(t.Context(), session.EnterInput{Token: token.Token, RoomID: st, ConnID: "s"})
	require.NoError(t, err)
	require.Equal(t, session.Joined, c.owner.Participant(t, st, "ben").State)

	require.NoError(t, c.b.Sessions.RecoverNode(t.Context()))
	require.Equal(t, session.Joined, r.participant(t, "ben").State, "not b's")
	require.NoError(t, c.a.Sessions.RecoverNode(t.Context()))
	p := r.participant(t, "ben")
	require.Equal(t, []any{session.Left, "held"}, []any{p.State, p.Seat})
	require.Equal(t, session.Left, c.owner.Participant(t, st, "ben").State)
	r.counted(t)
	c.owner.Ticket(t, room, "cleo", nil)
	c.owner.SessionToken(t, room, "dora", nil).Problem(t, 409, "session_full")
	_, err = ben.Enter(t, room)
	require.NoError(t, err, "the seat was kept")
	r.counted(t)

	cleo := c.owner.Ticket(t, room, "cleo", nil)
	_, err = c.a.Sessions.Enter(t.Context(), session.EnterInput{Token: cleo.Token, RoomID: room, ConnID: "x"})
	require.NoError(t, err)
	c.b.Clock.Advance(2 * time.Minute)
	require.NoError(t, c.b.Sessions.EndStranded(t.Context()))
	require.Equal(t, session.Joined, r.participant(t, "ben").State, "b can't tell yet")
	steady(t, c.b.Streams, c.b.Clock)
	require.NoError(t, c.b.Sessions.EndStranded(t.Context()))
	p = r.participant(t, "ben")
	require.Equal(t, []any{session.Left, "none"}, []any{p.State, p.Seat}, "it had its time")
	require.NoError(t, c.b.Sessions.EndStranded(t.Context()))
	r.counted(t)
}

// steady writes heartbeats for long enough that Steady is true.
func steady(t *testing.T, streams *stream.Service, clock *apitest.Clock) {
	t.Helper()
	beats(t, streams, clock, 8)
}

// beats writes n heartbeats, HeartbeatEvery apart.
func beats(t *testing.T, streams *stream.Service, clock *apitest.Clock, n int) {
	t.Helper()
	for range n {
		_, err := streams.Heartbeat(t.Context(), nil)
		require.NoError(t, err)
		clock.Advance(stream.HeartbeatEvery)
	}
}

// talk makes an answered call from ada to ben.
func (r *rig) talk(t *testing.T) string {
	t.Helper()
	r.room = r.call(t, session.Live)
	_, err := r.Pool.Exec(t.Context(), "UPDATE participants SET admitted = true WHERE room_id = $1", r.room)
	require.NoError(t, err)
	return r.room
}

// TestACallEndsWhenAllConnectionsAreLost: all connections of a call are lost. The
// call ends after the time that its parties have to reconnect.
func TestACallEndsWhenAllConnectionsAreLost(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r := &rig{Server: c.a, owner: c.owner}
	r.talk(t)
	ada := c.owner.Join(t, r.room, "ada", nil)
	state := func() string {
		t.Helper()
		require.NoError(t, c.a.Sessions.EndStranded(t.Context()))
		return r.row(t).State
	}
	steady(t, c.a.Streams, c.a.Clock)
	c.a.Clock.Advance(time.Hour)
	steady(t, c.a.Streams, c.a.Clock)
	require.Equal(t, session.Live, state(), "one waits for the other")
	require.NoError(t, c.a.Sessions.RecoverNode(t.Context()))
	require.Equal(t, session.Live, state())
	_, err := ada.Enter(t, r.room)
	require.NoError(t, err)
	require.NoError(t, c.a.Sessions.RecoverNode(t.Context()))
	left := c.a.Clock.Now()
	for c.a.Clock.Now().Add(stream.HeartbeatEvery).Sub(left) < 2*time.Minute {
		beats(t, c.a.Streams, c.a.Clock, 1)
	}
	require.Equal(t, session.Live, state())
	beats(t, c.a.Streams, c.a.Clock, 2)
	require.Equal(t, session.Ended, state())
	r.counted(t)
	names, data := r.events(t)
	require.Equal(t, []string{"session.created", "call.ended", "session.ended"}, names)
	require.Equal(t, "ada", data[1]["endedBy"], "one of the two")
}

// TestACallThatNoPartyEnteredEnds: the call was answered, but neither party
// entered.
func TestACallThatNoPartyEnteredEnds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r := &rig{Server: c.a, owner: c.owner}
	a := c.owner.Ring(t, nil)
	r.room = a.SessionID
	c.owner.Call(t, "POST", "/v1/me/calls/"+r.room+"/answer", map[string]any{"userId": "ben"}).Is(t, 201)
	rings := c.owner.Ring(t, nil).SessionID
	answered := c.a.Clock.Now()
	steady(t, c.a.Streams, c.a.Clock)
	for c.a.Clock.Now().Add(stream.HeartbeatEvery).Sub(answered) < 2*time.Minute {
		beats(t, c.a.Streams, c.a.Clock, 1)
	}
	c.owner.Ticket(t, r.room, "ben", nil) // a seat is held for ben
	beats(t, c.a.Streams, c.a.Clock, 2)
	require.NoError(t, c.a.Sessions.EndStranded(t.Context()))
	require.Equal(t, session.Live, r.row(t).State)
	steady(t, c.a.Streams, c.a.Clock)
	for range 2 {
		require.NoError(t, c.a.Sessions.EndStranded(t.Context()))
	}
	require.Equal(t, session.Ended, r.row(t).State)
	names, _ := r.events(t)
	require.Equal(t, []string{"session.created", "call.invited", "call.answered", "session.started", "call.ended", "session.ended"}, names)
	r.room = rings
	require.Equal(t, session.Ringing, r.row(t).State, "that one is the ringing's to end")
}

// TestANodeThatStopsReleasesItsRooms: other nodes take the rooms at once, and the
// participants may reconnect.
func TestANodeThatStopsReleasesItsRooms(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.beat(t, 5, 0)
	onB := c.b.With(t, c.owner.Token)
	onB.TenantID = c.owner.TenantID
	room := c.owner.Session(t, nil).ID
	r := &rig{Server: c.b, owner: onB, caller: tenancy.Caller{TenantID: c.owner.TenantID}}
	talk := r.talk(t)
	require.Equal(t, "wss://b", c.at(t, c.a, room))
	ada, ben, cleo := onB.Join(t, talk, "ada", nil), onB.Join(t, talk, "ben", nil), onB.Join(t, room, "cleo", nil)

	require.NoError(t, c.b.Sessions.Retire(t.Context()))
	require.NoError(t, c.b.Sessions.Beat(t.Context(), 0))
	for _, asked := range []*apitest.Server{c.a, c.b} {
		require.Equal(t, "wss://a", c.at(t, asked, room))
		require.Equal(t, "wss://a", c.at(t, asked, c.owner.Session(t, nil).ID))
	}
	require.Equal(t, session.GoneMoved, c.owner.Participant(t, room, "cleo").Gone)
	_, err := cleo.Enter(t, room)
	var moved *session.Moved
	require.ErrorAs(t, err, &moved)
	require.Equal(t, "wss://a", moved.SFUURL)

	ada.Leave(t)
	ben.Leave(t)
	r.room = talk
	require.Equal(t, session.Live, r.row(t).State, "no party has hung up")
	require.Equal(t, "held", r.participant(t, "ben").Seat)
	r.counted(t)
	_, err = c.a.Sessions.Enter(t.Context(), session.EnterInput{Token: ben.Token, RoomID: talk, ConnID: "again"})
	require.NoError(t, err)
	r.counted(t)

	require.NoError(t, c.a.Sessions.Retire(t.Context()))
	onB.SessionToken(t, room, "dora", nil).Problem(t, 503, "unavailable")
}

// behind waits until n backends are blocked by the transaction.
func (r *rig) behind(t *testing.T, tx pgx.Tx, n int) {
	t.Helper()
	holder := tx.Conn().PgConn().PID()
	for waiting := 0; waiting < n; {
		require.NoError(t, r.Pool.QueryRow(t.Context(),
			"SELECT count(*) FROM pg_stat_activity WHERE $1::int = ANY (pg_blocking_pids(pid))", holder).Scan(&waiting))
	}
}

// TestANodeThatStopsWaitsForNoWordOfItsOwn: Retire doesn't wait for a heartbeat
// that is being written. The database may not answer, and the shutdown time is
// needed for other work.
func TestANodeThatStopsWaitsForNoWordOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	tx, err := r.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), "LOCK TABLE nodes IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	beaten := make(chan error, 1)
	go func() { beaten <- r.Sessions.Beat(context.Background(), 1) }()
	r.behind(t, tx, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Sessions.Retire(ctx), context.DeadlineExceeded) // the table is still locked
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-beaten)
	require.NoError(t, r.Sessions.Beat(t.Context(), 1))
	var urls int
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(sfu_url) FROM nodes").Scan(&urls))
	require.Zero(t, urls, "the next word says it")
}

// TestACallContinuesWhileAPartyConnects: a call does not end while a seat is held for
// a party, also if the seat was held after the call had been found empty.
func TestACallContinuesWhileAPartyConnects(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r := &rig{Server: c.a, owner: c.owner}
	r.room = c.owner.Ring(t, nil).SessionID
	c.owner.Call(t, "POST", "/v1/me/calls/"+r.room+"/answer", map[string]any{"userId": "ben"}).Is(t, 201)
	steady(t, c.a.Streams, c.a.Clock)
	steady(t, c.a.Streams, c.a.Clock)

	tx, err := r.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	row, err := session.LockTx(t.Context(), tx, c.owner.TenantID, r.room)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- c.a.Sessions.EndStranded(context.Background()) }()
	r.behind(t, tx, 1)
	_, _, err = c.a.Sessions.ReserveSeatTx(t.Context(), tx, row, "ben")
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-ended)
	require.Equal(t, session.Live, r.row(t).State)
	r.counted(t)
	steady(t, c.a.Streams, c.a.Clock)
	require.NoError(t, c.a.Sessions.EndStranded(t.Context()))
	require.Equal(t, session.Ended, r.row(t).State)
}

func TestVisitorsOfStreamsAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ben := r.owner.Join(t, r.room, "ben", nil)
	ben.Leave(t)
	st := r.owner.Stream(t, nil).ID
	token := func(user string) (got api.SfuToken) {
		r.owner.Call(t, "POST", "/v1/me/streams/"+st+"/sfu-token", map[string]any{"userId": user}).Into(t, 201, &got)
		return got
	}
	token("gone")
	_, err := r.Sessions.Enter(t.Context(), session.EnterInput{Token: token("watches").Token, RoomID: st, ConnID: "c"})
	require.NoError(t, err)
	r.Clock.Advance(25 * time.Hour)
	r.owner = r.owner.LogInAgain(t)
	token("fresh")
	require.NoError(t, r.Sessions.DeleteOld(t.Context()))
	var left []string
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT array_agg(user_id ORDER BY user_id) FROM participants WHERE tenant_id = $1", r.owner.TenantID).Scan(&left))
	require.Equal(t, []string{"ada", "ben", "fresh", "watches"}, left)
}
