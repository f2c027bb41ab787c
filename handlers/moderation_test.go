package handlers_test

import (
	"maps"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/document/access"
	"showfloor/internal/rooms/session"
	"showfloor/internal/testkit/apitest"
)

// meeting is a webinar with four participants in its room: the host ada, the cohost ben, the
// guest cleo and the viewer dan.
type meeting struct {
	s                   *apitest.Server
	owner               *apitest.Caller
	session             api.Session
	ada, ben, cleo, dan *apitest.Guest
	path                string
	publishedBeforehand int
	eventsBeforehand    int
}

func newMeeting(t *testing.T, fields map[string]any) *meeting {
	t.Helper()
	m := &meeting{s: apitest.New(t, apitest.Options{})}
	m.owner = m.s.Register(t)
	body := map[string]any{"type": "webinar", "hostId": "ada"}
	maps.Copy(body, fields)
	m.session = m.owner.Session(t, body)
	m.path = "/v1/me/sessions/" + m.session.ID
	m.ada = m.owner.Join(t, m.session.ID, "ada", nil)
	m.ben = m.owner.Join(t, m.session.ID, "ben", map[string]any{"role": "cohost", "displayName": "Ben Sato"})
	m.cleo = m.owner.Join(t, m.session.ID, "cleo", map[string]any{"role": "guest"})
	m.dan = m.owner.Join(t, m.session.ID, "dan", nil)
	m.news(t)
	return m
}

// news returns the names and data of the session's events since the last call, and requires
// that each was published in the room as well.
func (m *meeting) news(t *testing.T) (names []string, data []map[string]any) {
	t.Helper()
	names, data = eventsOf(t, m.s, m.owner.TenantID, m.session.ID)
	names, data = names[m.eventsBeforehand:], data[m.eventsBeforehand:]
	m.eventsBeforehand += len(names)
	var published []apitest.Publication
	for _, p := range m.s.Published() {
		if p.Room == m.session.ID {
			published = append(published, p)
		}
	}
	published = published[m.publishedBeforehand:]
	m.publishedBeforehand += len(published)
	if len(names) > 0 && names[0] == "session.created" {
		return names, data
	}
	require.Len(t, published, len(names))
	for i, p := range published {
		require.Equal(t, names[i], p.Type)
		inRoom := maps.Clone(data[i])
		delete(inRoom, "metadata") // publications don't contain it
		require.Equal(t, inRoom, p.Data)
	}
	return names, data
}

// quiet requires that no event was emitted.
func (m *meeting) quiet(t *testing.T) {
	t.Helper()
	names, _ := m.news(t)
	require.Empty(t, names)
}

// one requires exactly one event and returns its data.
func (m *meeting) one(t *testing.T, name string) map[string]any {
	t.Helper()
	names, data := m.news(t)
	require.Equal(t, []string{name}, names)
	return data[0]
}

func (m *meeting) participant(userID string) string {
	return m.path + "/participants/" + url.PathEscape(userID)
}

// end ends the session.
func (m *meeting) end(t *testing.T) {
	t.Helper()
	m.owner.Call(t, "POST", m.path+"/end", nil).Is(t, 201)
	m.news(t)
}

// seats returns the session's counters: seats taken, and participants in the room.
func (m *meeting) seats(t *testing.T) (seats, present int) {
	t.Helper()
	require.NoError(t, m.s.Pool.QueryRow(t.Context(), "SELECT seats, present FROM sessions WHERE id = $1", m.session.ID).Scan(&seats, &present))
	return seats, present
}

