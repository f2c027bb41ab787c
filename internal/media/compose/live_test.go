package compose

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/oggopus"
)

// broadcast is a live composition whose output is kept.
type broadcast struct {
	*Live

	t    *testing.T
	mu   sync.Mutex
	flv  []bytes.Buffer // of each encoder
	work sync.WaitGroup
}

func newBroadcast(t *testing.T) *broadcast {
	t.Helper()
	return broadcastBy(t, New(slog.New(slog.DiscardHandler)))
}

func broadcastBy(t *testing.T, e *Engine) *broadcast {
	t.Helper()
	b := &broadcast{t: t}
	l, err := e.Live(LiveConfig{Name: "A room", Read: b.read})
	require.NoError(t, err)
	b.Live = l
	t.Cleanup(l.Close)
	return b
}

func (b *broadcast) read(flv io.Reader) error {
	b.mu.Lock()
	n := len(b.flv)
	b.flv = append(b.flv, bytes.Buffer{})
	b.mu.Unlock()
	buffer := make([]byte, 64<<10)
	for {
		size, err := flv.Read(buffer)
		b.mu.Lock()
		b.flv[n].Write(buffer[:size])
		b.mu.Unlock()
		if err != nil {
			return nil //nolint:nilerr // the encoder has ended
		}
	}
}

// send sends units in real time until they end. The timestamps begin at first.
func (b *broadcast) send(units []unit, rate, first uint32, packet func(sequence uint16, ts uint32, marker bool, payload []byte)) {
	b.work.Go(func() {
		start, sequence := time.Now(), uint16(first)
		for _, u := range units {
			select {
			case <-time.After(time.Until(start.Add(u.at))):
			case <-b.t.Context().Done():
				return
			}
			ts := first + uint32(u.at.Microseconds()*int64(rate)/1_000_000)
			for i, payload := range u.payloads {
				packet(sequence, ts, i == len(u.payloads)-1, payload)
				sequence++
			}
		}
	})
}

func (b *broadcast) show(codec string, units []unit, first uint32) *Shown {
	s, err := b.Show("video/"+codec, 90_000, func() {})
	require.NoError(b.t, err)
	b.send(units, 90_000, first, s.Packet)
	return s
}

func (b *broadcast) speak(units []unit, first uint32) {
	v := b.Voice()
	b.send(units, 48_000, first, func(_ uint16, ts uint32, _ bool, payload []byte) { v.Packet(ts, payload) })
}

// decoded ends the composition and returns the output of its last encoder.
func (b *broadcast) decoded() *video {
	b.t.Helper()
	b.work.Wait()
	b.Close()
	path := filepath.Join(b.t.TempDir(), "out.flv")
	require.NoError(b.t, os.WriteFile(path, b.flv[len(b.flv)-1].Bytes(), 0o600))
	return decode(b.t, path)
}

// TestLiveIsInSync: each second there is a flash with a tone, in each codec of browsers. The codecs come one after the other, because
// each needs much of a core.
func TestLiveIsInSync(t *testing.T) {
	for _, codec := range []string{"VP8", "H264", "VP9", "AV1"} {
		t.Run(codec, func(t *testing.T) {
			r := newRoom(t)
			p := participant{color: "red", size: "640x360", codec: codec}
			pictures, sound := r.video(p, "6"), r.sound("6")
			b := newBroadcast(t)
			b.show(codec, pictures, 1<<32-100_000)
			b.speak(sound, 1<<32-1000)
			v := b.decoded()
			whole := area{0, 0, 1280, 720}
			require.GreaterOrEqual(t, len(v.flashes(whole)), 3)
			require.GreaterOrEqual(t, len(v.tones()), 3)
			require.Less(t, apart(t, v.flashes(whole), v.tones()), 0.1)
		})
	}
}

// TestLiveSoundSurvivesGarbage: packets of one participant that no decoder reads, or that hold noise, delay no other voice. amix counts
// samples, and so would fall behind.
func TestLiveSoundSurvivesGarbage(t *testing.T) {
	r := newRoom(t)
	b := newBroadcast(t)
	malformed, noise := b.Voice(), b.Voice()
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		random := rand.New(rand.NewPCG(1, 2))
		for ts := uint32(0); ; ts += 5760 {
			malformed.Packet(ts, []byte{0xfb, 6, 1, 2, 3, 4, 5, 6, 7})
			packet := make([]byte, 62)
			for i := range packet {
				packet[i] = byte(random.Uint32())
			}
			packet[0], packet[1] = byte(random.IntN(64))<<2|3, 2
			noise.Packet(ts, packet)
			select {
			case <-time.After(120 * time.Millisecond):
			case <-stop:
				return
			}
		}
	})
	b.speak(r.sound("6"), 0)
	b.work.Wait()
	close(stop)
	work.Wait()
	pcm := b.decoded().sound
	require.Greater(t, len(pcm), 5*soundRate)
	for second := range 4 { // the first one may be the start of the processes
		heard := slices.ContainsFunc(pcm[(second+1)*soundRate:(second+2)*soundRate], func(x int16) bool { return x > 1000 || x < -1000 })
		require.True(t, heard, "second %d is silent", second+1)
	}
}

