package handlers_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// calling is a tenant with a call from ada to ben.
type calling struct {
	s     *apitest.Server
	owner *apitest.Caller
	call  api.CallAdmission
}

func newCalling(t *testing.T) *calling {
	t.Helper()
	c := &calling{s: apitest.New(t, apitest.Options{})}
	c.owner = c.s.Register(t)
	c.call = c.owner.Ring(t, map[string]any{"fromDisplayName": "Ada Okafor", "projectId": "launch"})
	return c
}

// do calls an operation on the call as one of its parties.
func (c *calling) do(t *testing.T, what, userID string) apitest.Response {
	t.Helper()
	return c.owner.Call(t, "POST", "/v1/me/calls/"+c.call.SessionID+"/"+what, map[string]any{"userId": userID})
}

// became calls an operation as one of the parties and returns the changed call.
func (c *calling) became(t *testing.T, what, userID string) (got api.Call) {
	t.Helper()
	c.do(t, what, userID).Into(t, 201, &got)
	return got
}

// refused requires a conflict and returns its text.
func (c *calling) refused(t *testing.T, what, userID string) string {
	t.Helper()
	return c.do(t, what, userID).Problem(t, 409, "conflict").Message
}

func (c *calling) events(t *testing.T) []string {
	t.Helper()
	names, _ := eventsOf(t, c.s, c.owner.TenantID, c.call.SessionID)
	return names
}

// publications returns the types of the publications in the call's room.
func (c *calling) publications() (types []string) {
	for _, p := range c.s.Published() {
		if p.Room == c.call.SessionID {
			types = append(types, p.Type)
		}
	}
	return types
}

// ringOut moves the end of the ringing to now.
func (c *calling) ringOut(t *testing.T) {
	t.Helper()
	_, err := c.s.Pool.Exec(t.Context(), "UPDATE calls SET ring_expires_at = clock_timestamp() WHERE session_id = $1", c.call.SessionID)
	require.NoError(t, err)
}

func TestInviteCall(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	before := databaseTime(t, s)
	a := owner.Ring(t, map[string]any{"fromDisplayName": "Ada Okafor", "projectId": "launch", "kind": "voice"})
	require.Equal(t, []any{api.SessionStateWaiting, api.CallKindVoice, "ada", "Ada Okafor", "ben", "launch"},
		[]any{a.State, a.Kind, a.FromUserID, a.FromDisplayName.MustGet(), a.ToUserID, a.ProjectID.MustGet()})
	require.True(t, a.StartedAt.IsNull() && a.EndedAt.IsNull())
	require.False(t, a.RingExpiresAt.Before(before.Add(45*time.Second)), "the database's clock counts, not the server's")
	require.False(t, a.RingExpiresAt.After(databaseTime(t, s).Add(45*time.Second)))

	v := a.Session
	require.Equal(t, []any{a.SessionID, api.SessionTypeCall, "Call from Ada Okafor", "ada", 2, true, api.SessionLayoutSpeaker, api.SessionStateWaiting, []string{"ben"}},
		[]any{v.ID, v.Type, v.Name, v.HostID, v.Capacity, v.WaitingRoom, v.Layout, v.State, v.InviteUserIds})
	require.Len(t, v.Participants, 2)
	caller, callee := v.Participants[0], (v.Participants)[1]
	require.Equal(t, []any{"ada", "Ada Okafor", api.ParticipantRoleHost, "ben", api.ParticipantRoleGuest},
		[]any{caller.UserID, caller.DisplayName.MustGet(), caller.Role, callee.UserID, callee.Role})
	require.True(t, caller.JoinedAt.IsNull() && callee.JoinedAt.IsNull())

	require.Equal(t, []any{api.ParticipantRoleHost, api.ParticipantPerms{Audio: true, Video: true, Screen: true}, apitest.SFUURL},
		[]any{a.Role, a.Perms, a.SfuURL})
	var room api.Session
	s.With(t, a.Token).Call(t, "GET", "/v1/me/sessions/"+a.SessionID, nil).Into(t, 200, &room)
	require.Equal(t, v.ID, room.ID)

	names, data := eventsOf(t, s, owner.TenantID, a.SessionID)
	require.Equal(t, []string{"session.created", "call.invited"}, names)
	require.Equal(t, map[string]any{
		"sessionId": a.SessionID, "state": "waiting", "kind": "voice", "fromUserId": "ada", "fromDisplayName": "Ada Okafor", "toUserId": "ben",
		"projectId": "launch", "ringExpiresAt": timestamp.Format(a.RingExpiresAt.Time), "startedAt": nil, "endedAt": nil,
		"metadata": map[string]any{},
	}, data[1])

	owner.Ring(t, map[string]any{"fromUserId": "ben", "toUserId": "ada"}) // they may call each other at once
	owner.Ring(t, nil)
	var list []api.Session
	owner.Call(t, "GET", "/v1/me/sessions?type=call", nil).Into(t, 200, &list)
	require.Len(t, list, 3)
	for _, v := range list {
		require.Len(t, v.Participants, 2)
		require.Equal(t, v.HostID, v.Participants[0].UserID)
	}
}

