package e2e

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/soak"
)

// TestKillWhileRestreaming kills the server repeatedly while a stream is forwarded. After each start the encoder publishes again, and each
// open route continues from a key picture. A route that was detached just before the kill stays detached. Each route's events are sent
// once and in order.
func TestKillWhileRestreaming(t *testing.T) {
	t.Parallel()
	pool, there := dbtest.New(t), newReceiver(t)
	s := serve(t, set("DATABASE_URL", pool.Config().ConnString()), set("RATE_LIMIT_CALLER", "off"), set("RATE_LIMIT_TENANT", "off"))
	a := signUp(t, s)
	_, err := pool.Exec(t.Context(), "UPDATE tenants SET plan = 'PRO'")
	require.NoError(t, err)
	hooks := newSink(t, a, nil, api.EventNameRestreamStarted, api.EventNameRestreamEnded, api.EventNameRestreamFailed)
	steady, passing := a.restreamTarget(there.url("steady")), a.restreamTarget(there.url("passing"))
	stream := a.newStream(api.StreamModeLOWLATENCY, 600)
	attach := func(ids ...string) {
		created(a.AttachRestreamTargetsWithResponse(t.Context(), stream.ID, api.RestreamAttachmentInput{TargetIds: ids}))(t)
	}
	attach(steady.ID, passing.ID)

	seenSteady, seenPassing, detached := 0, 0, false
	for round := range soak.Times(10, 30) {
		encoder := encode(t, target(stream))
		there.receives(t, "steady", seenSteady)
		if detached {
			require.Len(t, there.of("passing"), seenPassing, "a detached target got the stream")
			require.Equal(t, api.RestreamRouteStatusEnded, a.routes(stream.ID)[passing.ID].Status)
			attach(passing.ID)
		}
		there.receives(t, "passing", seenPassing)
		// In some rounds the server has stored that the routes are live, which takes five seconds if the target acknowledges nothing.
		if round%5 == 0 {
			until(t, "the routes are live", func() bool {
				now := a.routes(stream.ID)
				return now[steady.ID].Status == api.RestreamRouteStatusLive && now[passing.ID].Status == api.RestreamRouteStatusLive
			})
		}
		pause(t, rand.N(300*time.Millisecond))
		if detached = round%3 == 1; detached {
			answer, err := a.DetachRestreamTargetWithResponse(t.Context(), stream.ID, passing.ID)
			require.NoError(t, err)
			require.Equal(t, api.RestreamRouteStatusEnded, answer.JSON200.Status)
		}
		s.kill()
		encoder.wait(t)
		seenSteady, seenPassing = len(there.of("steady")), len(there.of("passing"))
		s.start(t)
	}

	encoder := encode(t, target(stream))
	there.receives(t, "steady", seenSteady)
	until(t, "the route is live", func() bool { return a.routes(stream.ID)[steady.ID].Status == api.RestreamRouteStatusLive })
	for _, id := range []string{steady.ID, passing.ID} {
		answer, err := a.DetachRestreamTargetWithResponse(t.Context(), stream.ID, id)
		require.NoError(t, err)
		require.Equal(t, api.RestreamRouteStatusEnded, answer.JSON200.Status)
	}
	encoder.terminate(t)
	requireRouteEvents(t, pool)
	require.Len(t, column(t, pool, "SELECT id FROM restream_routes WHERE target_id = '"+steady.ID+"'"), 1)
	hooks.settled(a)
	events := column(t, pool, "SELECT event FROM events WHERE event LIKE 'restream.%' ORDER BY id")
	var got []string
	for _, name := range hooks.about(stream.ID) {
		got = append(got, string(name))
	}
	require.Equal(t, events, got, "each event is delivered, in order")
	require.False(t, slices.Contains(events, "restream.failed"))
}

// requireRouteEvents requires one event for each change of a route that its row shows, the start before the end.
func requireRouteEvents(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	require.Empty(t, column(t, pool, `SELECT r.id || ' ' || r.status || ': ' || coalesce(string_agg(e.event, ', ' ORDER BY e.id), 'no events')
		FROM restream_routes r LEFT JOIN events e ON e.subject = r.stream_id AND e.payload->'data'->>'routeId' = r.id
		GROUP BY r.id HAVING coalesce(string_agg(e.event, ', ' ORDER BY e.id), '') <> concat_ws(', ',
			CASE WHEN r.started_at IS NOT NULL THEN 'restream.started' END,
			CASE WHEN r.status = 'failed' THEN 'restream.failed' WHEN r.status = 'ended' AND r.started_at IS NOT NULL THEN 'restream.ended' END)`))
}
