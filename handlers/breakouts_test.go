package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/rooms/session"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/realtimetest"
)

// breakouts creates breakout rooms of the meeting.
func (m *meeting) breakouts(t *testing.T, c *apitest.Caller, count int, assignments map[string]any) (rooms []api.Session) {
	t.Helper()
	if assignments == nil {
		assignments = map[string]any{}
	}
	c.Call(t, "POST", m.path+"/breakouts", map[string]any{"count": count, "assignments": assignments}).Into(t, 201, &rooms)
	require.Len(t, rooms, count)
	return rooms
}

func TestCreateBreakouts(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"name": "Planning", "projectId": "launch", "recordingEnabled": true, "transcriptionEnabled": true, "waitingRoom": false})
	rooms := m.breakouts(t, m.ada.Caller, 2, map[string]any{"1": []string{"ben", "dan", "dan"}, "2": []string{"zoe"}})
	first, second := rooms[0], rooms[1]
	require.Equal(t, []any{"Planning – Breakout 1", "Planning – Breakout 2"}, []any{first.Name, second.Name})
	require.Equal(t, []any{api.SessionTypeConference, m.session.ID, api.SessionStateLive, "ada", "launch", 50, true, true, false, false, api.SessionLayoutGrid},
		[]any{
			first.Type, first.ParentSessionID.MustGet(), first.State, first.HostID, first.ProjectID.MustGet(), first.Capacity, first.RecordingEnabled,
			first.TranscriptionEnabled, first.WaitingRoom, first.Locked, first.Layout,
		})
	require.Equal(t, []string{"ben", "dan"}, first.InviteUserIds)
	require.Equal(t, map[string]any{
		"sessionId": m.session.ID, "by": "ada", "breakouts": []any{
			map[string]any{"id": first.ID, "name": first.Name, "parentSessionId": m.session.ID, "userIds": []any{"ben", "dan"}, "closesAt": nil},
			map[string]any{"id": second.ID, "name": second.Name, "parentSessionId": m.session.ID, "userIds": []any{"zoe"}, "closesAt": nil},
		},
	}, m.one(t, "session.breakouts.created"))
	names, data := eventsOf(t, m.s, m.owner.TenantID, first.ID)
	require.Equal(t, []string{"session.created"}, names)
	require.Equal(t, m.session.ID, data[0]["parentSessionId"])
	require.Equal(t, []string{"session.create_breakouts"}, auditActions(t, m.s, m.owner.TenantID, "session.create_b"))

	var list []api.Participant
	m.owner.Call(t, "GET", "/v1/me/sessions/"+first.ID+"/participants", nil).Into(t, 200, &list)
	require.Len(t, list, 2)
	require.Equal(t, []any{"ben", "Ben Sato", api.ParticipantRoleCohost, api.ParticipantStateInvited},
		[]any{list[0].UserID, list[0].DisplayName.MustGet(), list[0].Role, list[0].State}, "a cohost of the parent is one here")
	require.Equal(t, []any{"dan", api.ParticipantRoleGuest}, []any{list[1].UserID, list[1].Role}, "a viewer of the parent may speak here")

	// More rooms continue the numbers of the open ones.
	require.Equal(t, "Planning – Breakout 3", m.breakouts(t, m.owner, 1, nil)[0].Name)
	m.owner.Call(t, "POST", m.path+"/breakouts/close", nil).Is(t, 201)
	require.Equal(t, "Planning – Breakout 1", m.breakouts(t, m.owner, 1, nil)[0].Name)
}

func TestBreakoutsThatCantBe(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	for _, c := range []struct {
		body   any
		fields []string
	}{
		{map[string]any{}, []string{"count"}},
		{map[string]any{"count": 0}, []string{"count"}},
		{map[string]any{"count": 21}, []string{"count"}},
		{map[string]any{"count": 1, "durationSec": 59}, []string{"durationSec"}},
		{map[string]any{"count": 1, "durationSec": 86401}, []string{"durationSec"}},
		{map[string]any{"count": 2, "assignments": map[string]any{"3": []string{"ben"}}}, []string{"assignments.3"}},
		{map[string]any{"count": 2, "assignments": map[string]any{"0": []string{}, "-1": []string{}, "01": []string{}, "x": []string{}}},
			[]string{"assignments.0", "assignments.x", "assignments.-1", "assignments.01"}},
		{map[string]any{"count": 3, "assignments": map[string]any{"1": []string{"ben", "dan"}, "2": []string{"dan", "ben"}, "3": []string{"cleo"}}},
			[]string{"assignments.2", "assignments.2"}},
		{map[string]any{"count": 1, "assignments": map[string]any{"1": []string{" "}}}, []string{"assignments.1.0"}},
	} {
		p := m.ada.Call(t, "POST", m.path+"/breakouts", c.body).Problem(t, 400, "invalid_input")
		var fields []string
		for _, f := range p.Errors {
			fields = append(fields, f.Field)
		}
		require.Equal(t, c.fields, fields, "%v", c.body)
	}
	m.quiet(t)
	room := m.breakouts(t, m.owner, 1, nil)[0]
	m.owner.Call(t, "POST", "/v1/me/sessions/"+room.ID+"/breakouts", map[string]any{"count": 1}).Problem(t, 409, "conflict")
	call := m.owner.Ring(t, nil)
	m.owner.Call(t, "POST", "/v1/me/sessions/"+call.SessionID+"/breakouts", map[string]any{"count": 1}).Problem(t, 409, "conflict")
	for range 4 {
		m.breakouts(t, m.owner, 20, nil)
	}
	m.owner.Call(t, "POST", m.path+"/breakouts", map[string]any{"count": 20}).Problem(t, 409, "conflict")
	m.breakouts(t, m.owner, 19, nil)
	m.end(t)
	m.owner.Call(t, "POST", m.path+"/breakouts", map[string]any{"count": 1}).Problem(t, 409, "conflict")
	var closed api.BreakoutsClosed
	m.owner.Call(t, "POST", m.path+"/breakouts/close", nil).Into(t, 201, &closed)
	require.Zero(t, closed.Closed)
}

