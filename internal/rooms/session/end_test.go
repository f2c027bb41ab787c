package session_test

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/outflow/event"
	"showfloor/internal/rooms/session"
	"showfloor/internal/testkit/apitest"
)

// breakout opens a breakout room of the session and invites these users.
func (r *rig) breakout(t *testing.T, users ...string) string {
	t.Helper()
	parent, now := r.row(t), r.Clock.Now()
	invited := make([]session.Invitee, len(users))
	for i, u := range users {
		invited[i] = session.Invitee{UserID: u, Role: session.Guest}
	}
	var child db.Session
	require.NoError(t, postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) (err error) {
		child, err = r.Sessions.InsertTx(t.Context(), tx, db.CreateSessionParams{
			ID: id.New(id.Session), TenantID: parent.TenantID, Type: session.Conference, Name: "Breakout", HostID: parent.HostID,
			Capacity: 10, Layout: "grid", InviteUserIds: users, State: session.Live, ParentSessionID: &parent.ID, StartedAt: &now, Now: now,
		}, invited)
		return err
	}))
	return child.ID
}

func (r *rig) end(t *testing.T) (got api.SessionEnding) {
	t.Helper()
	r.owner.Call(t, "POST", "/v1/me/sessions/"+r.room+"/end", nil).Into(t, 201, &got)
	return got
}

func TestEndingASession(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ben, held := r.owner.Join(t, r.room, "ben", nil), r.owner.Ticket(t, r.room, "cleo", nil)
	child := &rig{r.Server, r.owner, r.caller, r.breakout(t, "ben", "dora")}
	r.owner.Join(t, child.room, "ben", nil)
	r.Clock.Advance(90*time.Second + 250*time.Millisecond)
	got := r.end(t)
	require.Equal(t, []any{r.room, api.SessionState("ended"), r.Clock.Now()}, []any{got.ID, got.State, got.EndedAt.Time})
	r.Clock.Advance(time.Minute)
	require.Equal(t, got, r.end(t), "ending twice is harmless")

	names, data := r.events(t)
	require.Equal(t, []string{"session.created", "session.breakouts.closed", "session.ended"}, names)
	require.Equal(t, []any{float64(1), []any{child.room}, nil}, []any{data[1]["closed"], data[1]["breakoutIds"], data[1]["by"]})
	require.Equal(t, []any{90.25, "ended"}, []any{data[2]["durationSec"], data[2]["state"]})
	names, _ = child.events(t)
	require.Equal(t, []string{"session.created", "session.ended"}, names)
	var types []string
	for _, p := range r.Published() {
		types = append(types, p.Type)
	}
	require.Equal(t, []string{"session.ended", "session.breakouts.closed", "session.ended"}, types)

	for _, room := range []*rig{r, child} {
		row := room.row(t)
		require.Equal(t, []any{session.Ended, int32(0), int32(0)}, []any{row.State, row.Seats, row.Present})
		room.counted(t)
		p := room.participant(t, "ben")
		require.Equal(t, []any{session.Left, *row.EndedAt}, []any{p.State, *p.LeftAt})
		require.Nil(t, p.ConnID)
		require.Equal(t, session.GoneEnded, r.owner.Participant(t, room.room, "ben").Gone)
		refused(t, room.token(t, "ben"), "conflict")
		r.owner.Call(t, "PATCH", "/v1/me/sessions/"+room.room, map[string]any{"name": "x"}).Problem(t, 409, "conflict")
	}
	require.Equal(t, session.Invited, r.participant(t, "cleo").State)
	for _, g := range []*apitest.Guest{ben, held} {
		_, err := g.Enter(t, r.room)
		refused(t, err, "conflict")
	}
	ben.Leave(t)
	require.Equal(t, got.EndedAt.Time, *r.participant(t, "ben").LeftAt, "there is nothing to leave any more")
}

// TestEndingAgainstEverything: users who enter while a session ends are refused or
// removed, and its counters are zero afterwards.
func TestEndingAgainstEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var guests []*apitest.Guest
	for i := range 10 {
		guests = append(guests, r.owner.Ticket(t, r.room, string(rune('a'+i)), nil))
	}
	var wg sync.WaitGroup
	for _, g := range guests {
		wg.Go(func() {
			for range 5 {
				if _, err := g.Enter(t, r.room); err != nil {
					if !problem.Is(err, "conflict") {
						t.Error(err)
					}
					return
				}
				g.Leave(t)
			}
		})
	}
	wg.Go(func() { r.end(t) })
	wg.Go(func() { r.end(t) })
	wg.Wait()
	r.counted(t)
	require.Zero(t, r.row(t).Seats)
	names, _ := r.events(t)
	require.Equal(t, []string{"session.created", "session.ended"}, names, "one end")
}

