package restream_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/streams/restream"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// rig is a stream with two targets.
type rig struct {
	*apitest.Server

	owner    *apitest.Caller
	caller   tenancy.Caller
	st       api.Stream
	one, two api.RestreamTarget
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	owner.SetPlan(t, "PRO")
	return &rig{s, owner, tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}, owner.Stream(t, map[string]any{"reconnectWindowSec": 60}),
		owner.RestreamTarget(t, "rtmp://one.example/app/key-one"), owner.RestreamTarget(t, "rtmp://two.example/app/key-two")}
}

// air puts the stream on air on a server.
func (r *rig) air(t *testing.T, s *apitest.Server) (conn string) {
	t.Helper()
	conn = id.New(id.Publisher)
	_, err := s.Streams.Publish(t.Context(), stream.Attempt{PublisherID: conn, Source: stream.SourceRTMP, Key: r.st.StreamKey, RemoteIP: "192.0.2.1"})
	require.NoError(t, err)
	_, err = s.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	return conn
}

func (r *rig) attach(t *testing.T, targets ...api.RestreamTarget) {
	t.Helper()
	var ids []string
	for _, target := range targets {
		ids = append(ids, target.ID)
	}
	n, err := r.Restreams.AttachRestreamTargets(t.Context(), r.caller, r.st.ID, ids)
	require.NoError(t, err)
	require.Equal(t, len(ids), n)
}

// wanted returns the routes that a server forwards, by target.
func (r *rig) wanted(t *testing.T, s *apitest.Server) map[string]restream.Want {
	t.Helper()
	list, err := s.Restreams.Wanted(t.Context(), r.st.ID)
	require.NoError(t, err)
	all, err := s.Restreams.WantedHere(t.Context())
	require.NoError(t, err)
	require.Equal(t, list, all)
	routes, err := r.Restreams.ListRestreamRoutes(t.Context(), r.caller, r.st.ID, nil, 50)
	require.NoError(t, err)
	byTarget := map[string]restream.Want{}
	for _, w := range list {
		for _, route := range routes {
			if route.ID == w.RouteID {
				byTarget[route.TargetID] = w
			}
		}
	}
	return byTarget
}

func (r *rig) statuses(t *testing.T) (list []string) {
	t.Helper()
	routes, err := r.Restreams.ListRestreamRoutes(t.Context(), r.caller, r.st.ID, nil, 50)
	require.NoError(t, err)
	for _, route := range routes {
		list = append(list, route.TargetID+" "+route.Status)
	}
	return list
}

// events returns the stream's events of routes, in order, each with its data.
func (r *rig) events(t *testing.T) (names []string, data []map[string]any) {
	t.Helper()
	rows, err := r.Pool.Query(t.Context(),
		"SELECT event, payload FROM events WHERE tenant_id = $1 AND subject = $2 AND event LIKE 'restream.%' ORDER BY id", r.owner.TenantID, r.st.ID)
	require.NoError(t, err)
	var name string
	var payload []byte
	_, err = pgx.ForEachRow(rows, []any{&name, &payload}, func() error {
		var e struct{ Data map[string]any }
		names = append(names, name)
		err := json.Unmarshal(payload, &e)
		data = append(data, e.Data)
		return err
	})
	require.NoError(t, err)
	return names, data
}

func TestARouteFromAttachingToTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.attach(t, r.one, r.two)
	require.Empty(t, r.wanted(t, r.Server), "the stream isn't on air")
	conn := r.air(t, r.Server)
	wanted := r.wanted(t, r.Server)
	require.Len(t, wanted, 2)
	one, two := wanted[r.one.ID], wanted[r.two.ID]
	require.Equal(t, []any{"one.example:1935", "key-one", false}, []any{one.Address.Host, one.Address.Key, one.Reached})

	for range 2 { // reports are repeated
		require.NoError(t, r.Restreams.RouteLive(t.Context(), one.RouteID))
	}
	require.True(t, r.wanted(t, r.Server)[r.one.ID].Reached)
	for range 2 {
		require.NoError(t, r.Restreams.RouteFailed(t.Context(), two.RouteID, "the target refused the stream"))
	}
	require.NoError(t, r.Restreams.RouteLive(t.Context(), two.RouteID), "too late")
	require.Len(t, r.wanted(t, r.Server), 1)
	r.attach(t, r.two)
	require.NotEqual(t, two.RouteID, r.wanted(t, r.Server)[r.two.ID].RouteID)

	r.Clock.Advance(time.Minute)
	require.NoError(t, r.Streams.Unpublish(t.Context(), conn))
	require.Len(t, r.wanted(t, r.Server), 2, "the reconnect window belongs to the broadcast")
	require.NoError(t, r.Streams.ForceStopStream(t.Context(), r.caller.Actor(), r.st.ID, "enough"))
	require.Empty(t, r.wanted(t, r.Server))
	require.Equal(t, []string{r.two.ID + " ended", r.two.ID + " failed", r.one.ID + " ended"}, r.statuses(t))
	require.NoError(t, r.Restreams.RouteFailed(t.Context(), one.RouteID, "too late"))
	names, data := r.events(t)
	require.Equal(t, []string{"restream.started", "restream.failed", "restream.ended"}, names, "the second route to two was never live")
	require.Equal(t, "the target refused the stream", data[1]["errorMessage"])
	require.Nil(t, data[1]["startedAt"])
	require.Equal(t, one.RouteID, data[2]["routeId"])
	require.Equal(t, map[string]any{"name": "Our channel", "platform": "custom"}, data[0]["target"])
}