func TestCloseBreakouts(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	var closed api.BreakoutsClosed
	m.ada.Call(t, "POST", m.path+"/breakouts/close", nil).Into(t, 201, &closed)
	require.Zero(t, closed.Closed)
	m.quiet(t)

	rooms := m.breakouts(t, m.owner, 2, map[string]any{"1": []string{"dan"}})
	m.news(t)
	_, err := m.dan.Enter(t, rooms[0].ID) // with the token of the parent session
	require.NoError(t, err)
	m.ada.Call(t, "POST", m.path+"/breakouts/close", nil).Into(t, 201, &closed)
	require.Equal(t, 2, closed.Closed)
	require.Equal(t, map[string]any{"sessionId": m.session.ID, "closed": 2.0, "breakoutIds": []any{rooms[0].ID, rooms[1].ID}, "by": "ada"},
		m.one(t, "session.breakouts.closed"))
	for _, room := range rooms {
		names, _ := eventsOf(t, m.s, m.owner.TenantID, room.ID)
		require.Equal(t, []string{"session.created", "session.ended"}, names)
	}
	require.Equal(t, "ended", m.owner.Participant(t, rooms[0].ID, "dan").Gone)
	m.ada.Call(t, "POST", m.path+"/breakouts/close", nil).Into(t, 201, &closed)
	require.Zero(t, closed.Closed)
	m.quiet(t)
	require.Equal(t, []string{"session.close_breakouts"}, auditActions(t, m.s, m.owner.TenantID, "session.close_b"))
}

// TestTheParentsModeratorsModerateEachBreakout checks that the parent's moderators can use the
// parent's token or the room's, and that other participants of the parent can't moderate.
func TestTheParentsModeratorsModerateEachBreakout(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	room := m.breakouts(t, m.owner, 1, map[string]any{"1": []string{"dan", "eve"}})[0]
	path := "/v1/me/sessions/" + room.ID
	mute := func(g *apitest.Guest) apitest.Response { return g.Call(t, "POST", path+"/moderate/mute-all", nil) }
	mute(m.ada).Is(t, 201)
	mute(m.ben).Is(t, 201)
	mute(m.cleo).Problem(t, 404, "not_found") // not invited to this room
	mute(m.dan).Problem(t, 403, "forbidden")
	m.dan.Call(t, "GET", path+"/participants", nil).Is(t, 200)
	m.cleo.Call(t, "GET", path+"/participants", nil).Problem(t, 404, "not_found")
	m.ben.Call(t, "POST", path+"/breakouts/close", nil).Problem(t, 403, "forbidden")
	m.ben.Call(t, "PATCH", path+"/participants/dan", map[string]any{"role": "viewer"}).Problem(t, 403, "forbidden")
	m.ada.Call(t, "PATCH", path+"/participants/dan", map[string]any{"role": "viewer"}).Is(t, 200)
	names, data := eventsOf(t, m.s, m.owner.TenantID, room.ID)
	require.Equal(t, []string{"session.created", "session.muted-all", "session.muted-all", "session.participant.updated"}, names)
	require.Equal(t, "ada", data[3]["by"])

	// A moderator who joins a room has the same role there.
	require.Equal(t, api.ParticipantRoleHost, m.owner.Join(t, room.ID, "ada", nil).Role)
	there := m.owner.Join(t, room.ID, "ben", nil)
	require.Equal(t, api.ParticipantRoleCohost, there.Role)
	mute(there).Is(t, 201)
	there.Call(t, "POST", m.path+"/moderate/mute-all", nil).Problem(t, 404, "not_found") // a room's token isn't valid in the parent
	m.owner.Call(t, "DELETE", path+"/participants/ada", nil).Problem(t, 409, "conflict")

	// A cohost who loses the role in the parent loses it in the rooms, and a new cohost
	// gets it there.
	m.ada.Call(t, "PATCH", m.participant("ben"), map[string]any{"role": "guest"}).Is(t, 200)
	mute(there).Problem(t, 403, "forbidden")
	mute(m.ben).Problem(t, 403, "forbidden")
	require.Equal(t, "guest", m.owner.Participant(t, room.ID, "ben").Role)
	m.ada.Call(t, "POST", m.path+"/moderate/promote", map[string]any{"userId": "dan", "role": "cohost"}).Is(t, 201)
	require.Equal(t, "cohost", m.owner.Participant(t, room.ID, "dan").Role)
	mute(m.dan).Is(t, 201)

	// A participant who is kicked from the parent is kicked from its rooms.
	m.owner.Call(t, "DELETE", m.participant("ben"), nil).Is(t, 200)
	require.Equal(t, "kicked", m.owner.Participant(t, room.ID, "ben").Gone)
	mute(there).Problem(t, 401, "unauthenticated")
	names, _ = eventsOf(t, m.s, m.owner.TenantID, room.ID)
	require.Equal(t, "session.participant.kicked", names[len(names)-1])
	// The participant may still be invited to one room alone.
	again := m.breakouts(t, m.owner, 1, map[string]any{"1": []string{"ben"}})[0]
	require.Equal(t, api.ParticipantRoleGuest, m.owner.Join(t, again.ID, "ben", nil).Role)
	m.owner.SessionToken(t, m.session.ID, "ben", nil).Problem(t, 403, "forbidden")
}