func TestLeavingEndsTheSpotlight(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ben, cleo := r.owner.Join(t, r.room, "ben", nil), r.owner.Join(t, r.room, "cleo", nil)
	_, err := r.Pool.Exec(t.Context(), "UPDATE sessions SET spotlight_user_id = 'ben' WHERE id = $1", r.room)
	require.NoError(t, err)
	cleo.Leave(t)
	require.NotNil(t, r.row(t).SpotlightUserID)
	ben.Leave(t)
	require.Nil(t, r.row(t).SpotlightUserID)
	names, data := r.events(t)
	require.Equal(t, []string{"session.created", event.SessionSpotlight}, names)
	require.Nil(t, data[1]["userId"])
	published := r.Published()
	require.Equal(t, apitest.Publication{Room: r.room, Type: event.SessionSpotlight, Data: data[1]}, published[len(published)-1])
}

// TestASuspendedTenantsSessionsEnd: they end at once, and no user can enter them.
func TestASuspendedTenantsSessionsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ben := r.owner.Join(t, r.room, "ben", nil)
	stream := r.owner.Stream(t, nil).ID
	var token api.SfuToken
	r.owner.Call(t, "POST", "/v1/me/streams/"+stream+"/sfu-token", map[string]any{"userId": "ben"}).Into(t, 201, &token)
	child := &rig{r.Server, r.owner, r.caller, r.breakout(t)}
	ringing := &rig{r.Server, r.owner, r.caller, r.call(t, session.Ringing)}
	talking := &rig{r.Server, r.owner, r.caller, r.call(t, session.Live)}
	bystander := newRig(t, nil)

	admin := r.Admin(t, platform.SuperAdmin)
	admin.Call(t, "POST", "/v1/admin/tenants/"+r.owner.TenantID+"/suspend", map[string]any{"reason": "unpaid"}).Is(t, 201)
	for _, room := range []*rig{r, child} {
		names, _ := room.events(t)
		require.Equal(t, event.SessionEnded, names[len(names)-1])
		require.Equal(t, session.Ended, room.row(t).State)
		require.Equal(t, session.GoneSuspended, r.owner.Participant(t, r.room, "ben").Gone)
	}
	require.Equal(t, session.Cancelled, ringing.row(t).State)
	names, _ := ringing.events(t)
	require.Equal(t, []string{"session.created"}, names)
	names, data := talking.events(t)
	require.Equal(t, []string{"session.created", "call.ended", "session.ended"}, names)
	require.Equal(t, "ada", data[1]["endedBy"], "one of the two")
	require.Equal(t, session.Live, bystander.row(t).State)

	_, err := ben.Enter(t, r.room)
	refused(t, err, "tenant_suspended")
	_, err = r.Sessions.AuthenticateCaller(t.Context(), ben.Token)
	refused(t, err, "tenant_suspended")
	_, err = r.Sessions.Enter(t.Context(), session.EnterInput{Token: token.Token, RoomID: stream, ConnID: "c"})
	refused(t, err, "tenant_suspended")
	_, err = r.Sessions.CreateSession(t.Context(), r.caller, session.Input{Type: "conference", Name: "n", HostID: "ada"})
	refused(t, err, "tenant_suspended")
}

// call makes a call from ada to ben in this state.
func (r *rig) call(t *testing.T, state string) string {
	t.Helper()
	now := r.Clock.Now()
	p := db.CreateSessionParams{
		ID: id.New(id.Session), TenantID: r.owner.TenantID, Type: session.Call, Name: "Call", HostID: "ada", Capacity: 2, Layout: "speaker",
		WaitingRoom: true, InviteUserIds: []string{"ben"}, State: state, Now: now,
	}
	if state == session.Live {
		p.StartedAt = &now
	}
	require.NoError(t, postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		_, err := r.Sessions.InsertTx(t.Context(), tx, p, []session.Invitee{{UserID: "ada", Role: session.Host}, {UserID: "ben", Role: session.Guest}})
		return err
	}))
	_, err := r.Pool.Exec(t.Context(), `INSERT INTO calls (session_id, tenant_id, kind, from_user_id, to_user_id, ring_expires_at)
		VALUES ($1, $2, 'video', 'ada', 'ben', $3)`, p.ID, p.TenantID, now.Add(time.Minute))
	require.NoError(t, err)
	return p.ID
}

// TestCallsAreForTwo: a third user is refused, and the callee waits until it
// answers.
func TestCallsAreForTwo(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.room = r.call(t, session.Ringing)
	r.owner.Join(t, r.room, "ada", nil)
	require.Equal(t, api.ParticipantPerms{}, r.owner.Join(t, r.room, "ben", nil).Perms)
	require.Equal(t, session.Waiting, r.participant(t, "ben").State)
	require.Nil(t, r.participant(t, "ben").JoinedAt, "a call that is missed is one that its callee never joined")
	r.owner.SessionToken(t, r.room, "mallory", nil).Problem(t, 403, "forbidden")
	r.owner.SessionToken(t, r.room, "mallory", map[string]any{"role": "cohost"}).Problem(t, 403, "forbidden")
	for body, code := range map[string]int{`{"capacity":3}`: 409, `{"capacity":2}`: 200, `{"waitingRoom":false}`: 409, `{"waitingRoom":true}`: 200, `{"name":"x"}`: 200} {
		r.owner.Call(t, "PATCH", "/v1/me/sessions/"+r.room, body).Is(t, code)
	}
	var got api.Session
	r.owner.Call(t, "GET", "/v1/me/sessions/"+r.room, nil).Into(t, 200, &got)
	require.Equal(t, []string{"ada", "ben"}, []string{got.Participants[0].UserID, got.Participants[1].UserID})
	var list []api.Session
	r.owner.Call(t, "GET", "/v1/me/sessions?type=call", nil).Into(t, 200, &list)
	require.Equal(t, []api.Session{got}, list)
	r.owner.Call(t, "GET", "/v1/me/sessions", nil).Into(t, 200, &list)
	require.Len(t, list, 2)
	require.Nil(t, list[1].Participants)
	require.Equal(t, api.SessionState("cancelled"), r.end(t).State)
	r.counted(t)
}

