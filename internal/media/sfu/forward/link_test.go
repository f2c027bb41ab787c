package forward

import (
	"testing"
	"time"

	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// link is a path with a bottleneck and a queue before it.
type link struct {
	*rig

	capacity int // bits per second
	queue    time.Duration
	free     time.Time // when the bottleneck will have sent everything
	recorder *twcc.Recorder
	flying   []arriving
	egress   *Egress
	lost     int
	padding  int
	sound    int  // packets that arrived
	dark     bool // all packets are lost, in both directions
}

type arriving struct {
	at    time.Time
	seq   uint16
	sound bool
}

func newLink(r *rig, capacity int) *link {
	l := &link{rig: r, capacity: capacity, queue: 300 * time.Millisecond, recorder: twcc.NewRecorder(1)}
	l.egress = NewEgress(r.workers, EgressConfig{Now: r.now, WriteRTCP: func([]rtcp.Packet) error { return nil }})
	return l
}

func (l *link) write(h *rtp.Header, payload []byte) (int, error) {
	size := len(payload) + int(h.PaddingSize) + overhead
	if h.Padding {
		l.padding += size
	}
	if l.dark {
		l.lost++
		return 0, nil
	}
	if l.free.Before(l.clock) {
		l.free = l.clock
	}
	if l.free.Sub(l.clock) > l.queue {
		l.lost++
		return 0, nil
	}
	l.free = l.free.Add(time.Duration(size*8) * time.Second / time.Duration(l.capacity))
	b := h.GetExtension(1)
	l.flying = append(l.flying, arriving{l.free.Add(20 * time.Millisecond), uint16(b[0])<<8 | uint16(b[1]), h.PayloadType == 111})
	return size, nil
}

// deliver delivers the packets that have arrived by now.
func (l *link) deliver() {
	for len(l.flying) > 0 && !l.flying[0].at.After(l.clock) {
		p := l.flying[0]
		l.flying = l.flying[1:]
		l.recorder.Record(5, p.seq, p.at.UnixMicro())
		if p.sound {
			l.sound++
		}
	}
}

// conference is a subscriber's view of two publishers with three layers each, and audio.
type conference struct {
	*link

	tracks []*Track
	sound  *Track
	sinks  []*Sink
	owed   [2][3]float64 // bytes
	wanted [2]map[int]bool
	seqs   [2][3]uint16
	ticks  int
	layers [2][]int
}

var layerRates = [3]float64{150e3, 500e3, 1700e3}

func newConference(t *testing.T, capacity int) *conference {
	t.Helper()
	c := &conference{link: newLink(newRig(t), capacity)}
	c.sound = c.track(TrackConfig{Kind: Audio})
	for i := range 2 {
		c.wanted[i] = map[int]bool{}
		c.tracks = append(c.tracks, c.track(TrackConfig{
			Kind: Video, MimeType: "video/VP8", Layers: 3, RequestKeyFrame: func(layer int) { c.wanted[i][layer] = true },
		}))
	}
	ids := Extensions{TransportCC: 1}
	c.egress.Add(c.sound, SinkConfig{Write: c.write, SSRC: 1, PayloadType: 111, Extensions: ids})
	for i, track := range c.tracks {
		s := c.egress.Add(track, SinkConfig{
			Write: c.write, SSRC: uint32(10 + i), PayloadType: 96, RTXSSRC: uint32(20 + i), RTXPayloadType: 97, Extensions: ids,
		})
		s.View(View{Width: 1280 >> i, Height: 720 >> i}) // the first is the larger
		c.sinks = append(c.sinks, s)
	}
	return c
}

// pass simulates a time in steps of 10 ms.
func (c *conference) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for ; d > 0; d -= 10 * time.Millisecond {
		c.advance(10 * time.Millisecond)
		c.ticks++
		if c.ticks%2 == 0 {
			c.sound.Write(0, raw(t, uint16(c.ticks/2), uint32(c.ticks)*480, 1, make([]byte, 100)))
		}
		if c.ticks%3 == 0 {
			for i := range c.tracks {
				c.picture(t, i)
			}
		}
		c.run()
		c.tick()
		c.deliver()
		if c.ticks%5 == 0 && !c.dark {
			c.egress.HandleRTCP(c.recorder.BuildFeedbackPacket())
			c.run()
		}
		for i, s := range c.sinks {
			layer := s.State().Layer
			if l := c.layers[i]; len(l) == 0 || l[len(l)-1] != layer {
				c.layers[i] = append(l, layer)
			}
		}
	}
}

