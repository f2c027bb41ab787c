package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/console/platform"
	"showfloor/internal/streams/stream"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// broadcastRig is a session with a stream.
type broadcastRig struct {
	*apitest.Server

	owner    *apitest.Caller
	session  api.Session
	stream   api.Stream
	at, path string
}

func newBroadcastRig(t *testing.T) *broadcastRig {
	t.Helper()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)}) // CheckBroadcasts changes broadcasts of all tenants
	owner := s.Register(t)
	r := &broadcastRig{Server: s, owner: owner, session: owner.Session(t, map[string]any{"inviteUserIds": []string{"ben"}})}
	r.stream = owner.Stream(t, nil)
	r.at = sessionsPath + "/" + r.session.ID
	r.path = r.at + "/broadcast"
	return r
}

func into(stream string) map[string]any { return map[string]any{"streamId": stream} }

func (r *broadcastRig) start(t *testing.T) (b api.StreamBroadcast) {
	t.Helper()
	r.owner.Call(t, "POST", r.path, into(r.stream.ID)).Into(t, 201, &b)
	return b
}

// shown is the broadcast in the session.
func (r *broadcastRig) shown(t *testing.T) api.StreamBroadcast {
	t.Helper()
	var got api.Session
	r.owner.Call(t, "GET", r.at, nil).Into(t, 200, &got)
	return got.Broadcast.MustGet()
}

// id is the broadcast's id, which nodes use.
func (r *broadcastRig) id(t *testing.T) (broadcastID string) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT id FROM session_broadcasts WHERE session_id = $1", r.session.ID).Scan(&broadcastID))
	return broadcastID
}

// states are those of the broadcast in the session's events.
func (r *broadcastRig) states(t *testing.T) (list []string) {
	t.Helper()
	names, data := eventsOf(t, r.Server, r.owner.TenantID, r.session.ID)
	for i, name := range names {
		if name == "session.updated" {
			require.Equal(t, []any{"broadcast"}, data[i]["changed"])
			list = append(list, data[i]["broadcast"].(map[string]any)["state"].(string))
		}
	}
	return list
}

func TestSessionBroadcast(t *testing.T) {
	t.Parallel()
	r := newBroadcastRig(t)
	ada, ben := r.owner.Ticket(t, r.session.ID, "ada", nil), r.owner.Ticket(t, r.session.ID, "ben", nil)
	other := r.Register(t)
	body := into(r.stream.ID)

	ben.Call(t, "POST", r.path, body).Problem(t, 403, "forbidden")
	other.Call(t, "POST", r.path, body).Problem(t, 404, "not_found")
	r.owner.Call(t, "POST", r.path, into(other.Stream(t, nil).ID)).Problem(t, 404, "not_found")
	r.owner.Call(t, "POST", r.path, map[string]any{}).Problem(t, 400, "invalid_input")
	r.owner.Call(t, "DELETE", r.path, nil).Problem(t, 404, "not_found")
	var se api.Session
	r.owner.Call(t, "GET", r.at, nil).Into(t, 200, &se)
	require.True(t, se.Broadcast.IsNull())

	for range 2 { // it is idempotent
		var b api.StreamBroadcast
		ada.Call(t, "POST", r.path, body).Into(t, 201, &b)
		require.Equal(t, []any{r.stream.ID, api.StreamBroadcastStateStarting}, []any{b.StreamID, b.State})
		require.True(t, b.StartedAt.IsNull() && b.EndedAt.IsNull() && b.Reason.IsNull())
		require.Equal(t, b, r.shown(t))
	}
	r.owner.Call(t, "POST", r.path, into(r.owner.Stream(t, nil).ID)).Problem(t, 409, "conflict")
	second := r.owner.Session(t, nil)
	r.owner.Call(t, "POST", sessionsPath+"/"+second.ID+"/broadcast", body).Problem(t, 409, "stream_in_use")

	require.NoError(t, r.Sessions.BroadcastOnAir(t.Context(), r.id(t)))
	require.NoError(t, r.Sessions.BroadcastOnAir(t.Context(), r.id(t)))
	require.Equal(t, api.StreamBroadcastStateLive, r.shown(t).State)
	require.Equal(t, r.Clock.Now(), r.shown(t).StartedAt.MustGet().Time)

	ben.Call(t, "DELETE", r.path, nil).Problem(t, 403, "forbidden")
	other.Call(t, "DELETE", r.path, nil).Problem(t, 404, "not_found")
	r.Clock.Advance(3 * time.Second)
	ended := r.Clock.Now()
	for range 2 {
		var b api.StreamBroadcast
		ada.Call(t, "DELETE", r.path, nil).Into(t, 200, &b)
		require.Equal(t, []any{api.StreamBroadcastStateEnded, api.StreamBroadcastEndReasonStopped}, []any{b.State, b.Reason.MustGet()})
		require.Equal(t, ended, b.EndedAt.MustGet().Time)
		r.Clock.Advance(time.Second)
	}
	require.NoError(t, r.Sessions.BroadcastOnAir(t.Context(), r.id(t)), "a late report has no effect")
	require.Equal(t, []string{"starting", "live", "ended"}, r.states(t))

	b := r.start(t)
	require.True(t, b.StartedAt.IsNull() && b.Reason.IsNull(), "it is another one")
	r.owner.Call(t, "POST", r.at+"/end", nil).Is(t, 201)
	require.Equal(t, api.StreamBroadcastEndReasonSessionEnded, r.shown(t).Reason.MustGet())
	r.owner.Call(t, "POST", r.path, body).Problem(t, 409, "conflict")
}

