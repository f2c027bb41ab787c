package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/redistest"
)

// TestARestreamMovesBetweenServers has two servers on one database and Redis. The stream's encoder moves to the second server, which
// forwards from then on. That server is killed, and the first one continues the route. The target has one connection at a time, and the
// route is the same, without another event.
func TestARestreamMovesBetweenServers(t *testing.T) {
	t.Parallel()
	pool, redis, there := dbtest.New(t), redistest.New(t), newReceiver(t)
	var nodes [2]*server
	for i := range nodes {
		nodes[i] = serve(t, asNode, set("DATABASE_URL", pool.Config().ConnString()), set("REDIS_URL", redis.URL),
			set("RATE_LIMIT_CALLER", "off"), set("MASTER_KEY", "c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI="))
	}
	a := signUp(t, nodes[0])
	hooks := newSink(t, a, nil, api.EventNameRestreamStarted, api.EventNameRestreamEnded, api.EventNameRestreamFailed)
	target, stream := a.restreamTarget(there.url("key")), a.newStream(api.StreamModeLOWLATENCY, 600)
	created(a.AttachRestreamTargetsWithResponse(t.Context(), stream.ID, api.RestreamAttachmentInput{TargetIds: []string{target.ID}}))(t)
	first := encode(t, ingest(t, nodes[0], stream))
	there.receives(t, "key", 0)
	hooks.await(stream.ID, 1)
	route := a.routes(stream.ID)[target.ID]
	require.Equal(t, api.RestreamRouteStatusLive, route.Status)

	second := encode(t, ingest(t, nodes[1], stream))
	first.wait(t)
	there.receives(t, "key", 1)
	there.only(t, "key")
	require.Len(t, there.of("key"), 2, "the first server has not connected again")

	nodes[1].kill()
	second.wait(t)
	until(t, "the connection is gone", func() bool { return !there.of("key")[1].open })
	third := encode(t, ingest(t, nodes[0], stream))
	there.receives(t, "key", 2)
	nodes[1].start(t) // it has nothing to forward any more
	until(t, "the first server reports on the route", func() bool {
		h, err := a.routes(stream.ID)[target.ID].Health.Get()
		return err == nil && h.BitrateKbps > 100
	})
	there.only(t, "key")
	require.Len(t, there.of("key"), 3)
	now := a.routes(stream.ID)[target.ID]
	require.Equal(t, []any{route.ID, route.StartedAt, api.RestreamRouteStatusLive}, []any{now.ID, now.StartedAt, now.Status})

	_, err := a.DetachRestreamTargetWithResponse(t.Context(), stream.ID, target.ID)
	require.NoError(t, err)
	until(t, "the end of the connection", func() bool { return !there.of("key")[2].open })
	require.Equal(t, []api.EventName{api.EventNameRestreamStarted, api.EventNameRestreamEnded}, hooks.await(stream.ID, 2))
	require.Len(t, hooks.settled(a), 2)
	requireRouteEvents(t, pool)
	third.kill()
}
