package bridge

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// wall is a screen that records its media.
type wall struct {
	mu             sync.Mutex
	picture, sound []rtp.Packet
	reports        []*rtcp.SenderReport
	width, height  int
	refused        map[bool]Reason
	changed        chan struct{}
}

func newWall() *wall { return &wall{refused: map[bool]Reason{}, changed: make(chan struct{}, 1)} }

func (w *wall) note(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func parse(b []byte) rtp.Packet {
	var p rtp.Packet
	if err := p.Unmarshal(append([]byte(nil), b...)); err != nil {
		panic(err)
	}
	return p
}

func (*wall) Begin() bool                        { return true }
func (w *wall) Video(b []byte)                   { w.note(func() { w.picture = append(w.picture, parse(b)) }) }
func (w *wall) Audio(b []byte)                   { w.note(func() { w.sound = append(w.sound, parse(b)) }) }
func (w *wall) VideoReport(r *rtcp.SenderReport) { w.note(func() { w.reports = append(w.reports, r) }) }
func (w *wall) AudioReport(r *rtcp.SenderReport) { w.note(func() { w.reports = append(w.reports, r) }) }
func (w *wall) Size(width, height int)           { w.note(func() { w.width, w.height = width, height }) }
func (w *wall) Unavailable(video bool, r Reason) { w.note(func() { w.refused[video] = r }) }

// until waits until done is true.
func (w *wall) until(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		w.mu.Lock()
		ok := done()
		w.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-w.changed:
		case <-deadline:
			t.Fatalf("shown so far: %d packets of pictures, %d of sound, refused %v", len(w.picture), len(w.sound), w.refused)
		}
	}
}

// marks counts the complete pictures.
func (w *wall) marks() (n int) {
	for _, p := range w.picture {
		if p.Marker {
			n++
		}
	}
	return n
}

// onAir shows a new stream on a wall, and returns its publisher.
func onAir(t *testing.T, c Share) (*hub.Publisher, *wall) {
	t.Helper()
	h := hub.New(hub.Config{})
	p, err := h.Publish(hub.Broadcast{StreamID: "a"}, "p", nil)
	require.NoError(t, err)
	w, ctx := newWall(), t.Context()
	var showing sync.WaitGroup
	reader := p.Stream().Subscribe()
	// The context of the test ends before its cleanups.
	showing.Go(func() { Show(context.WithoutCancel(ctx), reader, w, c, slog.New(slog.DiscardHandler)) })
	t.Cleanup(func() {
		h.Close()
		showing.Wait()
		require.Zero(t, c.Running())
	})
	return p, w
}

// copyOf returns a copy of a unit, for the hub to own.
func copyOf(u *hub.Unit) *hub.Unit { c := *u; return &c }

func TestABroadcastGoesToARoomAndBackUnchanged(t *testing.T) {
	t.Parallel()
	p, w := onAir(t, NewConverters(1).For("acme"))
	units := pictures(t, 2, 0, "640x360")
	for _, u := range units {
		require.NoError(t, p.Write(copyOf(u)))
	}
	w.until(t, func() bool { return w.marks() == len(units) })
	require.Equal(t, 640, w.width)
	require.NotEmpty(t, w.reports)

	back := hub.New(hub.Config{})
	defer back.Close()
	host, err := back.Publish(hub.Broadcast{StreamID: "b"}, "host", nil)
	require.NoError(t, err)
	reader := host.Stream().Subscribe()
	asked := 0
	feed := NewFeed(host, func() { asked++ })
	now := time.Unix(1000, 0)
	for i := 0; i < len(w.picture); i++ {
		// From time to time, one packet overtakes another.
		if i+1 < len(w.picture) && i%7 == 3 {
			w.picture[i], w.picture[i+1] = w.picture[i+1], w.picture[i]
		}
		now = now.Add(time.Millisecond)
		require.NoError(t, feed.Video(&w.picture[i], now))
	}
	require.Positive(t, asked)
	declared, err := reader.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, silentOpus, string(declared.Data), "sound is declared beside the first picture")
	// The builder holds the last one until the next one begins.
	for i, want := range units[:len(units)-1] {
		got, err := reader.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, want.Data, got.Data, "picture %d", i)
		require.Equal(t, want.Key, got.Key)
		require.Equal(t, 640, got.Track.Width)
		if i > 0 {
			require.InDelta(t, float64(time.Duration(i)*time.Second/fps), float64(got.PTS), float64(2*time.Millisecond))
		}
	}
}