func TestAHostOfElsewhereHasNoSayInABreakout(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	room := m.breakouts(t, m.owner, 1, nil)[0]
	other := m.owner.Ticket(t, m.owner.Session(t, nil).ID, "ada", nil)
	foreign := newMeeting(t, nil)
	for _, c := range []*apitest.Caller{other.Caller, foreign.ada.Caller, foreign.owner} {
		c.Call(t, "POST", "/v1/me/sessions/"+room.ID+"/moderate/mute-all", nil).Problem(t, 404, "not_found")
		c.Call(t, "DELETE", "/v1/me/sessions/"+room.ID+"/participants/ada", nil).Problem(t, 404, "not_found")
	}
}

func TestTheMainRoomsTokenOpensABreakoutForInvitedUsers(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"type": "conference"})
	room := m.breakouts(t, m.owner, 1, map[string]any{"1": []string{"dan"}})[0]
	path, chat := "/v1/me/sessions/"+room.ID, "/v1/me/channels/"+room.ID+"/messages"
	hello := func(author string) map[string]any {
		return map[string]any{"body": "hello", "authorId": author, "authorName": author}
	}
	for _, g := range []*apitest.Guest{m.dan, m.ada} { // the host moderates it
		var found api.Session
		g.Call(t, "GET", path, nil).Into(t, 200, &found)
		require.Equal(t, room.ID, found.ID)
	}
	m.dan.Call(t, "POST", chat, hello("dan")).Is(t, 201)
	m.dan.Call(t, "GET", chat, nil).Is(t, 200)
	m.ada.Call(t, "POST", chat, hello("ada")).Is(t, 201) // before she joins
	_, err := m.s.Sessions.Enter(t.Context(), session.EnterInput{Token: m.ada.Token, RoomID: room.ID, ConnID: id.New(id.Connection)})
	require.NoError(t, err)
	m.ada.Call(t, "POST", chat, hello("ada")).Is(t, 201)
	m.dan.Call(t, "POST", path+"/moderate/hand-raise", map[string]any{"userId": "dan"}).Is(t, 201)
	// Other participants get 404, and so does a session that isn't a breakout room of
	// their parent.
	elsewhere := m.owner.Session(t, nil)
	for _, r := range []apitest.Response{
		m.cleo.Call(t, "GET", path, nil), m.cleo.Call(t, "POST", chat, hello("cleo")), m.cleo.Call(t, "GET", chat, nil),
		m.dan.Call(t, "GET", "/v1/me/sessions/"+elsewhere.ID, nil), m.dan.Call(t, "POST", "/v1/me/channels/"+elsewhere.ID+"/messages", hello("dan")),
	} {
		r.Problem(t, 404, "not_found")
	}
}