// TestLivePictureStaysUntilTheNextBegins: the former picture stays until the key picture of the next one, and the card is shown
// before the first one and after the last one.
func TestLivePictureStaysUntilTheNextBegins(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	gray := r.video(participant{color: "gray", size: "640x360", codec: "VP8"}, "4")
	upright := r.video(participant{color: "silver", size: "180x320", codec: "H264"}, "4")
	b := newBroadcast(t)
	b.until(b.show("VP8", gray, 7))
	b.until(b.show("H264", upright[1:], 9)) // the first key picture is missing
	b.Blank()
	b.until(nil)
	v := b.decoded()
	var order []int // 0: the card, 1: gray, 2: silver
	bars := 0
	for n := range v.frames {
		kind := 0
		switch light := v.light(n, area{600, 300, 80, 40}); {
		case light > 180 && light < 210:
			kind = 2
			if v.light(n, area{0, 0, 320, 720}) < 30 {
				bars++
			}
		case light > 100 && light < 160:
			kind = 1
		case light > 220:
			continue // a flash
		}
		if len(order) == 0 || order[len(order)-1] != kind {
			order = append(order, kind)
		}
	}
	require.Equal(t, []int{0, 1, 2, 0}, order)
	require.NotZero(t, bars, "an upright picture has bars")
}

// until waits until the pictures of a track have been shown for half a second; nil for the card.
func (b *broadcast) until(s *Shown) {
	b.t.Helper()
	var first time.Duration
	require.Eventually(b.t, func() bool {
		b.Live.mu.Lock()
		defer b.Live.mu.Unlock()
		if b.current != s || s == nil {
			return b.current == s
		}
		if first == 0 {
			first = s.now.at
		}
		return s.now.at-first > 500*time.Millisecond
	}, 20*time.Second, 10*time.Millisecond)
}

// TestLiveVoicesAreMixed: both tones are in the sound, and nothing between them.
func TestLiveVoicesAreMixed(t *testing.T) {
	t.Parallel()
	b := newBroadcast(t)
	for i, hertz := range []string{"440", "1320"} {
		b.speak(tone(t, hertz, "4"), uint32(i*1000))
	}
	v := b.decoded()
	middle := v.sound[len(v.sound)/2-soundRate/2:][:soundRate]
	for _, hertz := range []float64{440, 1320} {
		require.Greater(t, power(middle, hertz), 20*power(middle, 900), "%v Hz", hertz)
	}
}

// TestLiveTakesOverALane: a voice that is silent leaves its lane to another one, and a ninth voice at the same time has none.
func TestLiveTakesOverALane(t *testing.T) {
	t.Parallel()
	m := newMixer(New(slog.New(slog.DiscardHandler)), time.Now())
	for range liveVoices {
		require.True(t, m.seat(&LiveVoice{mixer: m, arrived: time.Second}, time.Second))
	}
	late := &LiveVoice{mixer: m}
	require.False(t, m.seat(late, time.Second+laneIdle/2))
	require.True(t, m.seat(late, time.Second+laneIdle))
	late.Close()
	require.Nil(t, late.lane)
}

// TestLiveLaneIsGapless: frames are at their times, late ones are left out, and gaps are silence.
func TestLiveLaneIsGapless(t *testing.T) {
	t.Parallel()
	const frameLength = oggopus.FrameLength
	l := &liveLane{}
	l.ogg = oggopus.NewWriter(&l.pages)
	l.taken()
	frame := func(at int64) liveFrame { return liveFrame{at, frameLength, []byte{0xFC, byte(at / frameLength)}} }
	l.queue = []liveFrame{frame(0), frame(2 * frameLength), frame(3*frameLength + 100)}
	var got []byte
	for b := l.until(5 * frameLength); len(b) > 0; {
		size := int(b[27])
		got = append(got, b[28+1])
		b = b[28+size:]
	}
	require.Equal(t, []byte{0, oggopus.Silence[1], 2, 3, oggopus.Silence[1]}, got)
	require.EqualValues(t, 5*frameLength, l.written)
	l.queue = []liveFrame{frame(0), frame(5 * frameLength)}
	l.until(6 * frameLength)
	require.Empty(t, l.queue)
}

