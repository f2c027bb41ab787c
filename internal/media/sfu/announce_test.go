package sfu_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// stoppedClock is a clock for the server that only forward moves.
func stoppedClock() (set func(*sfu.Config), forward func(time.Duration)) {
	var at atomic.Int64
	at.Store(time.Now().UnixNano())
	return func(c *sfu.Config) {
		c.Now = func() time.Time { return time.Unix(0, at.Load()) }
	}, func(d time.Duration) { at.Add(int64(d)) }
}

// TestMutesBeyondTheBudgetAreMerged: ten are announced at once, then two a second, and the last
// state always.
func TestMutesBeyondTheBudgetAreMerged(t *testing.T) {
	t.Parallel()
	stopped, forward := stoppedClock()
	r := newRig(t, stopped)
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	camera := bob.Publish(t, sfutest.Camera())[0].ID
	bob.Publish(t, sfutest.Microphone())
	ada.ExpectTrack(t, "bob", "camera")
	mutes := func() (list []bool) {
		for _, m := range ada.Messages() {
			if m.Type == "track" && m.Track.ID == camera {
				list = append(list, m.Track.Muted)
			}
		}
		return list
	}
	before := len(mutes())
	mute := func(muted bool) { bob.Send(t, map[string]any{"type": "mute", "id": camera, "muted": muted}) }
	for range 30 {
		mute(true)
		mute(false)
	}
	mute(true)
	bob.Send(t, dataTo("sent after the mutes", "ada"))
	ada.Expect(t, "bob's next message", func(m sfutest.Message) bool { return m.Type == "data" })
	require.LessOrEqual(t, len(mutes())-before, 10)
	forward(time.Second)
	eventually(t, "bob is muted", func() bool { list := mutes(); return list[len(list)-1] })
	require.LessOrEqual(t, len(mutes())-before, 12)
}

// TestPublishesAreLimited: each publication makes all others renegotiate.
func TestPublishesAreLimited(t *testing.T) {
	t.Parallel()
	stopped, forward := stoppedClock()
	r := newRig(t, func(c *sfu.Config) {
		stopped(c)
		c.Limits.Offers = 1000
	})
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	camera := bob.Publish(t, sfutest.Camera())[0]
	ada.Sees(t, camera.ID, 1)
	for range 9 {
		sound := bob.Publish(t, sfutest.Microphone())[0]
		require.NotEmpty(t, sound.ID)
		bob.Unpublish(t, sound)
	}
	require.Equal(t, "answer", bob.Offer(t).Type, "an offer of nothing new")
	// A new connection gets no new budget.
	bob = r.join(t, "bob")
	refused := bob.Publish(t, sfutest.Camera())[0]
	require.Equal(t, "rate_limited", refused.Refused.Code)
	forward(time.Second)
	answer := bob.Offer(t)
	require.Equal(t, "answer", answer.Type)
	ada.ExpectTrack(t, "bob", "camera")
	require.NotEmpty(t, ada.Publish(t, sfutest.Camera())[0].ID, "others have a budget of their own")
}