func TestInviteCallInput(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for body, field := range map[string]string{
		`{}`: "fromUserId",
		`{"fromUserId":"ada","toUserId":"ada","kind":"video"}`:                                                      "toUserId",
		`{"fromUserId":"ada","toUserId":"ben","kind":"smoke"}`:                                                      "kind",
		`{"fromUserId":"ada","toUserId":" ","kind":"video"}`:                                                        "toUserId",
		`{"fromUserId":"ada","toUserId":"ben\u0000","kind":"video"}`:                                                "toUserId",
		`{"fromUserId":"` + strings.Repeat("a", 129) + `","toUserId":"ben","kind":"video"}`:                         "fromUserId",
		`{"fromUserId":"ada","toUserId":"ben","kind":"video","fromDisplayName":"` + strings.Repeat("a", 121) + `"}`: "fromDisplayName",
		`{"fromUserId":"ada","toUserId":"ben","kind":"video","projectId":"` + strings.Repeat("a", 65) + `"}`:        "projectId",
	} {
		p := owner.Call(t, "POST", "/v1/me/calls/invite", body).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field, body)
	}
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", "/v1/me/sessions", nil).Is(t, 200).Body))
}

// TestTheRingingPush checks the job that sends the push.
func TestTheRingingPush(t *testing.T) {
	t.Parallel()
	c := newCalling(t)
	job := func(sessionID string) (args map[string]any, queue string, priority int) {
		var raw []byte
		require.NoError(t, c.s.Pool.QueryRow(t.Context(),
			"SELECT args, queue, priority FROM river_job WHERE kind = 'push_send' AND args -> 'data' ->> 'sessionId' = $1", sessionID).Scan(&raw, &queue, &priority))
		require.NoError(t, json.Unmarshal(raw, &args))
		return args, queue, priority
	}
	args, queue, priority := job(c.call.SessionID)
	require.Equal(t, map[string]any{
		"tenantId": c.owner.TenantID, "projectId": "launch", "userId": "ben", "reason": "call.invite", "title": "Ada Okafor", "priority": "high",
		"expiresAt": timestamp.Format(c.call.RingExpiresAt.Time),
		"data":      map[string]any{"service": "1", "type": "call.invite", "sessionId": c.call.SessionID, "kind": "video", "from": "ada"},
	}, args)
	require.Equal(t, "push", queue)
	require.Equal(t, 1, priority, "the highest")
	plain := c.owner.Ring(t, nil)
	args, _, _ = job(plain.SessionID)
	require.Equal(t, []any{nil, "ada"}, []any{args["projectId"], args["title"]})
}

func TestAnswerCall(t *testing.T) {
	t.Parallel()
	c := newCalling(t)
	c.do(t, "answer", "ada").Problem(t, 403, "forbidden")
	c.do(t, "answer", "eve").Problem(t, 403, "forbidden")
	c.s.Clock.Advance(10 * time.Second)
	var a api.CallAdmission
	c.do(t, "answer", "ben").Into(t, 201, &a)
	require.Equal(t, []any{api.SessionStateLive, c.s.Clock.Now(), api.ParticipantRoleGuest, api.ParticipantPerms{Audio: true, Video: true}},
		[]any{a.State, a.StartedAt.MustGet().Time, a.Role, a.Perms})
	require.Equal(t, api.SessionStateLive, a.Session.State)
	callee := a.Session.Participants[1]
	require.Equal(t, c.s.Clock.Now(), callee.JoinedAt.MustGet().Time, "by the answer")
	require.NotEqual(t, c.call.Token, a.Token)
	require.Equal(t, []string{"session.created", "call.invited", "call.answered", "session.started"}, c.events(t))
	_, data := eventsOf(t, c.s, c.owner.TenantID, c.call.SessionID)
	require.Equal(t, []any{"live", timestamp.Format(c.s.Clock.Now())}, []any{data[2]["state"], data[2]["startedAt"]})
	require.Equal(t, []string{"session.started"}, c.publications())

	require.Equal(t, "the call was answered already", c.refused(t, "answer", "ben"))
	require.Equal(t, "the call was answered already", c.refused(t, "decline", "ben"))
	c.do(t, "answer", "ada").Problem(t, 403, "forbidden")
	require.Len(t, c.events(t), 4)
}