// TestLiveSoundKeepsItsPlace: sound that comes too late is left out, and a gap is silence.
func TestLiveSoundKeepsItsPlace(t *testing.T) {
	t.Parallel()
	m := newMixer(New(slog.New(slog.DiscardHandler)), time.Now())
	sound := func(from, to int64) (b []byte) {
		for i := from; i < to; i++ {
			b = binary.LittleEndian.AppendUint32(b, uint32(i))
		}
		return b
	}
	take := func(at int64, n int) []byte {
		b := make([]byte, n*sampleSize)
		m.take(b, at)
		return b
	}
	m.keep(100, sound(100, 110))
	require.Equal(t, sound(100, 105), take(100, 5))
	require.Equal(t, append(sound(105, 110), make([]byte, 5*sampleSize)...), take(105, 10))
	m.keep(110, sound(110, 120)) // five of them were due
	require.Equal(t, append(sound(115, 120), make([]byte, 20)...), take(115, 10))
	m.keep(130, sound(130, 132))
	require.Equal(t, append(make([]byte, 20), sound(130, 132)...), take(125, 7))
	m.keep(132, make([]byte, 3*soundKept*sampleSize))
	require.LessOrEqual(t, len(m.pcm), soundKept*sampleSize)
}

// TestLiveClock: the delay of the network is left out, and a track may begin again.
func TestLiveClock(t *testing.T) {
	t.Parallel()
	c := liveClock{rate: 1000}
	require.Equal(t, time.Second, c.place(1<<32-500, time.Second))
	require.Equal(t, 1100*time.Millisecond, c.place(1<<32-400, 1300*time.Millisecond), "late")
	require.Equal(t, 1950*time.Millisecond, c.place(500, 1950*time.Millisecond), "early: less delay")
	require.Equal(t, 2050*time.Millisecond, c.place(600, 2100*time.Millisecond))
	at := 2100 * time.Millisecond
	for i := range uint32(200) { // the network's delay rises by 200 ms
		at += 100 * time.Millisecond
		c.place(700+100*i, at+200*time.Millisecond)
	}
	require.InDelta(t, at+200*time.Millisecond, c.place(700+100*199, at+200*time.Millisecond), float64(time.Millisecond))
	require.Equal(t, time.Minute, c.place(5, time.Minute), "a new beginning")
}

// TestLiveRestartsItsProcesses: when an encoder and a mixer end, others continue.
func TestLiveRestartsItsProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The first process of each kind ends at once.
	script := `#!/bin/sh
case "$*" in
*rawvideo*flv*) kind=encoder ;;
*amix*) kind=mixer ;;
*) kind=other ;;
esac
mkdir ` + dir + `/$kind 2>/dev/null && exit 1
exec ffmpeg "$@"
`
	path := filepath.Join(dir, "ffmpeg")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o700))
	e := New(slog.New(slog.DiscardHandler))
	e.ffmpeg = path
	b := broadcastBy(t, e)
	b.speak(tone(t, "440", "5"), 0)
	v := b.decoded()
	require.Greater(t, power(v.sound[len(v.sound)-2*soundRate:], 440), 1e6)
	require.Len(t, b.flv, 2)
}

// TestLiveFails: when encoders end again and again, the composition ends with an error.
func TestLiveFails(t *testing.T) {
	t.Parallel()
	e := New(slog.New(slog.DiscardHandler))
	e.ffmpeg = "/bin/false"
	failed := make(chan error, 2)
	l, err := e.Live(LiveConfig{Read: func(io.Reader) error { return nil }, Failed: func(err error) { failed <- err }, pause: time.Millisecond})
	require.NoError(t, err)
	require.ErrorContains(t, <-failed, "encode a broadcast")
	l.Close()
	l.Close()
	require.Empty(t, failed)
	s, err := l.Show("video/VP8", 90_000, func() {})
	require.NoError(t, err)
	s.Packet(1, 1, true, []byte("x"))
	_, err = l.Show("video/unknown", 90_000, func() {})
	require.Error(t, err)
}

// tone returns sound of one frequency.
func tone(t *testing.T, hertz, seconds string) []unit {
	t.Helper()
	return newRoom(t).sounds("sine=frequency=" + hertz + ":sample_rate=48000:duration=" + seconds)
}

// power is that of a frequency (Goertzel's algorithm).
func power(pcm []int16, hertz float64) float64 {
	coefficient := 2 * math.Cos(2*math.Pi*hertz/soundRate)
	var s1, s2 float64
	for _, x := range pcm {
		s1, s2 = float64(x)+coefficient*s1-s2, s1
	}
	return (s1*s1 + s2*s2 - coefficient*s1*s2) / float64(len(pcm))
}
