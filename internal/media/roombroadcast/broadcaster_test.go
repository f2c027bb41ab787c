package roombroadcast_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/roombroadcast"
	"showfloor/internal/media/sfu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ended is the end of a broadcast.
type ended struct {
	id     string
	reason error
}

// rig is a Broadcaster with one place, and what it has reported.
type rig struct {
	*roombroadcast.Broadcaster

	hub         *hub.Hub
	unpublished chan string
	onAir       chan string
	ended       chan ended
	// answers are those of the next admissions; afterwards all are admitted.
	answers chan error
}

var errRefused = errors.New("refused")

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		hub: hub.New(hub.Config{}), unpublished: make(chan string, 10), onAir: make(chan string, 10), ended: make(chan ended, 10),
		answers: make(chan error, 10),
	}
	var serial atomic.Int64
	r.Broadcaster = roombroadcast.New(roombroadcast.Config{
		Hub: r.hub, Engine: compose.New(slog.New(slog.DiscardHandler)), Most: 1,
		NewPublisherID: func() string { return "pub" + string(rune('0'+serial.Add(1))) },
		Publish: func(_ context.Context, _, streamID, _ string) (hub.Broadcast, bool, error) {
			select {
			case err := <-r.answers:
				return hub.Broadcast{}, errors.Is(err, errRefused), err
			default:
				return hub.Broadcast{StreamID: streamID}, false, nil
			}
		},
		Unpublish: func(_ context.Context, publisherID string) { r.unpublished <- publisherID },
		OnAir:     func(id string) { r.onAir <- id },
		Ended:     func(id string, reason error) { r.ended <- ended{id, reason} },
	})
	t.Cleanup(r.hub.Close)
	return r
}

func (r *rig) begin(t *testing.T, id, stream string) error {
	t.Helper()
	_, err := r.Begin(t.Context(), sfu.BroadcastInfo{ID: id, StreamID: stream}, "A room")
	return err
}

// TestABroadcastIsPublished: without participants it is black and silent. It has both tracks in times that grow.
func TestABroadcastIsPublished(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.begin(t, "one", "stream"))
	require.Equal(t, []string{"one"}, r.Running())
	s, onAir := r.hub.Stream("stream")
	require.True(t, onAir)
	reader := s.Subscribe()
	defer reader.Close()
	tracks, keys := map[hub.Codec]*hub.Track{}, 0
	for keys < 2 {
		u, err := reader.Next(t.Context())
		require.NoError(t, err)
		tracks[u.Track.Codec] = u.Track
		if u.Track.Codec.Video() && u.Key {
			keys++
		}
	}
	require.Equal(t, 1280, tracks[hub.H264].Width)
	require.Equal(t, 48_000, tracks[hub.AAC].SampleRate)
	require.Equal(t, "one", <-r.onAir)

	require.ErrorIs(t, r.begin(t, "two", "other"), roombroadcast.ErrNoPlace)
	require.Equal(t, ended{"two", roombroadcast.ErrNoPlace}, <-r.ended)
	go r.End("one") // the room is opened again before the former one has ended
	again := make(chan error)
	go func() { again <- r.begin(t, "one", "stream") }()
	require.Equal(t, "pub1", <-r.unpublished)
	require.NoError(t, <-again)
	r.End("one")
	r.End("one")
	require.Empty(t, r.ended)
	require.NoError(t, r.begin(t, "three", "other"), "the place is free again")
	r.End("three")
}

// TestATakeoverEndsTheBroadcast: its room ends it then.
func TestATakeoverEndsTheBroadcast(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.begin(t, "one", "stream"))
	p, err := r.hub.Publish(hub.Broadcast{StreamID: "stream"}, "encoder", func(error) {})
	require.NoError(t, err)
	require.Equal(t, ended{"one", hub.ErrReplaced}, <-r.ended)
	r.End("one")
	require.Equal(t, "encoder", p.Stream().PublisherID())
}

// TestAnAdmissionIsRepeated: a failure is repeated, a refusal isn't.
func TestAnAdmissionIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.answers <- errors.New("no database")
	r.answers <- errRefused
	require.ErrorIs(t, r.begin(t, "one", "stream"), errRefused)
	require.Equal(t, ended{"one", errRefused}, <-r.ended)
	require.Equal(t, "pub2", <-r.unpublished)
	r.answers <- errors.New("no database")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Begin(ctx, sfu.BroadcastInfo{ID: "two", StreamID: "stream"}, "")
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, r.ended, "the room has ended it")
	require.NoError(t, r.begin(t, "three", "stream"))
	r.End("three")
}