func TestLossIsHealedByTheNextKeyFrame(t *testing.T) {
	t.Parallel()
	p, w := onAir(t, NewConverters(1).For("acme"))
	units := pictures(t, 4, 0, "320x180")
	for _, u := range units {
		require.NoError(t, p.Write(copyOf(u)))
	}
	w.until(t, func() bool { return w.marks() == len(units) })
	last := w.picture
	back := hub.New(hub.Config{})
	defer back.Close()
	host, err := back.Publish(hub.Broadcast{StreamID: "b"}, "host", nil)
	require.NoError(t, err)
	reader := host.Stream().Subscribe()
	feed := NewFeed(host, func() {})
	random := rand.New(rand.NewPCG(1, 2))
	sent := map[string]bool{}
	for _, u := range units {
		sent[string(u.Data)] = true
	}
	for i := range last {
		if random.IntN(100) < 2 {
			continue
		}
		require.NoError(t, feed.Video(&last[i], time.Unix(1000, int64(i)*int64(time.Millisecond))))
	}
	host.Close()
	keys, healthy := 0, false
	for {
		u, err := reader.Next(t.Context())
		if err != nil {
			break
		}
		if !u.Track.Codec.Video() {
			continue
		}
		require.True(t, sent[string(u.Data)], "a damaged picture was passed on")
		healthy = healthy || u.Key
		require.True(t, healthy)
		if u.Key {
			keys++
		}
	}
	require.Positive(t, keys)
}

// TestAMuteInTheMiddleOfAPictureDamagesNothing leaves out the packets from the last one of a picture up to
// the next key frame, and numbers the rest without a gap, as the forwarder does when a host mutes.
func TestAMuteInTheMiddleOfAPictureDamagesNothing(t *testing.T) {
	t.Parallel()
	p, w := onAir(t, NewConverters(1).For("acme"))
	units := pictures(t, 4, 0, "640x360")
	for _, u := range units {
		require.NoError(t, p.Write(copyOf(u)))
	}
	w.until(t, func() bool { return w.marks() == len(units) })
	back := hub.New(hub.Config{})
	defer back.Close()
	host, err := back.Publish(hub.Broadcast{StreamID: "b"}, "host", nil)
	require.NoError(t, err)
	reader := host.Stream().Subscribe()
	feed := NewFeed(host, func() {})

	// The second key frame, of several packets, is cut off; again is the key frame after it.
	var keys []int
	for i, u := range units {
		if u.Key {
			keys = append(keys, i)
		}
	}
	muted, again := keys[1], keys[2]
	require.Greater(t, len(units[muted].Data), 3000)
	picture, left := 0, 0
	for i := range w.picture {
		packet := w.picture[i]
		if picture > muted && picture < again || picture == muted && packet.Marker {
			left++
		} else {
			packet.SequenceNumber -= uint16(left)
			require.NoError(t, feed.Video(&packet, time.Unix(1000, int64(i)*int64(time.Millisecond))))
		}
		if packet.Marker {
			picture++
		}
	}
	host.Close()
	var got [][]byte
	for {
		u, err := reader.Next(t.Context())
		if err != nil {
			break
		}
		if u.Track.Codec.Video() {
			got = append(got, u.Data)
		}
	}
	want := [][]byte{}
	for i, u := range units[:len(units)-1] { // the builder holds the last one
		if i < muted || i >= again {
			want = append(want, u.Data)
		}
	}
	require.Len(t, got, len(want))
	for i := range want {
		require.Len(t, got[i], len(want[i]), "bytes of picture %d", i)
		require.Equal(t, want[i], got[i], "picture %d", i)
	}
}