// TestBroadcastPlaces: a server has two places in tests.
func TestBroadcastPlaces(t *testing.T) {
	t.Parallel()
	r := newBroadcastRig(t)
	r.start(t)
	other := r.Register(t)
	second, third := other.Session(t, nil), r.owner.Session(t, nil)
	path := func(s api.Session) string { return sessionsPath + "/" + s.ID + "/broadcast" }
	free := into(r.owner.Stream(t, nil).ID)
	r.owner.Call(t, "POST", path(third), free).Problem(t, 503, "broadcasts_full") // one tenant gets half of them
	other.Call(t, "POST", path(second), into(other.Stream(t, nil).ID)).Is(t, 201)
	another := other.Session(t, nil)
	other.Call(t, "POST", path(another), into(other.Stream(t, nil).ID)).Problem(t, 503, "broadcasts_full")
	first := r.id(t)
	require.NoError(t, r.Sessions.CheckBroadcast(t.Context(), first))
	r.owner.Call(t, "DELETE", r.path, nil).Is(t, 200)
	require.ErrorContains(t, r.Sessions.CheckBroadcast(t.Context(), first), "the broadcast has ended") // a room that learns it late publishes nothing
	r.owner.Call(t, "POST", path(third), free).Is(t, 201)
}

// TestBroadcastStreamIsTaken: an encoder's stream is refused, and so is the broadcast's publisher when an encoder was faster. An
// encoder takes over.
func TestBroadcastStreamIsTaken(t *testing.T) {
	t.Parallel()
	r := newBroadcastRig(t)
	attempt := func(source string) stream.Attempt {
		return stream.Attempt{PublisherID: id.New(id.Publisher), Source: source, StreamID: r.stream.ID, Key: r.stream.StreamKey}
	}
	r.start(t)
	mine := attempt(stream.SourceSession)
	_, err := r.Streams.Publish(t.Context(), mine)
	require.NoError(t, err)
	again := attempt(stream.SourceSession)
	_, err = r.Streams.Publish(t.Context(), again)
	require.NoError(t, err, "of the same session after a restart")
	require.NoError(t, r.Sessions.EndBroadcast(t.Context(), r.id(t), "stream_taken"))
	require.NoError(t, r.Sessions.EndBroadcast(t.Context(), r.id(t), "stream_stopped"))
	require.Equal(t, api.StreamBroadcastStateStarting, r.shown(t).State, "another server has its room now")
	encoder := attempt(stream.SourceRTMP)
	_, err = r.Streams.Publish(t.Context(), encoder)
	require.NoError(t, err)
	current, err := r.Streams.Started(t.Context(), again.PublisherID)
	require.NoError(t, err)
	require.False(t, current)
	_, err = r.Streams.Publish(t.Context(), attempt(stream.SourceSession))
	require.ErrorContains(t, err, "published already")
	require.NoError(t, r.Sessions.EndBroadcast(t.Context(), r.id(t), "stream_taken"))
	require.Equal(t, api.StreamBroadcastEndReasonStreamTaken, r.shown(t).Reason.MustGet())
	r.owner.Call(t, "POST", r.path, into(r.stream.ID)).Problem(t, 409, "stream_in_use")
	_, err = r.Streams.Started(t.Context(), encoder.PublisherID)
	require.NoError(t, err)
	require.NoError(t, r.Streams.Unpublish(t.Context(), encoder.PublisherID))
	r.start(t)
}