func (c *conference) picture(t *testing.T, track int) {
	t.Helper()
	for layer, rate := range layerRates {
		first := byte(0x10)
		size := rate / 8 * 0.03
		kind := byte(1)
		if c.wanted[track][layer] {
			size, kind = 3*size, 0
			c.owed[track][layer] -= 2 * size / 3
			delete(c.wanted[track], layer)
		}
		if c.owed[track][layer] < -2*size && kind == 1 {
			size /= 2 // saves the bytes of a key picture
			c.owed[track][layer] += size
		}
		for ; size > 0; size -= 1100 {
			b := make([]byte, int(max(min(size, 1100), 20)))
			b[0], b[1] = first, kind
			first = 0
			c.seqs[track][layer]++
			c.tracks[track].Write(layer, raw(t, c.seqs[track][layer], uint32(c.ticks)*900, uint32(layer+1), b))
		}
	}
}

func TestLayersFollowThePath(t *testing.T) {
	t.Parallel()
	c := newConference(t, 1_000_000)
	c.pass(t, 20*time.Second)
	assert.Equal(t, SinkState{Layer: 1}, c.sinks[0].State(), "500 kbit/s for the larger")
	assert.Equal(t, SinkState{Layer: 0}, c.sinks[1].State())
	assert.LessOrEqual(t, len(c.layers[0]), 8, "it doesn't flap: %v", c.layers[0])
	before, lost := c.link.sound, c.lost
	c.pass(t, 20*time.Second)
	assert.GreaterOrEqual(t, c.link.sound-before, 980, "sound gets through")
	assert.Less(t, c.lost-lost, 40)

	c.capacity = 4_000_000
	c.pass(t, 30*time.Second)
	assert.Equal(t, SinkState{Layer: 2}, c.sinks[0].State(), "found by probing")
	assert.Equal(t, SinkState{Layer: 1}, c.sinks[1].State())
	assert.Positive(t, c.padding)
	padding := c.padding
	c.pass(t, 5*time.Second)
	assert.Equal(t, padding, c.padding, "nothing is wanting any more")

	c.capacity = 300_000
	c.pass(t, 20*time.Second)
	assert.Equal(t, SinkState{Layer: 0}, c.sinks[0].State())
	assert.Equal(t, SinkState{Layer: -1, Starved: true}, c.sinks[1].State(), "paused, and told so")
	before = c.link.sound
	c.pass(t, 20*time.Second)
	assert.GreaterOrEqual(t, c.link.sound-before, 950)
}

func TestREMBLimitsTheSentRate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8", Layers: 3})
	x := r.receiver()
	s := x.add(track)
	r.run()
	x.egress.HandleRTCP([]rtcp.Packet{&rtcp.ReceiverEstimatedMaximumBitrate{Bitrate: 700_000}})
	r.pass(time.Second)
	for layer := range 3 {
		track.Write(layer, raw(t, 1, 1, uint32(layer), vp8Key))
	}
	r.run()
	require.Equal(t, SinkState{Layer: 1}, s.State(), "640x360 is taken for 553 kbit/s")
}

// TestPicturesComeBackWithThePath: for a while all packets are lost in both directions, which says
// nothing about the capacity afterwards.
func TestPicturesComeBackWithThePath(t *testing.T) {
	t.Parallel()
	for _, away := range []time.Duration{5 * time.Second, 32 * time.Second} {
		for _, capacity := range []int{600_000, 20_000_000} {
			c := newConference(t, capacity)
			c.pass(t, 20*time.Second)
			c.dark = true
			c.pass(t, away)
			c.dark = false
			c.pass(t, 4*time.Second)
			for _, s := range c.sinks {
				assert.GreaterOrEqual(t, s.State().Layer, 0, "%s away at %d", away, capacity)
			}
			c.pass(t, 15*time.Second)
			lost := c.lost
			c.pass(t, 5*time.Second)
			assert.Less(t, c.lost-lost, 20, "it finds its rate again: %s away at %d", away, capacity)
		}
	}
}

// TestAStarvedPictureIsProbedFor: also beside audio, which uses a part of the path.
func TestAStarvedPictureIsProbedFor(t *testing.T) {
	t.Parallel()
	c := newConference(t, 90_000)
	c.pass(t, 30*time.Second)
	for _, s := range c.sinks {
		require.Equal(t, SinkState{Layer: -1, Starved: true}, s.State())
	}
	c.capacity = 2_000_000
	c.pass(t, 40*time.Second)
	for _, s := range c.sinks {
		assert.GreaterOrEqual(t, s.State().Layer, 0)
	}
}