// TestAMissingPacketStopsAQuietStreamForShort leaves out a packet of a stream that sends few. The pictures must continue
// with a later key frame, long before as many packets have come as the builder would wait for.
func TestAMissingPacketStopsAQuietStreamForShort(t *testing.T) {
	t.Parallel()
	p, w := onAir(t, NewConverters(1).For("acme"))
	units := pictures(t, 5, 0, "320x180")
	for _, u := range units {
		require.NoError(t, p.Write(copyOf(u)))
	}
	w.until(t, func() bool { return w.marks() == len(units) })
	require.Less(t, len(w.picture), maxLateVideo)
	back := hub.New(hub.Config{})
	defer back.Close()
	host, err := back.Publish(hub.Broadcast{StreamID: "b"}, "host", nil)
	require.NoError(t, err)
	reader := host.Stream().Subscribe()
	feed := NewFeed(host, func() {})
	feed.CutVideo(w.picture[0].SSRC)
	picture := 0
	for _, packet := range w.picture {
		arrived := time.Unix(1000, 0).Add(time.Duration(picture) * time.Second / fps)
		late := packet
		late.SSRC++ // of a former track
		require.NoError(t, feed.Video(&late, arrived))
		if picture != 5 {
			require.NoError(t, feed.Video(&packet, arrived))
		}
		if packet.Marker {
			picture++
		}
	}
	host.Close()
	var last *hub.Unit
	for {
		u, err := reader.Next(t.Context())
		if err != nil {
			break
		}
		if u.Track.Codec.Video() {
			last = u
		}
	}
	require.NotNil(t, last)
	require.Equal(t, units[len(units)-2].Data, last.Data, "the builder holds the last one")
}

func TestAACIsConverted(t *testing.T) {
	t.Parallel()
	c := NewConverters(1).For("acme")
	p, w := onAir(t, c)
	units := sound(t, 2)[:80] // as many as may wait for a converter
	for _, u := range units {
		require.NoError(t, p.Write(copyOf(u)))
	}
	w.until(t, func() bool { return len(w.sound) >= 20 })
	require.Equal(t, 1, c.Running())
	packets := w.soundNow()
	for i := range packets[1:10] {
		require.Equal(t, packets[i].SequenceNumber+1, packets[i+1].SequenceNumber)
		require.Equal(t, uint32(960), packets[i+1].Timestamp-packets[i].Timestamp)
	}
}

// TestOneTenantLeavesConvertersToOthers: the last quarter is for tenants with fewer than two.
func TestOneTenantLeavesConvertersToOthers(t *testing.T) {
	t.Parallel()
	c := NewConverters(8)
	claimed := func(tenant string) (n int) {
		for c.For(tenant).claim() == nil {
			n++
		}
		return n
	}
	require.Equal(t, 6, claimed("acme"))
	require.Equal(t, 2, claimed("other"))
	require.Zero(t, claimed("third"))
	c.For("acme").release()
	require.Zero(t, claimed("acme"))
	require.Equal(t, 1, claimed("third"))
	require.Equal(t, 8, c.Running())
}

func (w *wall) soundNow() []rtp.Packet {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]rtp.Packet(nil), w.sound...)
}