func TestDeclineCall(t *testing.T) {
	t.Parallel()
	c := newCalling(t)
	c.do(t, "decline", "ada").Problem(t, 403, "forbidden")
	for range 2 {
		got := c.became(t, "decline", "ben")
		require.Equal(t, []any{api.SessionStateCancelled, c.s.Clock.Now()}, []any{got.State, got.EndedAt.MustGet().Time})
	}
	require.Equal(t, []string{"session.created", "call.invited", "call.declined"}, c.events(t))
	require.Equal(t, "the call was declined", c.refused(t, "answer", "ben"))
	require.Equal(t, api.SessionStateCancelled, c.became(t, "end", "ada").State)
	require.Equal(t, api.SessionStateCancelled, c.became(t, "end", "ben").State)
	require.Len(t, c.events(t), 3)
	require.Equal(t, "ended", c.owner.Participant(t, c.call.SessionID, "ada").Gone)
}

func TestEndCall(t *testing.T) {
	t.Parallel()
	for _, party := range []string{"ada", "ben"} {
		t.Run(party, func(t *testing.T) {
			t.Parallel()
			c := newCalling(t)
			c.do(t, "answer", "ben").Is(t, 201)
			c.s.Clock.Advance(64500 * time.Millisecond)
			c.do(t, "end", "eve").Problem(t, 403, "forbidden")
			got := c.became(t, "end", party)
			require.Equal(t, []any{api.SessionStateEnded, c.s.Clock.Now()}, []any{got.State, got.EndedAt.MustGet().Time})
			names, data := eventsOf(t, c.s, c.owner.TenantID, c.call.SessionID)
			require.Equal(t, []string{"session.created", "call.invited", "call.answered", "session.started", "call.ended", "session.ended"}, names)
			require.Equal(t, []any{"ended", party, 64.5}, []any{data[4]["state"], data[4]["endedBy"], data[4]["durationSec"]})
			require.InDelta(t, 64.5, data[5]["durationSec"], 0)
			require.Equal(t, []string{"session.started", "session.ended"}, c.publications())
			for _, again := range []string{"ada", "ben"} {
				require.Equal(t, got, c.became(t, "end", again))
			}
			require.Equal(t, "the call has ended", c.refused(t, "answer", "ben"))
			require.Equal(t, "the call has ended", c.refused(t, "decline", "ben"))
			require.Len(t, c.events(t), 6)
		})
	}
}

func TestACallIsTakenBack(t *testing.T) {
	t.Parallel()
	c := newCalling(t)
	require.Equal(t, "the call is still ringing: decline it", c.refused(t, "end", "ben"))
	for range 2 {
		require.Equal(t, api.SessionStateCancelled, c.became(t, "end", "ada").State)
	}
	require.Equal(t, []string{"session.created", "call.invited"}, c.events(t), "no call.ended")
	require.Equal(t, "the call was taken back", c.refused(t, "answer", "ben"))
	require.Equal(t, "the call was taken back", c.refused(t, "decline", "ben"))
}

// TestACallThatRangOutIsMissed checks that the call is missed after any next operation,
// and even if the job runs late.
func TestACallThatRangOutIsMissed(t *testing.T) {
	t.Parallel()
	missed := func(t *testing.T, c *calling) {
		t.Helper()
		var v api.Session
		c.owner.Call(t, "GET", "/v1/me/sessions/"+c.call.SessionID, nil).Into(t, 200, &v)
		require.Equal(t, api.SessionStateCancelled, v.State)
		require.True(t, v.Participants[1].JoinedAt.IsNull())
		require.Equal(t, []string{"session.created", "call.invited"}, c.events(t))
		require.Equal(t, "the call was missed: it rang for too long", c.refused(t, "answer", "ben"))
		require.Equal(t, api.SessionStateCancelled, c.became(t, "decline", "ben").State)
		require.Equal(t, api.SessionStateCancelled, c.became(t, "end", "ada").State)
		require.Len(t, c.events(t), 2)
	}
	for name, act := range map[string]func(t *testing.T, c *calling){
		"answer":  func(t *testing.T, c *calling) { t.Helper(); c.refused(t, "answer", "ben") },
		"decline": func(t *testing.T, c *calling) { t.Helper(); c.became(t, "decline", "ben") },
		"end":     func(t *testing.T, c *calling) { t.Helper(); c.became(t, "end", "ada") },
		"job": func(t *testing.T, c *calling) {
			t.Helper()
			wait, err := c.s.Calls.MissCall(t.Context(), c.owner.TenantID, c.call.SessionID)
			require.NoError(t, err)
			require.Zero(t, wait)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCalling(t)
			c.ringOut(t)
			act(t, c)
			missed(t, c)
		})
	}
}