func TestListSessionParticipants(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"inviteUserIds": []string{"eve", "a/b 50% ü"}})
	list := func(c *apitest.Caller, query string) (users []string, r apitest.Response) {
		var all []api.Participant
		r = c.Call(t, "GET", m.path+"/participants"+query, nil)
		r.Into(t, 200, &all)
		for _, p := range all {
			users = append(users, p.UserID)
		}
		return users, r
	}
	everyParticipant := []string{"ada", "eve", "a/b 50% ü", "ben", "cleo", "dan"}
	for _, c := range []*apitest.Caller{m.owner, m.ada.Caller, m.dan.Caller} {
		got, _ := list(c, "")
		require.Equal(t, everyParticipant, got)
	}
	var got []string
	for next := "?limit=2"; next != ""; {
		page, r := list(m.owner, next)
		got = append(got, page...)
		if next = r.NextPage(t); next != "" {
			next = next[len(m.path+"/participants"):]
		}
	}
	require.Equal(t, everyParticipant, got)
	var odd api.Participant
	m.owner.Call(t, "PATCH", m.participant("a/b 50% ü"), map[string]any{"role": "guest"}).Into(t, 200, &odd)
	require.Equal(t, "a/b 50% ü", odd.UserID)
	m.owner.Call(t, "GET", m.path+"/participants?cursor=nobody", nil).Problem(t, 400, "invalid_input")

	var all []api.Participant
	m.owner.Call(t, "GET", m.path+"/participants?limit=4", nil).Into(t, 200, &all)
	require.Equal(t, api.ParticipantStateInvited, all[1].State)
	require.True(t, all[1].JoinedAt.IsNull())
	require.Equal(t, api.ParticipantStateJoined, all[3].State)
	require.Equal(t, "Ben Sato", all[3].DisplayName.MustGet())
	require.Equal(t, api.ParticipantPerms{Audio: true, Video: true, Screen: true}, all[3].Perms)
	require.False(t, all[3].JoinedAt.IsNull())
	require.False(t, all[3].HandRaised)
}

// takesParticipants reports whether the operation accepts a participant token.
func takesParticipants(op operation) bool {
	return access.Decide(*op.spec.Security, access.Party{Kind: access.Participant}) == access.Allowed && len(*op.spec.Security) > 0
}

// TestAParticipantTokenOpensItsOwnRoomAlone checks every operation on sessions that accepts
// a participant token.
func TestAParticipantTokenOpensItsOwnRoomAlone(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	other := m.owner.Session(t, map[string]any{"hostId": "ada"})
	outsider := m.owner.Ticket(t, other.ID, "ada", nil)
	foreign := newMeeting(t, nil)
	covered := 0
	for _, op := range operations(t) {
		if !takesParticipants(op) || len(op.spec.Tags) == 0 || op.spec.Tags[0] != "Moderation" && op.spec.Tags[0] != "Breakouts" && op.id != "listSessionParticipants" {
			continue
		}
		covered++
		for _, c := range []*apitest.Caller{outsider.Caller, foreign.ada.Caller, foreign.owner} {
			missing := c.Call(t, op.method, op.at("sess_none/ada"), sampleBody(op)).Problem(t, 404, "not_found")
			theirs := c.Call(t, op.method, op.at(m.session.ID+"/ada"), sampleBody(op)).Problem(t, 404, "not_found")
			missing.RequestID, theirs.RequestID = "", ""
			require.Equal(t, missing, theirs, op.id)
		}
	}
	require.Equal(t, 12, covered)
	m.quiet(t)
	// Other operations don't accept it.
	m.ada.Call(t, "GET", "/v1/me/sessions", nil).Problem(t, 401, "unauthenticated")
	m.ada.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "unauthenticated")
	m.ada.Call(t, "POST", m.path+"/token", map[string]any{"userId": "eve"}).Problem(t, 401, "unauthenticated")
}