func TestMediaThatBrowsersCannotShowIsReported(t *testing.T) {
	t.Parallel()
	p, w := onAir(t, NewConverters(0).For("acme"))
	aac := sound(t, 1)
	for _, bad := range []*hub.Unit{
		{Track: &hub.Track{Codec: hub.H265}, Key: true, Data: []byte{0, 0, 0, 1, 1}},
		aac[0],
	} {
		video := bad.Track.Codec.Video()
		require.NoError(t, p.Write(copyOf(bad)))
		w.until(t, func() bool { return w.refused[video].Code != "" })
	}
	require.Equal(t, Reason{CodeAudioConverter, errAllConverted.Error()}, w.refused[false])
	require.Contains(t, w.refused[false].Text, "the limit of streams with converted sound is reached")
	// B-frames: the second picture is shown before the first.
	p.Discontinuity()
	w.mu.Lock()
	w.refused = map[bool]Reason{}
	w.mu.Unlock()
	h264 := pictures(t, 1, 0, "320x180")
	for i, at := range []int{0, 120, 40, 80} {
		u := copyOf(h264[i])
		u.DTS, u.PTS = time.Duration(i)*40*time.Millisecond, time.Duration(at)*time.Millisecond
		require.NoError(t, p.Write(u))
	}
	w.until(t, func() bool { return w.refused[true].Code != "" })
	require.Equal(t, CodeBFrames, w.refused[true].Code)
	require.Contains(t, w.refused[true].Text, "B-frames")
}

// TestAPauseBreaksNoTimeline: the last media before a host mutes is known to be complete only
// when the host unmutes. It keeps its original time.
func TestAPauseBreaksNoTimeline(t *testing.T) {
	t.Parallel()
	h := hub.New(hub.Config{})
	defer h.Close()
	p, err := h.Publish(hub.Broadcast{StreamID: "a"}, "p", nil)
	require.NoError(t, err)
	reader := p.Stream().Subscribe()
	feed := NewFeed(p, func() {})
	now := time.Unix(1000, 0)
	frame := func(i int, pause time.Duration) {
		packet := &rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: uint16(i)}, Payload: []byte{0xFC, byte(i)}}
		packet.Timestamp = uint32((time.Duration(i)*20*time.Millisecond + pause).Milliseconds()) * 48
		require.NoError(t, feed.Audio(packet, now.Add(time.Duration(i)*20*time.Millisecond+pause)))
	}
	for i := range 20 {
		pause := time.Duration(0)
		if i >= 10 {
			pause = time.Minute
		}
		frame(i, pause)
	}
	for i := range 19 {
		u, err := reader.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, []byte{0xFC, byte(i)}, u.Data)
		require.EqualValues(t, 1, u.Epoch, "frame %d begins another timeline", i)
		want := time.Duration(i) * 20 * time.Millisecond
		if i >= 10 {
			want += time.Minute
		}
		require.Equal(t, want, u.DTS, "frame %d", i)
	}
}

func TestTheClockFollowsWrapsAndBreaks(t *testing.T) {
	t.Parallel()
	c := clock{rate: 90000}
	at, broken := c.place(1<<32-90000, time.Second)
	require.Equal(t, time.Second, at)
	require.False(t, broken)
	at, broken = c.place(0, 2*time.Second)
	require.Equal(t, 2*time.Second, at)
	require.False(t, broken)
	at, _ = c.place(1<<32-45000, 2*time.Second) // late, from before the wrap
	require.Equal(t, 1500*time.Millisecond, at)
	at, broken = c.place(900000000, 3*time.Second)
	require.True(t, broken)
	require.Equal(t, 3*time.Second, at)
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte{0x67, 0x42, 0, 0x1f}, uint16(1), uint32(0), true)
	f.Add([]byte{24, 0, 2, 0x67, 0x42, 0, 2, 0x68, 1}, uint16(2), uint32(9), true)
	f.Add([]byte{0x7c, 0x85, 1, 2}, uint16(3), uint32(9), false)
	f.Fuzz(func(t *testing.T, payload []byte, seq uint16, ts uint32, mark bool) {
		h := hub.New(hub.Config{})
		defer h.Close()
		p, err := h.Publish(hub.Broadcast{StreamID: "a"}, "p", nil)
		require.NoError(t, err)
		feed := NewFeed(p, func() {})
		for i := range uint16(4) {
			packet := &rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: seq + i, Timestamp: ts + uint32(i)*3000, Marker: mark}, Payload: payload}
			require.NoError(t, feed.Video(packet, time.Unix(1, int64(i))))
			require.NoError(t, feed.Audio(packet, time.Unix(1, int64(i))))
		}
	})
}