func TestPermissionsInACall(t *testing.T) {
	t.Parallel()
	c := newCalling(t)
	ada, other := c.s.With(t, c.call.Token), c.s.With(t, c.owner.Ring(t, nil).Token)
	end := func(who *apitest.Caller, userID string) apitest.Response {
		return who.Call(t, "POST", "/v1/me/calls/"+c.call.SessionID+"/end", map[string]any{"userId": userID})
	}
	end(ada, "ben").Problem(t, 403, "forbidden")
	end(other, "ada").Problem(t, 404, "not_found")
	end(c.s.Register(t), "ada").Problem(t, 404, "not_found")
	ada.Call(t, "POST", "/v1/me/calls/"+c.call.SessionID+"/answer", map[string]any{"userId": "ben"}).Problem(t, 401, "unauthenticated")
	end(ada, "ada").Is(t, 201)
	conference := c.owner.Session(t, nil)
	p := c.owner.Call(t, "POST", "/v1/me/calls/"+conference.ID+"/end", map[string]any{"userId": "ada"}).Problem(t, 404, "not_found")
	require.Equal(t, "call not found", p.Message)

	// No other user may join, and the callee only by answering.
	c = newCalling(t)
	c.owner.SessionToken(t, c.call.SessionID, "eve", nil).Problem(t, 403, "forbidden")
	c.owner.Call(t, "POST", "/v1/me/sessions/"+c.call.SessionID+"/participants/ben/admit", nil).Problem(t, 409, "conflict")
	ben := c.owner.Join(t, c.call.SessionID, "ben", nil)
	require.Equal(t, api.ParticipantPerms{}, ben.Perms)
	require.Equal(t, "waiting", c.owner.Participant(t, c.call.SessionID, "ben").State)
	c.do(t, "answer", "ben").Is(t, 201)
	require.Equal(t, "joined", c.owner.Participant(t, c.call.SessionID, "ben").State, "it was connected already")

	// A role doesn't help either, and a kicked callee may not answer.
	c = newCalling(t)
	c.owner.Join(t, c.call.SessionID, "ben", nil)
	path := "/v1/me/sessions/" + c.call.SessionID + "/participants/ben"
	c.owner.Call(t, "PATCH", path, map[string]any{"role": "cohost"}).Is(t, 200)
	require.Equal(t, api.ParticipantPerms{}, c.owner.Join(t, c.call.SessionID, "ben", nil).Perms)
	require.Equal(t, "waiting", c.owner.Participant(t, c.call.SessionID, "ben").State)
	c.owner.Call(t, "DELETE", path, nil).Is(t, 200)
	c.do(t, "answer", "ben").Problem(t, 403, "forbidden")
}

// TestACallThatItsCallerCannotEnterDoesNotRing checks that a call which its caller can't join isn't
// created, and that one which its callee can't join isn't answered. A repeated request
// gets the state at that time.
func TestACallThatItsCallerCannotEnterDoesNotRing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	require.NoError(t, s.Sessions.Retire(t.Context())) // it had the only SFU
	const body = `{"fromUserId":"ada","toUserId":"ben","kind":"video"}`
	for _, keys := range [][]string{nil, {"k"}, {"k"}} {
		post(t, owner, s, "/v1/me/calls/invite", body, keys...).Problem(t, 503, "unavailable")
	}
	count := func(table string) (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	require.Equal(t, []int{0, 0, 0}, []int{count("sessions"), count("room_placements"), count("river_job WHERE kind IN ('push_send', 'call_miss')")})

	other := apitest.New(t, apitest.Options{Pool: s.Pool, SFUURL: "wss://other"})
	require.NoError(t, other.Sessions.Beat(t.Context(), 0))
	first := post(t, owner, s, "/v1/me/calls/invite", body, "k")
	replayed(t, first, post(t, owner, s, "/v1/me/calls/invite", body, "k"))
	var a api.CallAdmission
	first.Into(t, 201, &a)
	require.Equal(t, "wss://other", a.SfuURL)
	require.Equal(t, []int{1, 1, 2}, []int{count("sessions"), count("room_placements"), count("river_job WHERE kind IN ('push_send', 'call_miss')")})

	require.NoError(t, other.Sessions.Retire(t.Context()))
	answer := "/v1/me/calls/" + a.SessionID + "/answer"
	for range 2 {
		post(t, owner, s, answer, `{"userId":"ben"}`, "l").Problem(t, 503, "unavailable")
	}
	names, _ := eventsOf(t, s, owner.TenantID, a.SessionID)
	require.Equal(t, []string{"session.created", "call.invited"}, names, "it rings on")
	third := apitest.New(t, apitest.Options{Pool: s.Pool, SFUURL: "wss://third"})
	require.NoError(t, third.Sessions.Beat(t.Context(), 0))
	post(t, owner, s, answer, `{"userId":"ben"}`, "l").Into(t, 201, &a)
	require.Equal(t, []any{api.SessionStateLive, "wss://third", api.ParticipantRoleGuest}, []any{a.State, a.SfuURL, a.Role})
}