func TestPermissionsToModerate(t *testing.T) {
	t.Parallel()
	for op, c := range map[string]struct {
		method, path string
		body         any
		cohost       int
	}{
		"update":  {"PATCH", "/participants/dan", map[string]any{"canPublishScreen": true}, 403},
		"kick":    {"DELETE", "/participants/dan", nil, 200},
		"admit":   {"POST", "/participants/dan/admit", nil, 403},
		"mute":    {"POST", "/moderate/mute-all", map[string]any{}, 201},
		"silence": {"POST", "/moderate/mute", map[string]any{"userId": "dan"}, 201},
		"spot":    {"POST", "/moderate/spotlight", map[string]any{"userId": "dan"}, 201},
		"promote": {"POST", "/moderate/promote", map[string]any{"userId": "dan", "role": "guest"}, 403},
		"lower":   {"POST", "/moderate/hand-lower", map[string]any{"userId": "dan"}, 201},
		"open":    {"POST", "/breakouts", map[string]any{"count": 1}, 403},
		"close":   {"POST", "/breakouts/close", nil, 403},
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			m := newMeeting(t, nil)
			m.cleo.Call(t, c.method, m.path+c.path, c.body).Problem(t, 403, "forbidden")
			if op != "lower" { // participants may lower their own hand
				m.dan.Call(t, c.method, m.path+c.path, c.body).Problem(t, 403, "forbidden")
			}
			m.quiet(t)
			if c.cohost == 403 {
				m.ben.Call(t, c.method, m.path+c.path, c.body).Problem(t, 403, "forbidden")
				m.quiet(t)
			} else {
				m.ben.Call(t, c.method, m.path+c.path, c.body).Is(t, c.cohost)
			}
			for _, who := range []*apitest.Caller{m.ada.Caller, m.owner} {
				require.Less(t, who.Call(t, c.method, m.path+c.path, c.body).Status, 300)
			}
		})
	}
}

func TestUpdateSessionParticipant(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	update := func(c *apitest.Caller, userID string, body any) (p api.Participant) {
		c.Call(t, "PATCH", m.participant(userID), body).Into(t, 200, &p)
		return p
	}
	p := update(m.ada.Caller, "dan", map[string]any{"role": "cohost"})
	require.Equal(t, api.ParticipantPerms{Audio: true, Video: true, Screen: true}, p.Perms)
	at := timestamp.Format(p.JoinedAt.MustGet().Time)
	require.Equal(t, map[string]any{
		"sessionId": m.session.ID, "userId": "dan", "displayName": nil, "role": "cohost", "canPublishScreen": true,
		"perms": map[string]any{"audio": true, "video": true, "screen": true}, "state": "joined", "joinedAt": at, "by": "ada",
	}, m.one(t, "session.participant.updated"))
	require.Equal(t, "cohost", m.owner.Participant(t, m.session.ID, "dan").Role)

	p = update(m.owner, "dan", map[string]any{"role": "viewer", "canPublishScreen": true})
	require.Equal(t, api.ParticipantPerms{Screen: true}, p.Perms)
	require.Nil(t, m.one(t, "session.participant.updated")["by"], "the tenant's own server")
	p = update(m.owner, "dan", map[string]any{"role": "guest"})
	require.Equal(t, api.ParticipantPerms{Audio: true, Video: true}, p.Perms, "a new role brings its own")
	m.one(t, "session.participant.updated")
	for _, same := range []any{map[string]any{}, map[string]any{"role": "guest"}, map[string]any{"canPublishScreen": false}} {
		require.Equal(t, p, update(m.owner, "dan", same))
	}
	update(m.owner, "ada", map[string]any{"role": "host"})
	m.quiet(t)
	require.Equal(t, []string{"session.update_participant", "session.update_participant", "session.update_participant"},
		auditActions(t, m.s, m.owner.TenantID, "session.update"))

	m.owner.Call(t, "PATCH", m.participant("ada"), map[string]any{"role": "cohost"}).Problem(t, 409, "conflict")
	m.owner.Call(t, "PATCH", m.participant("ben"), map[string]any{"role": "host"}).Problem(t, 409, "conflict")
	require.Equal(t, "participant not found", m.owner.Call(t, "PATCH", m.participant("nobody"), map[string]any{}).Problem(t, 404, "not_found").Message)
	m.owner.Call(t, "PATCH", m.participant("ben"), map[string]any{"role": "king"}).Problem(t, 400, "invalid_input")
	m.end(t)
	m.owner.Call(t, "PATCH", m.participant("ben"), map[string]any{"role": "guest"}).Problem(t, 409, "conflict")
	m.quiet(t)
}