// TestAnotherNodeContinuesTheRoutes that takes the stream over, with the time since which a target isn't reached.
func TestAnotherNodeContinuesTheRoutes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := apitest.New(t, apitest.Options{Pool: r.Pool})
	r.attach(t, r.one)
	r.air(t, r.Server)
	route := r.wanted(t, r.Server)[r.one.ID]
	require.NoError(t, r.Restreams.RouteLive(t.Context(), route.RouteID))
	lost := r.Clock.Now().Add(-time.Minute)
	require.NoError(t, r.Restreams.SaveHealth(t.Context(), []restream.Health{
		{RouteID: route.RouteID, BitrateKbps: 2500, DroppedFrames: 3, Reconnects: 2, LastError: "the target closed the connection", LostAt: lost},
	}))
	r.air(t, other)
	require.Empty(t, r.wanted(t, r.Server))
	moved := r.wanted(t, other)[r.one.ID]
	require.Equal(t, route.RouteID, moved.RouteID)
	require.True(t, moved.Reached)
	require.WithinDuration(t, lost, moved.LostAt, time.Millisecond)
	var list []api.RestreamRoute
	r.owner.Call(t, "GET", "/v1/me/restream/streams/"+r.st.ID, nil).Into(t, 200, &list)
	h := list[0].Health.MustGet()
	require.Equal(t, []any{2500, int64(3), int64(2), true}, []any{h.BitrateKbps, h.DroppedFrames, h.Reconnects, h.ConnectedAt.IsNull()})
	require.Equal(t, "the target closed the connection", h.LastError.MustGet())
	late := []restream.Health{{RouteID: route.RouteID, ConnectedAt: r.Clock.Now()}}
	require.NoError(t, r.Restreams.SaveHealth(t.Context(), late))
	require.False(t, r.wanted(t, other)[r.one.ID].LostAt.IsZero(), "the stream isn't here any more")
	require.NoError(t, other.Restreams.SaveHealth(t.Context(), late))
	require.True(t, r.wanted(t, other)[r.one.ID].LostAt.IsZero())
	r.Clock.Advance(time.Minute)
	r.owner.Call(t, "GET", "/v1/me/restream/streams/"+r.st.ID, nil).Into(t, 200, &list)
	require.True(t, list[0].Health.IsNull(), "the node was killed")
	names, _ := r.events(t)
	require.Equal(t, []string{"restream.started"}, names)
}

// TestATargetsOpenRoutesAreBounded over all streams, also under a race for the last one.
func TestATargetsOpenRoutesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	attach := func(streamID string) error {
		_, err := r.Restreams.AttachRestreamTargets(t.Context(), r.caller, streamID, []string{r.one.ID})
		return err
	}
	for range 99 {
		require.NoError(t, attach(r.owner.Stream(t, nil).ID))
	}
	answers := make(chan error, 2)
	for range 2 {
		go func(streamID string) { answers <- attach(streamID) }(r.owner.Stream(t, nil).ID)
	}
	first, second := <-answers, <-answers
	require.NotEqual(t, first == nil, second == nil, "%v, %v", first, second)
	require.True(t, problem.Is(errors.Join(first, second), "too_many_routes"))
	_, err := r.Restreams.DeleteRestreamTarget(t.Context(), r.caller, r.one.ID)
	require.NoError(t, err)
}

// TestASuspendedTenantsRoutesEnd, those of idle streams too, and no other tenant's. restream.ended is sent once, for the live one.
func TestASuspendedTenantsRoutesEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.attach(t, r.one, r.two)
	r.air(t, r.Server)
	require.NoError(t, r.Restreams.RouteLive(t.Context(), r.wanted(t, r.Server)[r.one.ID].RouteID))
	idle := r.owner.Stream(t, nil)
	_, err := r.Restreams.AttachRestreamTargets(t.Context(), r.caller, idle.ID, []string{r.one.ID})
	require.NoError(t, err)
	other := r.Register(t)
	others := other.Stream(t, nil)
	theirs := other.RestreamTarget(t, "rtmp://three.example/app/key-three")
	_, err = r.Restreams.AttachRestreamTargets(t.Context(), tenancy.Caller{TenantID: other.TenantID, UserID: other.UserID}, others.ID, []string{theirs.ID})
	require.NoError(t, err)
	r.Admin(t, platform.SuperAdmin).Call(t, "POST", "/v1/admin/tenants/"+r.owner.TenantID+"/suspend", map[string]any{"reason": "abuse"}).Is(t, 201)
	require.Empty(t, r.wanted(t, r.Server))
	names, _ := r.events(t)
	require.Equal(t, []string{"restream.started", "restream.ended"}, names)
	rows, err := r.Pool.Query(t.Context(), "SELECT stream_id || ' ' || status FROM restream_routes")
	require.NoError(t, err)
	statuses, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, []string{r.st.ID + " ended", r.st.ID + " ended", idle.ID + " ended", others.ID + " pending"}, statuses)
	var events int
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE event LIKE 'restream.%'").Scan(&events))
	require.Equal(t, len(names), events)
}