// TestACallEndsWhenAllParticipantsHaveLeft: the call ends, because no party is left to
// hang up.
func TestACallEndsWhenAllParticipantsHaveLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.room = r.call(t, session.Live)
	_, err := r.Pool.Exec(t.Context(), "UPDATE participants SET admitted = true WHERE room_id = $1", r.room)
	require.NoError(t, err)
	ada, ben := r.owner.Join(t, r.room, "ada", nil), r.owner.Join(t, r.room, "ben", nil)
	r.Clock.Advance(time.Minute)
	ada.Leave(t)
	require.Equal(t, session.Live, r.row(t).State)
	ben.Leave(t)
	require.Equal(t, session.Ended, r.row(t).State)
	names, data := r.events(t)
	require.Equal(t, []string{"session.created", "call.ended", "session.ended"}, names)
	require.Equal(t, []any{"ben", 60.0}, []any{data[1]["endedBy"], data[1]["durationSec"]})
	r.counted(t)
}

// TestBreakoutRoomsOpenToTheParentsToken: the parent's token is valid there for
// invited users and for moderators of the parent.
func TestBreakoutRoomsOpenToTheParentsToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	host, guest := r.owner.Ticket(t, r.room, "ada", nil), r.owner.Ticket(t, r.room, "ben", map[string]any{"displayName": "Ben"})
	cohost, outsider := r.owner.Ticket(t, r.room, "cleo", map[string]any{"role": "cohost", "displayName": "Cleo"}), r.owner.Ticket(t, r.room, "dora", nil)
	child := &rig{r.Server, r.owner, r.caller, r.breakout(t, "ben")}
	for g, role := range map[*apitest.Guest]string{host: session.Host, cohost: session.Cohost, guest: session.Guest} {
		got, err := g.Enter(t, child.room)
		require.NoError(t, err)
		require.Equal(t, []any{role, session.Joined}, []any{got.Role, got.State})
	}
	require.Equal(t, "Cleo", r.owner.Participant(t, child.room, "cleo").DisplayName)
	_, err := outsider.Enter(t, child.room)
	refused(t, err, "forbidden")
	reach := func(g *apitest.Guest, room string) string {
		ticket, err := r.Sessions.AuthenticateParticipant(t.Context(), g.Token)
		require.NoError(t, err)
		got, err := r.Sessions.GrantInRoom(t.Context(), ticket, room)
		require.NoError(t, err)
		return got.Gone + got.Role
	}
	other := r.breakout(t)
	require.Equal(t, []string{"host", "guest", "guest", "unknown", "unknown", "cohost", "unknown"}, []string{
		reach(host, child.room), reach(guest, child.room), reach(guest, r.room), reach(outsider, child.room), reach(guest, other), reach(cohost, other),
		reach(host, r.owner.Session(t, nil).ID),
	})
	inside := r.owner.Ticket(t, child.room, "ben", nil)
	_, err = inside.Enter(t, r.room)
	refused(t, err, "unauthenticated") // a token of the breakout room isn't valid in its parent
	child.counted(t)

	_, err = r.Pool.Exec(t.Context(), "UPDATE participants SET state = 'kicked' WHERE room_id = $1 AND user_id = 'cleo'", r.room)
	require.NoError(t, err)
	_, err = cohost.Enter(t, child.room)
	refused(t, err, "unauthenticated")
	require.Equal(t, session.GoneKicked, reach(cohost, child.room))
	_, err = r.Pool.Exec(t.Context(), "DELETE FROM room_placements WHERE room_id = $1", child.room)
	require.NoError(t, err)
	_, err = r.Pool.Exec(t.Context(), "INSERT INTO nodes (id, seen_at) VALUES ('elsewhere', now())")
	require.NoError(t, err)
	_, err = r.Pool.Exec(t.Context(), "INSERT INTO room_placements (room_id, tenant_id, node_id, placed_at) VALUES ($1, $2, 'elsewhere', now())",
		child.room, r.caller.TenantID)
	require.NoError(t, err)
	require.Equal(t, session.Guest, reach(guest, child.room), "wherever its media is")
	r.end(t)
	require.Equal(t, []string{"endedguest", "unknown"}, []string{reach(guest, child.room), reach(outsider, child.room)})
}