// TestLateParticipantsFindTheBreakoutRooms checks that a late participant finds its open
// breakout rooms in the session.
func TestLateParticipantsFindTheBreakoutRooms(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	see := func(c *apitest.Caller) []api.BreakoutEventRoom {
		t.Helper()
		var v api.Session
		c.Call(t, "GET", m.path, nil).Into(t, 200, &v)
		return v.Breakouts
	}
	require.Empty(t, see(m.owner))
	rooms := m.breakouts(t, m.ada.Caller, 3, map[string]any{"1": []string{"dan"}, "3": []string{"cleo"}})
	all := make([]api.BreakoutEventRoom, len(rooms))
	for i, r := range rooms {
		all[i] = api.BreakoutEventRoom{ID: r.ID, Name: r.Name, ParentSessionID: m.session.ID, UserIds: r.InviteUserIds, ClosesAt: r.ClosesAt}
	}
	for _, c := range []*apitest.Caller{m.owner, m.ada.Caller, m.ben.Caller} { // the host and a cohost
		require.Equal(t, all, see(c))
	}
	require.Equal(t, all[:1], see(m.dan.Caller))
	require.Equal(t, all[2:], see(m.cleo.Caller))

	// A participant isn't sent to a room from which it was kicked, nor to a closed one.
	first := "/v1/me/sessions/" + rooms[0].ID
	m.owner.Call(t, "DELETE", first+"/participants/dan", nil).Is(t, 200)
	require.Empty(t, see(m.dan.Caller))
	_, err := m.ben.Enter(t, rooms[1].ID)
	require.NoError(t, err)
	m.owner.Call(t, "DELETE", "/v1/me/sessions/"+rooms[1].ID+"/participants/ben", nil).Is(t, 200)
	require.Equal(t, []api.BreakoutEventRoom{all[0], all[2]}, see(m.ben.Caller))
	m.owner.Call(t, "POST", first+"/end", nil).Is(t, 201)
	require.Equal(t, all[1:], see(m.ada.Caller))
	var child api.Session
	m.cleo.Call(t, "GET", "/v1/me/sessions/"+rooms[2].ID, nil).Into(t, 200, &child)
	require.Empty(t, child.Breakouts)
	m.owner.Call(t, "POST", m.path+"/breakouts/close", nil).Is(t, 201)
	require.Empty(t, see(m.ada.Caller))
}

// TestAModeratorSubscribesToABreakoutRoomBeforeEntering checks that a moderator of the parent
// receives a breakout room's chat and can write there without joining.
func TestAModeratorSubscribesToABreakoutRoomBeforeEntering(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	main := owner.Session(t, nil)
	path := "/v1/me/sessions/" + main.ID
	ada, cohost := owner.Ticket(t, main.ID, "ada", nil), map[string]any{"role": "cohost", "displayName": "A cohost"}
	ben, eve, dan := owner.Ticket(t, main.ID, "ben", cohost), owner.Ticket(t, main.ID, "eve", cohost), owner.Ticket(t, main.ID, "dan", nil)
	var rooms []api.Session
	owner.Call(t, "POST", path+"/breakouts", map[string]any{"count": 2}).Into(t, 201, &rooms)
	room := rooms[1].ID
	connect := func(g *apitest.Guest) *realtimetest.Client {
		c := realtimetest.New(t, s.URL, realtimetest.Options{Token: g.Token, Room: room})
		c.Hear(t, room)
		return c
	}
	heard := map[*apitest.Guest]*realtimetest.Client{}
	for _, g := range []*apitest.Guest{ada, ben, eve} {
		heard[g] = connect(g)
		heard[g].Next(t, realtimetest.Subscribed)
	}
	require.NotZero(t, connect(dan).Next(t, realtimetest.Disconnected).Code)
	var said api.ChatMessage
	ben.Say(t, room, "ben", "Five minutes left").Into(t, 201, &said)
	require.Equal(t, "A cohost", said.AuthorName)
	for _, c := range heard {
		require.Equal(t, "Five minutes left", c.Next(t, realtimetest.Published).Data["body"])
	}
	ada.Call(t, "DELETE", "/v1/me/channels/"+room+"/messages/"+said.ID, nil).Is(t, 200)
	eve.Call(t, "GET", "/v1/me/channels/"+room+"/messages", nil).Is(t, 200)
	dan.Say(t, room, "dan", "Hello").Problem(t, 404, "not_found")
	dan.Call(t, "GET", "/v1/me/channels/"+room+"/messages", nil).Problem(t, 404, "not_found")

	owner.Call(t, "PATCH", path+"/participants/ben", map[string]any{"role": "guest"}).Is(t, 200)
	require.EqualValues(t, 3500, heard[ben].Next(t, realtimetest.Disconnected).Code)
	ben.Say(t, room, "ben", "Hello?").Problem(t, 404, "not_found")
	owner.Call(t, "DELETE", path+"/participants/eve", nil).Is(t, 200)
	require.EqualValues(t, 4500, heard[eve].Next(t, realtimetest.Disconnected).Code)
	require.Equal(t, "unknown", owner.Participant(t, room, "ada").Gone, "the refused request admitted no participant")
}
