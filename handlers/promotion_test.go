package handlers_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/testkit/apitest"
)

func (m *meeting) hand(t *testing.T, c *apitest.Caller, what, userID string) (p api.Participant) {
	t.Helper()
	c.Call(t, "POST", m.path+"/moderate/hand-"+what, map[string]any{"userId": userID}).Into(t, 201, &p)
	return p
}

func TestRaiseHand(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	p := m.hand(t, m.dan.Caller, "raise", "dan")
	require.True(t, p.HandRaised)
	require.Equal(t, map[string]any{
		"sessionId": m.session.ID, "userId": "dan", "displayName": nil, "role": "viewer", "raisedAt": timestamp.Format(m.s.Clock.Now()),
	}, m.one(t, "session.handraise.raised"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			m.dan.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "dan"}).Is(t, 201)
		})
	}
	wg.Wait()
	require.Equal(t, p, m.hand(t, m.owner, "raise", "dan"))
	m.quiet(t)
	for _, who := range []*apitest.Guest{m.ada, m.ben, m.cleo} {
		who.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "dan"}).Problem(t, 403, "forbidden")
	}
	m.owner.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "nobody"}).Problem(t, 404, "not_found")
	m.owner.Call(t, "DELETE", m.participant("cleo"), nil).Is(t, 200)
	m.news(t)
	m.owner.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "cleo"}).Problem(t, 409, "conflict")
	m.end(t)
	m.owner.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "ben"}).Problem(t, 409, "conflict")
	m.quiet(t)
}

func TestLowerHand(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	for by, who := range map[any]*apitest.Caller{"dan": m.dan.Caller, "ben": m.ben.Caller, "ada": m.ada.Caller, nil: m.owner} {
		m.hand(t, m.dan.Caller, "raise", "dan")
		m.one(t, "session.handraise.raised")
		require.False(t, m.hand(t, who, "lower", "dan").HandRaised)
		require.Equal(t, map[string]any{"sessionId": m.session.ID, "userId": "dan", "displayName": nil, "role": "viewer", "by": by},
			m.one(t, "session.handraise.lowered"))
		m.hand(t, who, "lower", "dan")
		m.quiet(t)
	}
	m.cleo.Call(t, "POST", m.path+"/moderate/hand-lower", map[string]any{"userId": "dan"}).Problem(t, 403, "forbidden")
	m.owner.Call(t, "POST", m.path+"/moderate/hand-lower", map[string]any{"userId": "nobody"}).Problem(t, 404, "not_found")
	m.end(t)
	m.owner.Call(t, "POST", m.path+"/moderate/hand-lower", map[string]any{"userId": "dan"}).Problem(t, 409, "conflict")
	m.quiet(t)
}

func TestPromoteSessionParticipant(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	promote := func(user, role string) apitest.Response {
		return m.ada.Call(t, "POST", m.path+"/moderate/promote", map[string]any{"userId": user, "role": role})
	}
	m.hand(t, m.dan.Caller, "raise", "dan")
	m.news(t)
	var p api.Participant
	promote("dan", "guest").Into(t, 201, &p)
	require.Equal(t, []any{false, api.ParticipantPerms{Audio: true, Video: true}}, []any{p.HandRaised, p.Perms})
	data := m.one(t, "session.participant.promoted") // there is no separate event for the lowered hand
	require.Equal(t, []any{"dan", "guest", "viewer", "ada", "joined"},
		[]any{data["userId"], data["role"], data["previousRole"], data["by"], data["state"]})
	require.True(t, m.owner.Participant(t, m.session.ID, "dan").Perms.Audio, "the token that the user holds may publish")
	promote("dan", "guest").Is(t, 201)
	m.quiet(t)

	m.hand(t, m.dan.Caller, "raise", "dan")
	m.news(t)
	promote("dan", "guest").Is(t, 201)
	m.one(t, "session.handraise.lowered")

	promote("dan", "cohost").Into(t, 201, &p)
	require.True(t, p.Perms.Screen)
	require.Equal(t, "guest", m.one(t, "session.participant.promoted")["previousRole"])
	promote("dan", "guest").Problem(t, 409, "conflict")
	promote("ada", "cohost").Problem(t, 409, "conflict")
	promote("nobody", "guest").Problem(t, 404, "not_found")
	promote("cleo", "host").Problem(t, 400, "invalid_input")
	promote("cleo", "viewer").Problem(t, 400, "invalid_input")
	m.owner.Call(t, "DELETE", m.participant("cleo"), nil).Is(t, 200)
	m.news(t)
	promote("cleo", "cohost").Problem(t, 409, "conflict")
	require.Equal(t, []string{"session.promote_participant", "session.promote_participant"}, auditActions(t, m.s, m.owner.TenantID, "session.promote"))
	m.end(t)
	m.owner.Call(t, "POST", m.path+"/moderate/promote", map[string]any{"userId": "ben", "role": "cohost"}).Problem(t, 409, "conflict")
	m.quiet(t)
}