func TestKickSessionParticipant(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	m.owner.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "dan"}).Is(t, 201)
	m.owner.Call(t, "POST", m.path+"/moderate/spotlight", map[string]any{"userId": "dan"}).Is(t, 201)
	m.news(t)
	var p api.Participant
	m.ben.Call(t, "DELETE", m.participant("dan"), nil).Into(t, 200, &p)
	require.Equal(t, []any{api.ParticipantStateKicked, api.ParticipantPerms{}, false}, []any{p.State, p.Perms, p.HandRaised})
	require.False(t, p.LeftAt.IsNull())
	names, data := m.news(t)
	require.Equal(t, []string{"session.participant.kicked", "session.spotlight"}, names)
	require.Equal(t, []any{"dan", "kicked", "ben"}, []any{data[0]["userId"], data[0]["state"], data[0]["by"]})
	require.Equal(t, map[string]any{"sessionId": m.session.ID, "userId": nil, "by": "ben"}, data[1])
	seats, present := m.seats(t)
	require.Equal(t, []int{3, 3}, []int{seats, present})

	// None of the user's tokens works any more, and it can't get a new one.
	m.dan.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "dan"}).Problem(t, 401, "unauthenticated")
	_, err := m.dan.Enter(t, m.session.ID)
	require.Error(t, err)
	m.owner.SessionToken(t, m.session.ID, "dan", nil).Problem(t, 403, "forbidden")
	require.Equal(t, "kicked", m.owner.Participant(t, m.session.ID, "dan").Gone)

	var again api.Participant
	m.ada.Call(t, "DELETE", m.participant("dan"), nil).Into(t, 200, &again)
	require.Equal(t, p, again)
	m.quiet(t)
	for _, who := range []*apitest.Caller{m.owner, m.ada.Caller, m.ben.Caller} {
		who.Call(t, "DELETE", m.participant("ada"), nil).Problem(t, 409, "conflict")
	}
	m.owner.Call(t, "DELETE", m.participant("nobody"), nil).Problem(t, 404, "not_found")

	// A new invitation ends that: the old tokens are valid again.
	m.ada.Call(t, "POST", m.participant("dan")+"/admit", nil).Into(t, 201, &p)
	require.NotEqual(t, api.ParticipantStateKicked, p.State)
	m.one(t, "session.participant.updated")
	_, err = m.dan.Enter(t, m.session.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"session.kick_participant"}, auditActions(t, m.s, m.owner.TenantID, "session.kick"))

	m.end(t)
	m.owner.Call(t, "DELETE", m.participant("cleo"), nil).Problem(t, 409, "conflict")
	m.quiet(t)
}

func TestAdmitSessionParticipant(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"type": "conference", "waitingRoom": true, "capacity": 5})
	// All of them wait, except the moderators.
	require.Equal(t, "waiting", m.owner.Participant(t, m.session.ID, "dan").State)
	m.dan.Call(t, "GET", m.path+"/participants", nil).Problem(t, 403, "forbidden")
	m.dan.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "dan"}).Problem(t, 403, "forbidden")
	m.owner.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "dan"}).Problem(t, 409, "conflict")
	m.quiet(t)

	var p api.Participant
	m.ada.Call(t, "POST", m.participant("dan")+"/admit", nil).Into(t, 201, &p)
	require.Equal(t, api.ParticipantStateJoined, p.State, "connected, so it is in the room at once")
	require.Equal(t, api.ParticipantPerms{Audio: true, Video: true}, p.Perms)
	data := m.one(t, "session.participant.updated")
	require.Equal(t, []any{"joined", "ada"}, []any{data["state"], data["by"]})
	m.ada.Call(t, "POST", m.participant("dan")+"/admit", nil).Is(t, 201)
	m.quiet(t)
	seats, present := m.seats(t)
	require.Equal(t, []int{3, 3}, []int{seats, present})

	eve := m.owner.Ticket(t, m.session.ID, "eve", nil) // has a token and isn't connected
	require.Equal(t, api.ParticipantPerms{}, eve.Perms)
	m.ada.Call(t, "POST", m.participant("eve")+"/admit", nil).Into(t, 201, &p)
	require.Equal(t, []any{api.ParticipantStateInvited, api.ParticipantPerms{Audio: true, Video: true}}, []any{p.State, p.Perms})
	m.one(t, "session.participant.updated")
	grant, err := eve.Enter(t, m.session.ID)
	require.NoError(t, err)
	require.Equal(t, "joined", grant.State)

	m.ada.Call(t, "POST", m.participant("cleo")+"/admit", nil).Is(t, 201)
	m.owner.Join(t, m.session.ID, "fay", nil)
	m.news(t)
	m.ada.Call(t, "POST", m.participant("fay")+"/admit", nil).Problem(t, 409, "session_full")
	m.ada.Call(t, "POST", m.participant("nobody")+"/admit", nil).Problem(t, 404, "not_found")
	m.quiet(t)
	m.end(t)
	m.ada.Call(t, "POST", m.participant("fay")+"/admit", nil).Problem(t, 409, "conflict")
	m.quiet(t)
}

