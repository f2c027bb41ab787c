package rtmp

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

func TestSequenceHeaderInMidStream(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.header()
	c.frame(0)
	c.header() // the same header: the same track
	c.frame(40)
	c.send(typeVideo, 4, 80, append([]byte{0x17, 0, 0, 0, 0}, avcRecord(t, 4, []string{testSPS}, []string{"68ee3c81"})...)...)
	c.frame(80)
	u := g.tape.first(t, 3)
	require.Same(t, u[0].Track, u[1].Track)
	require.NotSame(t, u[1].Track, u[2].Track)
	require.Equal(t, u[0].Epoch, u[2].Epoch)
}

func TestLateAudioAndOtherRates(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.aac(0) // before its header: dropped
	c.header()
	c.frame(60_000)
	for _, x := range []struct {
		config         string
		rate, channels int
	}{
		{"1210", 44100, 2}, {"1190", 48000, 2}, {"1388", 22050, 1}, {"1588", 8000, 1}, {"121056e500", 44100, 2},
		{"2b920800", 22050, 2},   // HE-AAC, explicit SBR
		{"139056e5a0", 22050, 2}, // implicit SBR behind an LC configuration
		{"17802ee010", 24000, 2}, // 24-bit sample rate
	} {
		c.aacHeader(x.config)
		c.aac(60_010)
		g.tape.await(t, "audio with "+x.config, func() bool {
			if len(g.tape.units) == 0 {
				return false
			}
			last := g.tape.units[len(g.tape.units)-1].Track
			return last.SampleRate == x.rate && last.Channels == x.channels
		})
	}
}

func TestTimestampJumps(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.header()
	for _, ts := range []uint32{0xFFFFFFF0, 24, 0, 100_000, 100_040, 5} {
		c.frame(ts)
	}
	u := g.tape.first(t, 6)
	epochs, times := []uint32{}, []time.Duration{}
	for _, x := range u {
		epochs = append(epochs, x.Epoch-u[0].Epoch)
		times = append(times, (x.DTS-u[0].DTS)/time.Millisecond)
	}
	require.Equal(t, []uint32{0, 0, 0, 1, 1, 2}, epochs)
	require.Equal(t, []time.Duration{0, 40, 40}, times[:3])
}

func TestEndlessJumpsAreRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.header()
	for i := range maxJumps + 2 {
		c.frame(uint32(i%2) * 1_000_000)
	}
	require.Equal(t, codeDenied, c.status())
	g.gone(t, 1)
	require.Contains(t, g.gate.reasons()[0], "jump")
}

func TestKeyFramesThatAreNone(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.header()
	c.send(typeVideo, 4, 0, 0x17, 1, 0, 0, 0, 0, 0, 0, 2, 0x41, 0x88)                             // marked as a key frame, but no IDR
	c.send(typeVideo, 4, 40, 0x27, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, 0x88)                            // an IDR, not marked
	c.send(typeVideo, 4, 80, 0x17, 1, 0, 0, 0, 0, 0, 0, 4, 6, 6, 1, 0x80, 0, 0, 0, 2, 0x41, 0x88) // a recovery point
	c.send(typeVideo, 4, 120, 0x27, 1, 0xFF, 0xFF, 0xD8, 0, 0, 0, 2, 0x41, 0x88)                  // negative offset
	c.send(typeVideo, 4, 160, 0x27, 1, 0x7F, 0xFF, 0xFF, 0, 0, 0, 2, 0x41, 0x88)                  // absurd offset
	c.send(typeVideo, 4, 200, 0x27, 1, 0, 0, 0, 0, 0, 0, 9, 0x41, 0x88)                           // wrong lengths: dropped
	c.send(typeVideo, 4, 240, 0x27, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x41, 0x88, 0, 0, 0, 0)   // empty NALs
	c.send(typeVideo, 4, 280, 0x57, 1, 0, 0, 0, 0)                                                // a command frame
	u := g.tape.first(t, 6)
	keys, offsets := []bool{}, []time.Duration{}
	for _, x := range u {
		keys = append(keys, x.Key)
		offsets = append(offsets, (x.PTS-x.DTS)/time.Millisecond)
	}
	require.Equal(t, []bool{false, true, true, false, false, false}, keys)
	require.Equal(t, []time.Duration{0, 0, 0, -40, 0, 0}, offsets)
	require.Equal(t, []byte{0, 0, 0, 2, 0x41, 0x88}, u[5].Data)
}

func TestExtraParameterSetsTravelWithKeyFrames(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.send(typeVideo, 4, 0, append([]byte{0x17, 0, 0, 0, 0}, avcRecord(t, 4, []string{testSPS}, []string{testPPS, "68ee3c81"})...)...)
	c.frame(0)
	require.Equal(t, []byte{0, 0, 0, 4, 0x68, 0xEE, 0x3C, 0x81, 0, 0, 0, 2, 0x65, 0x88}, g.tape.first(t, 1)[0].Data)
}

func TestEnhancedHEVCAndOpus(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.send(typeVideo, 4, 0, append([]byte("\x90hvc1"), hevcRecord(t)...)...)
	c.send(typeVideo, 4, 0, []byte("\x91hvc1\x00\x00\x28\x00\x00\x00\x03\x26\x01\xAF")...)
	c.send(typeAudio, 5, 0, []byte("\x90OpusOpusHead\x01\x02\x38\x01\x80\xBB\x00\x00\x00\x00\x00")...)
	c.send(typeAudio, 5, 3, []byte("\x91Opus\xFC\xFF")...)
	u := g.tape.first(t, 2)
	require.Equal(t, hub.H265, u[0].Track.Codec)
	require.Equal(t, 320, u[0].Track.Width)
	require.True(t, u[0].Key)
	require.Equal(t, 40*time.Millisecond, u[0].PTS-u[0].DTS)
	require.Equal(t, []any{hub.Opus, 48000, 2}, []any{u[1].Track.Codec, u[1].Track.SampleRate, u[1].Track.Channels})
	require.Equal(t, []byte{0xFC, 0xFF}, u[1].Data)
}

func TestUnsupportedMediaIsRefusedByName(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	for i, x := range []struct {
		kind byte
		body string
		name string
	}{
		{typeVideo, "\x90av01\x81", "AV1"}, {typeAudio, "\x2F\xFF\xFB", "MP3"}, {typeVideo, "\x14\x00", "VP6"},
		{typeAudio, "\xAF\x00\x00\x00", "AAC"}, {typeVideo, "\x17\x00\x00\x00\x00\x01", "sequence header"},
	} {
		c := onAir(t, g.Addr(), "secret")
		c.send(x.kind, 4, 0, []byte(x.body)...)
		require.Equal(t, codeDenied, c.status())
		c.closed()
		g.gone(t, i+1)
		require.Contains(t, g.gate.reasons()[i], x.name)
	}
	require.Equal(t, uint64(5), g.Stats().Refused["media"])
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.header()
	var body []byte
	for i, ts := range []uint32{500, 540} {
		tag := []byte{0x17, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, byte(i)}
		body = append(body, typeVideo, 0, 0, byte(len(tag)), 0, byte(ts>>8), byte(ts), 0, 0, 0, 0)
		body = append(body, tag...)
		body = binary.BigEndian.AppendUint32(body, uint32(11+len(tag)))
	}
	c.send(typeAggregate, 6, 9000, append(body, 9, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0)...) // and a truncated tag
	u := g.tape.first(t, 2)
	require.Equal(t, []time.Duration{9000 * time.Millisecond, 9040 * time.Millisecond}, []time.Duration{u[0].DTS, u[1].DTS})
}
