package bridge

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// waitShown waits until everything that was written has been shown. For that it writes a unit that
// can't be shown.
func waitShown(t *testing.T, p *hub.Publisher, w *wall) {
	t.Helper()
	require.NoError(t, p.Write(&hub.Unit{Track: &hub.Track{Codec: hub.H265}, Key: true, Data: []byte{0, 0, 0, 1, 1}}))
	w.until(t, func() bool { return w.refused[true].Code != "" })
}

// most is how many converters one stream may have started since begun.
func most(begun time.Time) uint64 { return maxStartBurst + 1 + uint64(time.Since(begun)/startEvery) }

// TestSoundThatBreaksOverAndOverStartsFewConverters: an encoder chooses its timestamps, and
// each break needs a new process.
func TestSoundThatBreaksOverAndOverStartsFewConverters(t *testing.T) {
	t.Parallel()
	c := NewConverters(1).For("acme")
	p, w := onAir(t, c)
	begun := time.Now()
	for i, u := range sound(t, 2)[:60] {
		u.DTS = time.Duration(i) * 300 * time.Millisecond
		u.PTS = u.DTS
		require.NoError(t, p.Write(u))
	}
	waitShown(t, p, w)
	require.Positive(t, c.Started())
	require.LessOrEqual(t, c.Started(), most(begun))
	require.LessOrEqual(t, c.Running(), 1)
}

// TestNoiseInsteadOfSoundStartsFewConverters: when ffmpeg can't decode the audio, a new process
// isn't started for each frame.
func TestNoiseInsteadOfSoundStartsFewConverters(t *testing.T) {
	t.Parallel()
	c := NewConverters(1).For("acme")
	p, w := onAir(t, c)
	begun := time.Now()
	random := rand.New(rand.NewPCG(1, 2))
	units := sound(t, 2)
	for i := range 3 * len(units) {
		u := copyOf(units[i%len(units)])
		u.DTS = time.Duration(i) * 1024 * time.Second / 44100
		u.PTS = u.DTS
		u.Data = make([]byte, 1+random.IntN(400))
		for j := range u.Data {
			u.Data[j] = byte(random.Uint32())
		}
		require.NoError(t, p.Write(u))
	}
	waitShown(t, p, w)
	require.LessOrEqual(t, c.Started(), most(begun))
}

// TestAnEncoderThatChangesItsCodecLeavesNoConverterBehind: a leftover converter would write to
// the same line, and take a place that others wait for.
func TestAnEncoderThatChangesItsCodecLeavesNoConverterBehind(t *testing.T) {
	t.Parallel()
	c := NewConverters(1).For("acme")
	p, w := onAir(t, c)
	units := sound(t, 2)
	for _, u := range units[:40] {
		require.NoError(t, p.Write(copyOf(u)))
	}
	w.until(t, func() bool { return len(w.sound) > 0 })
	require.Equal(t, 1, c.Running())
	opus := &hub.Track{Codec: hub.Opus, SampleRate: 48000, Channels: 2}
	for i := range 100 {
		at := units[40].PTS + time.Duration(i)*opusFrame
		require.NoError(t, p.Write(&hub.Unit{Track: opus, Key: true, DTS: at, PTS: at, Data: []byte{0xfc, 0xff, 0xfe}}))
	}
	waitShown(t, p, w)
	require.Zero(t, c.Running())
	w.mu.Lock()
	heard := len(w.sound)
	w.mu.Unlock()
	for _, u := range units[41:] {
		require.NoError(t, p.Write(copyOf(u)))
	}
	w.until(t, func() bool { return len(w.sound) > heard })
	require.Equal(t, uint64(2), c.Started())
}

// TestAConverterIsTriedAgain: a stream that found no free converter has audio once one is free.
func TestAConverterIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := NewConverters(1).For("acme")
	first, _ := onAir(t, c)
	second, w := onAir(t, c)
	units := sound(t, 10)
	require.NoError(t, first.Write(copyOf(units[0])))
	for c.Running() == 0 {
		<-time.After(time.Millisecond)
	}
	require.NoError(t, second.Write(copyOf(units[0])))
	w.until(t, func() bool { return w.refused[false].Code != "" })
	first.Close()
	for i := 1; len(w.soundNow()) == 0; i++ {
		require.Less(t, i, len(units), "it was not tried again")
		require.NoError(t, second.Write(copyOf(units[i])))
		<-time.After(units[1].DTS) // at the pace of an encoder
	}
}

func TestOnlyTheEndOfTheOutputIsKept(t *testing.T) {
	t.Parallel()
	said := &tail{}
	for i := range 10_000 {
		_, err := fmt.Fprintf(said, "frame %d can't be decoded\n", i)
		require.NoError(t, err)
	}
	require.Len(t, said.text, maxSaid)
	require.LessOrEqual(t, cap(said.text), 4*maxSaid)
	require.Contains(t, string(said.text), "frame 9999 ")
}
