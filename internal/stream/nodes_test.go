package stream_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/apitest"
	"showfloor/internal/dbtest"
	"showfloor/internal/stream"
)

func TestADeadNodesBroadcastsEnd(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, apitest.Options{Pool: dbtest.New(t)}, 0) // it ends everybody's
	heartbeat := func() {
		t.Helper()
		_, err := r.Streams.Heartbeat(t.Context(), nil)
		require.NoError(t, err)
	}
	heartbeat()
	r.air(t)
	for range 10 { // it lives
		r.Clock.Advance(stream.HeartbeatEvery)
		heartbeat()
		require.NoError(t, r.Streams.EndStranded(t.Context()))
	}
	r.is(t, stream.Live, startedEvent)

	r.Clock.Advance(50 * time.Second) // a long pause, but no death
	require.NoError(t, r.Streams.EndStranded(t.Context()))
	r.is(t, stream.Live, startedEvent)

	r.Clock.Advance(11 * time.Second)
	for range 2 {
		require.NoError(t, r.Streams.EndStranded(t.Context()))
	}
	r.is(t, stream.Ended, startedEvent, endedEvent)
}

func TestANodeHearsWhatDoesNotCountAnyMore(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	first := r.air(t)
	second := r.air(t)
	ended, err := r.Streams.Heartbeat(t.Context(), []string{first, second, "pub_unknown"})
	require.NoError(t, err)
	require.Equal(t, []string{first}, ended)
}