func TestMuteAllParticipants(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	m.owner.Ticket(t, m.session.ID, "eve", map[string]any{"role": "guest"}) // isn't in the room
	mute := func(c *apitest.Caller, body any) (n int) {
		var r api.MuteAllResult
		c.Call(t, "POST", m.path+"/moderate/mute-all", body).Into(t, 201, &r)
		return r.Muted
	}
	muted := func() (list []string) {
		for _, user := range []string{"ada", "ben", "cleo", "dan", "eve"} {
			if m.owner.Participant(t, m.session.ID, user).Muted {
				list = append(list, user)
			}
		}
		return list
	}
	require.Equal(t, 2, mute(m.ada.Caller, nil), "ben and cleo; the host is spared unless the caller says otherwise")
	require.Equal(t, []string{"ben", "cleo"}, muted())
	require.Equal(t, map[string]any{"sessionId": m.session.ID, "exceptHost": true, "muted": 2.0, "by": "ada"}, m.one(t, "session.muted-all"))
	require.Zero(t, mute(m.ben.Caller, map[string]any{}))
	require.Equal(t, map[string]any{"sessionId": m.session.ID, "exceptHost": true, "muted": 0.0, "by": "ben"}, m.one(t, "session.muted-all"))

	require.NoError(t, m.s.Sessions.SetMuted(t.Context(), m.owner.TenantID, m.session.ID, "cleo", m.cleo.ConnID, false))
	require.Equal(t, 2, mute(m.owner, map[string]any{"exceptHost": false}))
	require.Equal(t, []string{"ada", "ben", "cleo"}, muted())
	m.one(t, "session.muted-all")
	require.True(t, m.owner.Participant(t, m.session.ID, "cleo").Silenced)

	// A participant's own mute differs from a moderator's. A participant who is muted
	// already isn't counted, but its screen's sound is muted.
	set := func(muted bool) session.Grant {
		require.NoError(t, m.s.Sessions.SetMuted(t.Context(), m.owner.TenantID, m.session.ID, "cleo", m.cleo.ConnID, muted))
		return m.owner.Participant(t, m.session.ID, "cleo")
	}
	require.False(t, set(false).Silenced)
	require.False(t, set(true).Silenced)
	require.Zero(t, mute(m.owner, map[string]any{"exceptHost": false}))
	require.True(t, m.owner.Participant(t, m.session.ID, "cleo").Silenced)
	m.one(t, "session.muted-all")

	m.owner.Join(t, m.session.ID, "fay", map[string]any{"role": "guest"})
	require.NotContains(t, muted(), "fay", "a later participant is not muted")
	m.end(t)
	m.owner.Call(t, "POST", m.path+"/moderate/mute-all", nil).Problem(t, 409, "conflict")
	m.quiet(t)
}

