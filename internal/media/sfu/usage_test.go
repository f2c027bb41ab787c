package sfu_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/metering"
	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// handClock is a clock that only the test moves.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newMeter() (*metering.Meter, *handClock) {
	clock := &handClock{now: time.Unix(1_700_000_000, 0)}
	return metering.New(clock.Now), clock
}

// TestParticipantsAreMeasured: the time of each participant from joining to leaving, without the
// time in the waiting room; and the bytes to and from them.
func TestParticipantsAreMeasured(t *testing.T) {
	t.Parallel()
	meter, clock := newMeter()
	r := newRig(t, func(c *sfu.Config) { c.Meter = meter })
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	r.mu.Lock()
	r.waits = true
	r.mu.Unlock()
	r.join(t, "cleo:viewer")
	clock.advance(5 * time.Second)
	bob.Send(t, map[string]any{"type": "leave"})
	eventually(t, "that bob has left", func() bool { return !slices.Contains(r.server.Users("sess_1"), "bob") })
	clock.advance(3 * time.Second)
	r.change("sess_1", "cleo", func(g *sfu.Grant) { g.State = "joined" })
	eventually(t, "that cleo is in", func() bool {
		for _, m := range ada.Messages() {
			if m.Type == "participant" && m.Participant.UserID == "cleo" && m.Participant.State == "joined" {
				return true
			}
		}
		return false
	})
	clock.advance(2 * time.Second)
	list := meter.Read()
	require.Len(t, list, 1)
	require.Equal(t, "sess_1", list[0].ResourceID)
	require.EqualValues(t, 2*5+3+2*2, list[0].Participated)
	require.Zero(t, list[0].Watched+list[0].OnAir)
}

func TestBytesOfARoomAreMeasured(t *testing.T) {
	t.Parallel()
	meter, _ := newMeter()
	r := newRig(t, func(c *sfu.Config) { c.Meter = meter })
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	sent := ada.Publish(t, sfutest.Microphone())
	bob.Hears(t, sent[0].ID, 50)
	sent[0].Stop()
	got := int64(bob.Received(sent[0].ID).Bytes)
	var in, out int64
	eventually(t, "the bytes", func() bool {
		for _, x := range meter.Read() {
			in, out = in+x.BytesIn, out+x.BytesOut
		}
		return in > 0 && out >= got
	})
}

// TestTheAudienceOfAStreamsRoomIsMeasured: only while the stream is shown.
func TestTheAudienceOfAStreamsRoomIsMeasured(t *testing.T) {
	t.Parallel()
	meter, clock := newMeter()
	s := newStudioWith(t, meter)
	s.join(t, "ada:host")
	s.join(t, "bob:viewer")
	s.join(t, "cleo:viewer")
	clock.advance(time.Minute) // nothing is on air
	encoder, err := s.hub.Publish(hub.Broadcast{StreamID: "sess_1"}, "encoder", nil)
	require.NoError(t, err)
	stream := encoder.Stream()
	eventually(t, "the audience", func() bool { return stream.Stats().Viewers == 2 })
	clock.advance(10 * time.Second)
	encoder.Close()
	eventually(t, "that there are no viewers", func() bool { return stream.Stats().Viewers == 0 })
	clock.advance(time.Minute)
	var watched, participated int64
	for _, x := range meter.Read() {
		watched, participated = watched+x.Watched, participated+x.Participated
	}
	require.EqualValues(t, 20, watched)
	require.Zero(t, participated)
}
