package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// Events of one broadcast, in order.
var (
	justStarted     = []api.EventName{api.EventNameStreamStarted}
	startedAndEnded = []api.EventName{api.EventNameStreamStarted, api.EventNameStreamEnded}
)

// TestKillWhilePublishing kills the server, and with it the master of its
// built-in PostgreSQL, in the middle of two broadcasts.
func TestKillWhilePublishing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := signUp(t, s)
	hooks := newSink(t, a, nil)
	fragile, patient := a.newStream(api.StreamModeLOWLATENCY, 0), a.newStream(api.StreamModeLOWLATENCY, 600)
	encoders := []*process{encode(t, target(fragile)), encode(t, target(patient))}
	for _, stream := range []api.Stream{fragile, patient} {
		a.await(stream.ID, api.StreamStatusLIVE)
		hooks.await(stream.ID, 1)
	}
	playback := a.playback(patient.ID)
	began := a.stream(patient.ID).StartedAt
	player := follow(t, playback.URL)

	s.kill()
	for _, e := range encoders {
		require.NotZero(t, e.wait(t), "the connection is gone")
	}
	s.start(t)
	t.Logf("start after kill -9: ready after %s", s.took)

	// Without a reconnect window the broadcast has ended; with one, it waits
	// for the encoder.
	require.Equal(t, api.StreamStatusENDED, a.stream(fragile.ID).Status)
	require.Equal(t, startedAndEnded, hooks.await(fragile.ID, 2))
	require.Equal(t, api.StreamStatusRECONNECTING, a.stream(patient.ID).Status)
	requireNotLive(t, playback.URL)

	back := encode(t, target(patient))
	a.await(patient.ID, api.StreamStatusLIVE)
	probe(t, playback.URL)
	require.Contains(t, player.load(), "#EXTINF", "the playlist of before leads to the new one")
	require.Equal(t, began, a.stream(patient.ID).StartedAt)

	// A second kill, without any activity since the first.
	s.kill()
	back.wait(t)
	s.start(t)
	require.Equal(t, api.StreamStatusRECONNECTING, a.stream(patient.ID).Status)
	again := encode(t, target(patient))
	a.await(patient.ID, api.StreamStatusLIVE)
	require.Equal(t, justStarted, hooks.about(patient.ID), "it is still the same broadcast")
	require.Equal(t, startedAndEnded, hooks.about(fragile.ID))
	require.Len(t, hooks.settled(a), 3)
	again.terminate(t)
	a.await(patient.ID, api.StreamStatusRECONNECTING)
}

// TestKillBetweenCommitAndDelivery kills the server while an endpoint has
// received the webhook, but hasn't answered yet.
func TestKillBetweenCommitAndDelivery(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := signUp(t, s)
	arrived, dead := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(dead) })
	t.Cleanup(release) // otherwise the receiver would never close
	first := sync.OnceFunc(func() {
		close(arrived)
		<-dead
	})
	hooks := newSink(t, a, func(arrival) { first() })
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encoder := encode(t, target(stream))
	within(t, "the webhook", arrived)
	s.kill()
	release()
	encoder.wait(t)
	before := hooks.all()
	require.Len(t, before, 1)

	s.start(t)
	require.Equal(t, startedAndEnded, hooks.await(stream.ID, 2))
	list := hooks.settled(a)
	require.Len(t, list, 2)
	require.Equal(t, before[0].delivery, list[0].ID)
	all := hooks.all()
	require.Len(t, all, 3, "the first came twice")
	require.Equal(t, before[0], all[1], "the same delivery with the same content")
}

// TestKillAmongDeliveriesOfOneSubject kills the server while one worker makes
// the deliveries of a stream. The remaining ones must follow in order, and only
// the one in progress may arrive twice.
func TestKillAmongDeliveriesOfOneSubject(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := signUp(t, s)
	const broadcasts, killedAt = 15, 9
	written, arrived, dead := make(chan struct{}), make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(dead) })
	t.Cleanup(release)
	var n atomic.Int32
	hooks := newSink(t, a, func(arrival) {
		switch n.Add(1) {
		case 1:
			<-written // so that all other deliveries wait for this one
		case killedAt:
			close(arrived)
			<-dead
		}
	})
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	for i := range broadcasts {
		callback := api.IngestCallback{ClientID: fmt.Sprint("encoder-", i), Stream: stream.StreamKey}
		created(a.IngestPublishWithResponse(t.Context(), callback))(t)
		created(a.IngestUnpublishWithResponse(t.Context(), callback))(t)
	}
	close(written)
	within(t, "the webhook", arrived)
	s.kill()
	release()
	before := hooks.all()
	require.Len(t, before, killedAt)

	s.start(t)
	var want []api.EventName
	for range broadcasts {
		want = append(want, startedAndEnded...)
	}
	require.Equal(t, want, hooks.await(stream.ID, 2*broadcasts))
	require.Len(t, hooks.settled(a), 2*broadcasts)
	all := hooks.all()
	require.Len(t, all, 2*broadcasts+1)
	require.Equal(t, before[killedAt-1], all[killedAt], "the one under way goes first")
}