func TestMuteSessionParticipant(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"inviteUserIds": []string{"eve"}})
	mute := func(c *apitest.Caller, user string) apitest.Response {
		return c.Call(t, "POST", m.path+"/moderate/mute", map[string]any{"userId": user})
	}
	silenced := func(user string) []bool {
		g := m.owner.Participant(t, m.session.ID, user)
		return []bool{g.Muted, g.Silenced}
	}
	unmute := func(muted bool) {
		require.NoError(t, m.s.Sessions.SetMuted(t.Context(), m.owner.TenantID, m.session.ID, "cleo", m.cleo.ConnID, muted))
	}
	var p api.Participant
	mute(m.ben.Caller, "cleo").Into(t, 201, &p)
	require.Equal(t, []any{"cleo", api.ParticipantPerms{Audio: true, Video: true}}, []any{p.UserID, p.Perms})
	data := m.one(t, "session.participant.muted")
	require.Equal(t, []any{"cleo", "joined", "ben"}, []any{data["userId"], data["state"], data["by"]})
	require.Equal(t, []bool{true, true}, silenced("cleo"))
	require.Equal(t, []bool{false, false}, silenced("ada"), "only one participant is muted")

	// A second mute changes nothing until the participant has unmuted itself.
	mute(m.ada.Caller, "cleo").Is(t, 201)
	m.quiet(t)
	unmute(false)
	require.Equal(t, []bool{false, false}, silenced("cleo"))
	unmute(true)
	mute(m.owner, "cleo").Is(t, 201)
	require.Nil(t, m.one(t, "session.participant.muted")["by"])
	require.Equal(t, []bool{true, true}, silenced("cleo"), "its screen's sound is muted too")
	mute(m.owner, "dan").Is(t, 201)
	m.quiet(t) // a viewer sends no sound
	mute(m.ben.Caller, "ada").Is(t, 201)
	m.one(t, "session.participant.muted")

	m.ben.Call(t, "POST", m.path+"/moderate/mute", map[string]any{"userId": " "}).Problem(t, 400, "invalid_input")
	m.ben.Call(t, "POST", m.path+"/moderate/mute", map[string]any{}).Problem(t, 400, "invalid_input")
	m.ben.Leave(t)
	m.news(t)
	for _, user := range []string{"nobody", "eve", "ben"} {
		mute(m.owner, user).Problem(t, 404, "not_found")
	}
	m.end(t)
	mute(m.owner, "cleo").Problem(t, 409, "conflict")
	m.quiet(t)
}

func TestSetSessionSpotlight(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	set := func(c *apitest.Caller, user any) (s api.Session) {
		c.Call(t, "POST", m.path+"/moderate/spotlight", map[string]any{"userId": user}).Into(t, 201, &s)
		return s
	}
	require.Equal(t, "dan", set(m.ben.Caller, "dan").SpotlightUserID.MustGet())
	require.Equal(t, map[string]any{"sessionId": m.session.ID, "userId": "dan", "by": "ben"}, m.one(t, "session.spotlight"))
	set(m.ada.Caller, "dan")
	m.quiet(t)
	require.True(t, set(m.owner, nil).SpotlightUserID.IsNull())
	require.Equal(t, map[string]any{"sessionId": m.session.ID, "userId": nil, "by": nil}, m.one(t, "session.spotlight"))
	set(m.owner, nil)
	m.quiet(t)
	m.owner.Call(t, "POST", m.path+"/moderate/spotlight", map[string]any{"userId": "nobody"}).Problem(t, 404, "not_found")
	m.owner.Call(t, "POST", m.path+"/moderate/spotlight", map[string]any{}).Problem(t, 400, "invalid_input")
	m.owner.Call(t, "DELETE", m.participant("dan"), nil).Is(t, 200)
	m.news(t)
	m.owner.Call(t, "POST", m.path+"/moderate/spotlight", map[string]any{"userId": "dan"}).Problem(t, 409, "conflict")
	set(m.owner, "cleo")
	m.news(t)
	m.cleo.Leave(t)
	require.Equal(t, map[string]any{"sessionId": m.session.ID, "userId": nil, "by": nil}, m.one(t, "session.spotlight"))
	m.end(t)
	m.owner.Call(t, "POST", m.path+"/moderate/spotlight", map[string]any{"userId": nil}).Problem(t, 409, "conflict")
	m.quiet(t)
}