// TestDeletingATargetRacesWithAttaching: no route stays open.
func TestDeletingATargetRacesWithAttaching(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.air(t, r.Server)
	for range 5 {
		target := r.owner.RestreamTarget(t, "rtmp://race.example/app/key")
		var work sync.WaitGroup
		work.Go(func() {
			_, _ = r.Restreams.AttachRestreamTargets(t.Context(), r.caller, r.st.ID, []string{r.two.ID, target.ID})
		})
		work.Go(func() {
			_, err := r.Restreams.DeleteRestreamTarget(t.Context(), r.caller, target.ID)
			require.NoError(t, err)
		})
		work.Wait()
		require.NotContains(t, r.wanted(t, r.Server), target.ID)
		require.NotContains(t, r.statuses(t), target.ID+" pending")
	}
}

func TestOldRoutesAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.attach(t, r.one, r.two)
	_, err := r.Restreams.DeleteRestreamTarget(t.Context(), r.caller, r.one.ID)
	require.NoError(t, err)
	require.NoError(t, r.Restreams.DeleteOld(t.Context()))
	require.Len(t, r.statuses(t), 2)
	r.Clock.Advance(366 * 24 * time.Hour)
	require.NoError(t, r.Restreams.DeleteOld(t.Context()))
	require.Equal(t, []string{r.two.ID + " pending"}, r.statuses(t))
}

// TestAChangedAddressReachesTheForwarder of a live route, which stays the same route.
func TestAChangedAddressReachesTheForwarder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.attach(t, r.one)
	r.air(t, r.Server)
	route := r.wanted(t, r.Server)[r.one.ID].RouteID
	require.NoError(t, r.Restreams.RouteLive(t.Context(), route))
	_, err := r.Restreams.UpdateRestreamTarget(t.Context(), r.caller, r.one.ID, restream.TargetPatch{RTMPURL: new("rtmp://three.example/app/key-three")})
	require.NoError(t, err)
	want := r.wanted(t, r.Server)[r.one.ID]
	require.Equal(t, []any{route, "three.example:1935", "key-three"}, []any{want.RouteID, want.Address.Host, want.Address.Key})
	names, _ := r.events(t)
	require.Equal(t, []string{"restream.started"}, names)
}

// TestAnUnreadableAddressFailsTheRoute once, with a reason, and the other routes continue.
func TestAnUnreadableAddressFailsTheRoute(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.attach(t, r.one, r.two)
	for _, address := range [][]byte{[]byte("not a sealed text"), r.Box.Seal([]byte("nonsense"), "restream_targets/"+r.one.ID)} {
		_, err := r.Pool.Exec(t.Context(), "UPDATE restream_targets SET address = $1 WHERE id = $2", address, r.one.ID)
		require.NoError(t, err)
		r.air(t, r.Server)
		for range 2 {
			require.Len(t, r.wanted(t, r.Server), 1)
		}
		var reason string
		require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT error_message FROM restream_routes
			WHERE target_id = $1 AND status = 'failed' ORDER BY id DESC LIMIT 1`, r.one.ID).Scan(&reason))
		require.Equal(t, "the server can't read the target's address: change the address of the target, and attach it again", reason)
		r.attach(t, r.one)
	}
	names, _ := r.events(t)
	require.Equal(t, []string{"restream.failed", "restream.failed"}, names)
}

// TestTheOldestRoutesOfAStreamAreDeleted, but no open one.
func TestTheOldestRoutesOfAStreamAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.attach(t, r.two)
	_, err := r.Pool.Exec(t.Context(), `INSERT INTO restream_routes (id, created_at, tenant_id, ended_at, stream_id, updated_at, target_id, status)
		SELECT 'rr_0' || to_char(n, 'FM0000'), now(), $1, now(), $2, now(), $3, 'ended' FROM generate_series(1, 1005) n`,
		r.owner.TenantID, r.st.ID, r.one.ID)
	require.NoError(t, err)
	_, err = r.Pool.Exec(t.Context(), "UPDATE restream_routes SET id = 'rr_00000' WHERE target_id = $1", r.two.ID)
	require.NoError(t, err)
	r.attach(t, r.one)
	var rows, open int
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE status = 'pending') FROM restream_routes
		WHERE stream_id = $1`, r.st.ID).Scan(&rows, &open))
	require.Equal(t, []int{1001, 2}, []int{rows, open}, "the oldest is open")
	var oldest string
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT min(id) FROM restream_routes WHERE status = 'ended'").Scan(&oldest))
	require.Equal(t, "rr_00007", oldest)
}
