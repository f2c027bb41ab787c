package sfu_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

func watches(o *sfutest.Options) { o.Watch = true }

// TestWatchersAreLimited: watchers beyond the limit are refused before the gate is asked, and take no place of others.
func TestWatchersAreLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.MaxWatchers = 1 })
	r.kind = sfu.StreamRoom
	ada := r.join(t, "ada:host")
	bob := r.join(t, "bob:viewer", watches)
	require.Equal(t, 1, r.server.Stats().Watchers)

	vic := sfutest.Connect(t, r.options(t, "vic:viewer", watches))
	require.False(t, vic.ExpectBye(t, "session_full").Retry)
	require.Empty(t, r.grant("vic").UserID, "the gate was not asked")
	r.join(t, "vic:viewer")
	cleo := r.join(t, "cleo:guest")
	cleo.Publish(t, sfutest.Microphone())
	require.Equal(t, 1, r.server.Stats().Watchers)

	ada.Expect(t, "the audience", func(m sfutest.Message) bool { return m.Type == "audience" && m.Count == 2 })
	for _, m := range ada.Messages() {
		require.False(t, m.Type == "participant" && m.Participant.UserID == "bob", "watchers are only counted")
	}
	bob.Send(t, map[string]any{"type": "leave"})
	eventually(t, "bob has left", func() bool { return r.server.Stats().Watchers == 0 })
	r.join(t, "dora:viewer", watches)
}

// TestARefusedWatcherTakesNoPlace: the gate refuses it after it was counted.
func TestARefusedWatcherTakesNoPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.MaxWatchers = 1 })
	r.kind = sfu.StreamRoom
	r.refuse["bob"] = &sfu.ClientError{Code: sfu.CodeLocked}
	sfutest.Connect(t, r.options(t, "bob:viewer", watches)).ExpectBye(t, "locked")
	eventually(t, "bob's place is free", func() bool { return r.server.Stats().Watchers == 0 })
	r.join(t, "vic:viewer", watches)
}

// TestAWatcherIsNoSecondViewer: the stream counts it as its HLS player for 8 s more.
func TestAWatcherIsNoSecondViewer(t *testing.T) {
	t.Parallel()
	stopped, forward := stoppedClock()
	s := newStudioFor(t, nil, func(c *sfu.Config) {
		c.MaxWatchers = 10
		stopped(c)
	})
	s.onAir(t, encoderFPS)
	viewers := func() int {
		stream, live := s.hub.Stream("sess_1")
		require.True(t, live)
		return stream.Stats().Viewers
	}
	s.join(t, "ada:viewer")
	s.join(t, "bob:viewer", watches)
	eventually(t, "ada counts at once", func() bool { return viewers() == 1 })
	forward(8 * time.Second)
	eventually(t, "bob counts too", func() bool { return viewers() == 2 })
}

// TestWatchersAreOfStreamsOnly: only viewers of streams are watchers. Others are announced to moderators as before.
func TestWatchersAreOfStreamsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.MaxWatchers = 1 })
	ada := r.join(t, "ada:host")
	r.join(t, "bob:viewer", watches)
	ada.Expect(t, "bob", func(m sfutest.Message) bool { return m.Type == "participant" && m.Participant.UserID == "bob" })
	require.Zero(t, r.server.Stats().Watchers)
}
