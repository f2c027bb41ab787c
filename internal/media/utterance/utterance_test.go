package utterance

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pion/webrtc/v4/pkg/media/oggreader"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/oggopus"
)

const frame = 20 * time.Millisecond

// studio is a voice whose time is that of its packets.
type studio struct {
	listener *Listener
	voice    *Voice
	tones    [][]byte
	ts       uint32
	sent     int // packets of tones

	mu    sync.Mutex
	clock time.Time
	kept  []Utterance
	fault error
}

func newStudio(t *testing.T) *studio {
	t.Helper()
	s := &studio{clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), ts: math.MaxUint32 - 48_000, tones: tones(t)}
	s.listener = New(Config{Now: s.now, Keep: func(_ context.Context, u Utterance) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.fault == nil {
			s.kept = append(s.kept, u)
		}
		return s.fault
	}})
	t.Cleanup(func() { s.listener.Close(context.Background()) })
	s.voice = s.listener.Listen("ten_1", "sess_1", "ada", "trk_1")
	return s
}

func (s *studio) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

// tones are frames of a loud tone.
func tones(t *testing.T) (list [][]byte) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=2",
		"-af", "volume=6", "-c:a", "libopus", "-b:a", "32k", "-page_duration", "20000", "-f", "ogg", "pipe:1").Output()
	require.NoError(t, err)
	in, _, err := oggreader.NewWith(bytes.NewReader(out))
	require.NoError(t, err)
	for {
		page, _, err := in.ParseNextPage()
		if errors.Is(err, io.EOF) {
			return list[10:]
		}
		require.NoError(t, err)
		if !bytes.HasPrefix(page, []byte("OpusTags")) {
			list = append(list, page)
		}
	}
}

// passes lets time pass without packets.
func (s *studio) passes(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = s.clock.Add(d)
	s.ts += uint32(d.Seconds() * oggopus.Rate)
}

func (s *studio) speaks(d time.Duration, level int) {
	for range d / frame {
		s.voice.Packet(s.ts, level, s.tones[s.sent%len(s.tones)])
		s.sent++
		s.passes(frame)
	}
}

func (s *studio) isSilent(d time.Duration) {
	for range d / frame {
		s.voice.Packet(s.ts, 127, []byte(oggopus.Silence))
		s.passes(frame)
	}
}

// ends closes the voice and returns the utterances in order.
func (s *studio) ends() []Utterance {
	s.voice.Close()
	s.listener.Close(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.kept, func(a, b Utterance) int { return a.StartedAt.Compare(b.StartedAt) })
	return s.kept
}

// sound decodes an utterance: its length, and how much of it is loud.
func sound(t *testing.T, u Utterance) (length, loud time.Duration) {
	t.Helper()
	wave, err := Wave(t.Context(), u.Sound)
	require.NoError(t, err)
	require.Equal(t, "RIFF", string(wave[:4]))
	require.EqualValues(t, len(wave)-8, binary.LittleEndian.Uint32(wave[4:]))
	samples := wave[44:]
	require.EqualValues(t, len(samples), binary.LittleEndian.Uint32(wave[40:]))
	for block := range slices.Chunk(samples, 2*waveRate/100) {
		top := 0
		for i := 0; i+1 < len(block); i += 2 {
			top = max(top, int(int16(binary.LittleEndian.Uint16(block[i:]))))
		}
		if top > 3000 {
			loud += 10 * time.Millisecond
		}
	}
	return time.Duration(len(samples)/2) * time.Second / waveRate, loud
}

// TestPausesCutSpeech: also across the wrap-around of timestamps, which is after the first second.
func TestPausesCutSpeech(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	began := s.now()
	s.isSilent(500 * time.Millisecond)
	s.speaks(time.Second, 20)
	s.isSilent(400 * time.Millisecond) // between words
	s.speaks(600*time.Millisecond, 40)
	s.isSilent(1500 * time.Millisecond)
	s.speaks(100*time.Millisecond, 20) // a click
	s.isSilent(2 * time.Second)
	s.speaks(2*time.Second, 20)
	list := s.ends()
	require.Len(t, list, 2)
	length, loud := sound(t, list[0])
	require.InDelta(t, 2.6, length.Seconds(), 0.05)
	require.InDelta(t, 1.6, loud.Seconds(), 0.1)
	require.InDelta(t, 0.2, list[0].StartedAt.Sub(began).Seconds(), 0.03)
	require.InDelta(t, 2.8, list[0].EndedAt.Sub(began).Seconds(), 0.03)
	require.Equal(t, []string{"ten_1", "sess_1", "ada", "trk_1"}, []string{list[0].TenantID, list[0].RoomID, list[0].UserID, list[0].TrackID})
	length, loud = sound(t, list[1])
	require.InDelta(t, 2.3, length.Seconds(), 0.05)
	require.InDelta(t, 2, loud.Seconds(), 0.1)
}

