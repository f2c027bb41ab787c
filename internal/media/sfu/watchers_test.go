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

// TestATenantsWatchersLeavePlacesForOthers: one tenant gets half of the places, over all its rooms. Another tenant gets the rest.
func TestATenantsWatchersLeavePlacesForOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.MaxWatchers = 4 })
	r.kind = sfu.StreamRoom
	bob := r.join(t, "bob:viewer", watches)
	r.join(t, "cleo:viewer", watches)
	require.False(t, sfutest.Connect(t, r.options(t, "dora:viewer", watches)).ExpectBye(t, "session_full").Retry)
	require.Empty(t, r.grant("dora").UserID, "the gate was not asked")
	r.join(t, "other-1:viewer", watches)
	r.join(t, "other-2:viewer", watches)
	sfutest.Connect(t, r.options(t, "other-3:viewer", watches)).ExpectBye(t, "session_full")
	require.Equal(t, 4, r.server.Stats().Watchers)
	bob.Send(t, map[string]any{"type": "leave"})
	eventually(t, "bob has left", func() bool { return r.server.Stats().Watchers == 3 })
	sfutest.Connect(t, r.options(t, "other-3:viewer", watches)).ExpectBye(t, "session_full")
	r.join(t, "dora:viewer", watches)
	require.Equal(t, 4, r.server.Stats().Watchers)
}

func TestTenantWatchers(t *testing.T) {
	t.Parallel()
	for most, ofTenant := range map[int]int{0: 0, 1: 1, 2: 1, 3: 2, 200: 100} {
		require.Equal(t, ofTenant, sfu.TenantWatchers(most))
	}
}
