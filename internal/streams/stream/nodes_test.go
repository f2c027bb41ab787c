package stream_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/streams/stream"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestADeadNodesBroadcastsEnd(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, apitest.Options{Pool: dbtest.New(t)}, 0) // EndStranded ends streams of all tenants
	other := stream.New(stream.Config{Pool: r.Pool, Node: "node_survivor", Now: r.Clock.Now, Events: r.Events, Jobs: r.Inserter, Recordings: r.Recordings, Restreams: r.Restreams, Quotas: r.Quotas, Usage: r.Usage})
	pass := func(d time.Duration, alive ...*stream.Service) {
		t.Helper()
		for range int(d / stream.HeartbeatEvery) {
			r.Clock.Advance(stream.HeartbeatEvery)
			for _, node := range alive {
				_, err := node.Heartbeat(t.Context(), nil)
				require.NoError(t, err)
			}
			require.NoError(t, other.EndStranded(t.Context()))
		}
	}
	pass(stream.HeartbeatEvery, r.Streams, other)
	r.air(t)
	pass(5*time.Minute, r.Streams, other) // both nodes are alive
	pass(50*time.Second, other)           // a long pause, but shorter than nodeGone
	r.is(t, stream.Live, startedEvent)

	pass(stream.HeartbeatEvery, r.Streams, other)
	pass(5 * time.Minute) // no node can write: that doesn't count as dead either
	pass(50*time.Second, other)
	require.NoError(t, r.Streams.EndStranded(t.Context()), "after a gap no node is judged by its missing heartbeats, not even this one")
	r.is(t, stream.Live, startedEvent)

	pass(time.Minute, other)
	r.is(t, stream.Ended, startedEvent, endedEvent)
}

func TestANodeGetsItsEndedConnections(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	first := r.air(t)
	second := r.air(t)
	ended, err := r.Streams.Heartbeat(t.Context(), []string{first, second, "pub_unknown"})
	require.NoError(t, err)
	require.Equal(t, []string{first}, ended)
}