// TestBroadcastWithoutAHeartbeat: it is starting again after a while, and ended after ten minutes.
func TestBroadcastWithoutAHeartbeat(t *testing.T) {
	t.Parallel()
	r := newBroadcastRig(t)
	wait := func(length time.Duration) {
		for range length / stream.HeartbeatEvery {
			r.Clock.Advance(stream.HeartbeatEvery)
			_, err := r.Streams.Heartbeat(t.Context(), nil)
			require.NoError(t, err)
		}
	}
	wait(2 * time.Minute) // the server is steady then
	r.start(t)
	require.NoError(t, r.Sessions.BroadcastOnAir(t.Context(), r.id(t)))
	check := func(after time.Duration) api.StreamBroadcast {
		wait(after)
		require.NoError(t, r.Sessions.CheckBroadcasts(t.Context()))
		return r.shown(t)
	}
	require.Equal(t, api.StreamBroadcastStateLive, check(20*time.Second).State)
	require.NoError(t, r.Sessions.TouchBroadcasts(t.Context(), []string{r.id(t)}))
	require.Equal(t, api.StreamBroadcastStateLive, check(20*time.Second).State)
	got := check(20 * time.Second)
	require.Equal(t, api.StreamBroadcastStateStarting, got.State)
	require.False(t, got.StartedAt.IsNull())
	require.Equal(t, api.StreamBroadcastStateStarting, check(9*time.Minute).State)
	require.Equal(t, api.StreamBroadcastEndReasonRoomEmpty, check(time.Minute).Reason.MustGet())
	require.Equal(t, []string{"starting", "live", "starting", "ended"}, r.states(t))
}

// TestASuspensionEndsBroadcasts: with the session, and a new one is refused.
func TestASuspensionEndsBroadcasts(t *testing.T) {
	t.Parallel()
	r := newBroadcastRig(t)
	r.start(t)
	r.Admin(t, platform.SuperAdmin).Call(t, "POST", "/v1/admin/tenants/"+r.owner.TenantID+"/suspend", map[string]any{"reason": "test"}).Is(t, 201)
	var state, reason string
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT state, reason FROM session_broadcasts WHERE id = $1", r.id(t)).Scan(&state, &reason))
	require.Equal(t, []string{"ended", "session_ended"}, []string{state, reason})
	r.owner.Call(t, "POST", r.path, into(r.stream.ID)).Problem(t, 403, "tenant_suspended")
	_, err := r.Streams.Publish(t.Context(), stream.Attempt{PublisherID: id.New(id.Publisher), Source: stream.SourceSession, StreamID: r.stream.ID})
	require.Error(t, err)
}

// TestCallsAreNotBroadcast: they are private.
func TestCallsAreNotBroadcast(t *testing.T) {
	t.Parallel()
	r := newBroadcastRig(t)
	call := r.owner.Ring(t, nil)
	r.owner.Call(t, "POST", sessionsPath+"/"+call.SessionID+"/broadcast", into(r.stream.ID)).Problem(t, 409, "conflict")
}