// TestLongSpeech is cut in short pauses, or without one, and loses nothing.
func TestLongSpeech(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	for range 12 {
		s.speaks(4800*time.Millisecond, 20)
		s.isSilent(200 * time.Millisecond)
	}
	for i := range 50 * 50 { // 50 s without a pause, at changing levels
		s.speaks(frame, 20+i*7%30)
	}
	var whole time.Duration
	list := s.ends()
	for i, u := range list {
		length, loud := sound(t, u)
		require.LessOrEqual(t, length, 20*time.Second)
		whole += loud
		if i > 0 {
			require.False(t, u.StartedAt.Before(list[i-1].EndedAt.Add(-lead*time.Second/oggopus.Rate)))
		}
	}
	require.Greater(t, whole, 106*time.Second)
}

func TestNoiseIsNoSpeech(t *testing.T) {
	t.Parallel()
	quiet := newStudio(t)
	quiet.speaks(time.Minute, 70)
	require.Empty(t, quiet.ends())
	fan := newStudio(t) // until it is known as noise
	fan.speaks(3*time.Minute, 45)
	require.LessOrEqual(t, len(fan.ends()), 2)
}

// TestGapsAreSilence: packets that discontinuous transmission leaves out, and lost ones. Late ones come to their place.
func TestGapsAreSilence(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.speaks(500*time.Millisecond, 20)
	s.passes(600 * time.Millisecond)
	s.speaks(500*time.Millisecond, 20)
	late := s.ts
	s.passes(frame)
	s.speaks(100*time.Millisecond, 20)
	s.voice.Packet(late, 20, s.tones[0])
	s.voice.Packet(late, 20, s.tones[0]) // twice
	s.passes(time.Minute / 2)            // ends it
	s.speaks(time.Second, Unknown)
	list := s.ends()
	require.Len(t, list, 2)
	length, loud := sound(t, list[0])
	require.InDelta(t, 1.72, length.Seconds(), 0.05)
	require.InDelta(t, 1.12, loud.Seconds(), 0.1)
	length, _ = sound(t, list[1])
	require.InDelta(t, 1, length.Seconds(), 0.05)
}

func TestAMutedVoiceEnds(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.speaks(time.Second, 20)
	s.passes(979 * time.Millisecond) // the last packet was 20 ms ago
	s.voice.tick(s.now())
	require.True(t, s.voice.speaking)
	s.passes(time.Millisecond)
	s.voice.tick(s.now())
	require.False(t, s.voice.speaking)
	require.Len(t, s.ends(), 1)
}

// TestHostileVoices neither grow nor stop anything.
func TestHostileVoices(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, random.IntN(1275))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		s.voice.Packet(s.ts+uint32(random.IntN(10_000)), random.IntN(128), b)
		s.passes(frame)
		require.LessOrEqual(t, s.voice.size, maxSound)
		if random.IntN(500) == 0 {
			s.ts = random.Uint32()
		}
	}
	for _, u := range s.ends() {
		require.LessOrEqual(t, len(u.Sound), 2*maxSound)
		_, err := Wave(t.Context(), u.Sound)
		if err != nil {
			require.ErrorContains(t, err, "decode an utterance")
		}
	}
}

// TestTheQueueIsBounded: while nothing can be stored, utterances are dropped, and a voice goes on.
func TestTheQueueIsBounded(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.fault = errors.New("no database")
	for range maxWaiting {
		s.speaks(time.Second, 20)
		s.passes(time.Second)
	}
	other := s.listener.Listen("ten_2", "sess_2", "ben", "trk_2")
	s.voice, other = other, s.voice
	s.speaks(time.Second, 20)
	s.passes(time.Second)
	s.voice.tick(s.now())
	require.Equal(t, maxWaiting*3/4+1, s.listener.places.Taken(), "one tenant leaves places to others")
	other.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.listener.Close(ctx)
	require.GreaterOrEqual(t, s.listener.dropped, maxWaiting/4-keepers)
}

// TestSpeechIsLimitedToRealTime: timestamps may run as fast as a client likes, and tracks may begin again and again.
func TestSpeechIsLimitedToRealTime(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	began := s.now()
	for range 50 {
		for range 20 {
			for range 50 {
				s.voice.Packet(s.ts, 20, s.tones[0])
				s.ts += 960
			}
			s.ts += 2 * oggopus.Rate
			s.passes(time.Millisecond)
		}
		s.voice.Close()
		s.voice = s.listener.Listen("ten_1", "sess_1", "ada", "trk_1")
	}
	var whole time.Duration
	for _, u := range s.ends() {
		whole += u.EndedAt.Sub(u.StartedAt)
	}
	require.LessOrEqual(t, whole, s.now().Sub(began)+31*time.Second)
}

// TestASilentVoiceIsBounded: packets without voice are kept for a moment only, also if their timestamps stand still.
func TestASilentVoiceIsBounded(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	for i := range 50_000 {
		s.voice.Packet(s.ts+uint32(i%7), 127, make([]byte, 1000))
	}
	require.LessOrEqual(t, len(s.voice.packets), maxIdle/overhead)
	require.LessOrEqual(t, s.voice.size, maxIdle+2000)
}
