package forward

import (
	"bytes"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	opusPT = 111
	redPT  = 63
)

// redOf packs blocks into a RED payload, the primary last.
func redOf(payloadType uint8, blocks ...[]byte) (b []byte) {
	for i, block := range blocks[:len(blocks)-1] {
		offset := uint16(960 * (len(blocks) - 1 - i))
		b = append(b, 0x80|payloadType, byte(offset>>6), byte(offset<<2)|byte(len(block)>>8), byte(len(block)))
	}
	return append(append(b, payloadType), bytes.Join(blocks, nil)...)
}

// redPacket returns a packet of a publisher that sends RED.
func redPacket(t testing.TB, seq uint16, payload []byte, change ...func(*rtp.Packet)) []byte {
	t.Helper()
	return raw(t, seq, uint32(int16(seq))*960, 7, payload, append(change, func(p *rtp.Packet) { p.PayloadType = redPT })...)
}

func opusPacket(t testing.TB, seq uint16, payload []byte) []byte {
	t.Helper()
	return raw(t, seq, uint32(int16(seq))*960, 7, payload, func(p *rtp.Packet) { p.PayloadType = opusPT })
}

func (r *rig) redTrack(change ...func(*TrackConfig)) *Track {
	c := TrackConfig{Kind: Audio, MimeType: "audio/opus", ClockRate: 48000, PayloadType: opusPT, REDPayloadType: redPT}
	for _, f := range change {
		f(&c)
	}
	return r.track(c)
}

func takesRED(payloadType, red uint8) func(*SinkConfig) {
	return func(c *SinkConfig) { c.PayloadType, c.REDPayloadType, c.RTXSSRC = payloadType, red, 0 }
}

func TestREDGoesToSubscribersThatNegotiatedIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.redTrack()
	takes, other, plain := r.receiver(), r.receiver(), r.receiver()
	takes.add(track, takesRED(opusPT, redPT))
	other.add(track, takesRED(109, 64)) // with other payload types
	plain.add(track, takesRED(mediaPT, 0))
	r.run()
	frames := [][]byte{{1, 1}, {2, 2, 2}, {3}, {4, 4}, {5, 5}, {6}}
	sent := [][]byte{
		redPacket(t, 65533, redOf(opusPT, frames[0])),
		redPacket(t, 65534, redOf(opusPT, frames[0], frames[1])),
		opusPacket(t, 65535, frames[2]),
		redPacket(t, 0, redOf(opusPT, frames[1], frames[2], frames[3])),
		opusPacket(t, 1, frames[4]),
		redPacket(t, 2, redOf(opusPT, frames[4], frames[5])),
	}
	for _, b := range sent {
		track.Write(0, b)
		r.run()
	}
	for _, x := range []*receiver{takes, other, plain} {
		require.Len(t, x.packets, len(sent))
		assert.Equal(t, upTo(len(sent)), x.seqs(mediaSSRC))
		for i, ts := range x.stamps() {
			assert.Equal(t, 960*i, ts)
		}
	}
	for i, b := range sent {
		var p rtp.Packet
		require.NoError(t, p.Unmarshal(b))
		assert.Equal(t, p.Payload, takes.packets[i].payload, "unchanged")
		assert.Equal(t, p.PayloadType, takes.packets[i].PayloadType)
		assert.Equal(t, uint8(mediaPT), plain.packets[i].PayloadType)
		assert.Equal(t, frames[i], plain.packets[i].payload)
		want := uint8(109)
		if p.PayloadType == redPT {
			want = 64
			at, ok := primaryOf(other.packets[i].payload, 109)
			require.True(t, ok)
			assert.Equal(t, frames[i], at.of(other.packets[i].payload))
			assert.Len(t, other.packets[i].payload, len(p.Payload))
		}
		assert.Equal(t, want, other.packets[i].PayloadType)
	}
}

func TestAnEmptyPrimaryLeavesNoGap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.redTrack()
	takes, plain := r.receiver(), r.receiver()
	takes.add(track, takesRED(opusPT, redPT))
	plain.add(track, takesRED(opusPT, 0))
	r.run()
	track.Write(0, redPacket(t, 1, redOf(opusPT, []byte{1}, nil))) // no primary block at first
	track.Write(0, redPacket(t, 2, redOf(opusPT, []byte{2})))
	track.Write(0, redPacket(t, 3, redOf(opusPT, []byte{2}, nil))) // a pause (DTX)
	track.Write(0, redPacket(t, 4, nil))                           // padding
	track.Write(0, redPacket(t, 9, redOf(opusPT, []byte{9})))
	r.run()
	assert.Equal(t, []int{0, 1, 2, 7}, takes.seqs(mediaSSRC))
	assert.Equal(t, []int{0, 5}, plain.seqs(mediaSSRC), "packets missing since then may still arrive")
	assert.Equal(t, []int{0, 7 * 960}, plain.stamps())
}

func TestREDThatLiesIsDroppedAndCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bad := 0
	track := r.redTrack(func(c *TrackConfig) { c.Malformed = func() { bad++ } })
	x := r.receiver()
	x.add(track, takesRED(opusPT, redPT))
	r.run()
	long := redOf(opusPT, []byte{1, 2, 3}, []byte{4})
	long[2], long[3] = 3, 0xff
	lies := [][]byte{
		{0x80 | opusPT},
		{0x80 | opusPT, 0, 0},
		{0x80 | opusPT, 0, 0, 1},
		{0x80 | opusPT, 0, 0, 1, opusPT},
		long,
		redOf(0, []byte{1}, []byte{2}),
		append([]byte{0x80 | opusPT, 0, 0, 0}, redOf(8, []byte{2})...),
		bytes.Repeat([]byte{0x80 | opusPT, 0, 0, 0}, 100),
	}
	for i, b := range lies {
		track.Write(0, redPacket(t, uint16(i), b))
	}
	r.run()
	assert.Equal(t, len(lies), bad)
	assert.Empty(t, x.packets)
	track.Write(0, redPacket(t, 100, redOf(opusPT, []byte{1}, []byte{2})))
	r.run()
	assert.Len(t, x.packets, 1)
}

// TestREDCountsForActiveSpeakers: loudness, muting, and forwarded levels.
func TestREDCountsForActiveSpeakers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ears := NewSpeakers(SpeakersConfig{Now: r.now})
	track := r.redTrack(func(c *TrackConfig) { c.ID, c.Speakers, c.Extensions.AudioLevel = "ada", ears, levelID })
	x := r.receiver()
	x.add(track, takesRED(opusPT, 0), func(c *SinkConfig) { c.Extensions.AudioLevel = 4 })
	r.run()
	speak := func(seq uint16) {
		r.advance(20 * time.Millisecond)
		track.Write(0, redPacket(t, seq, redOf(opusPT, []byte{1}, []byte{byte(seq)}), func(p *rtp.Packet) {
			require.NoError(t, p.SetExtension(levelID, []byte{0x80 | 20}))
		}))
		r.run()
	}
	for seq := range uint16(20) {
		speak(seq)
	}
	require.Len(t, ears.List(), 1)
	require.Len(t, x.packets, 20)
	assert.Equal(t, []byte{0x80 | 20}, x.packets[3].GetExtension(4))
	track.SetSilenced(true)
	for seq := range uint16(50) {
		speak(20 + seq)
	}
	assert.Empty(t, ears.List())
	assert.Len(t, x.packets, 20)
	track.SetSilenced(false)
	speak(70)
	speak(71)
	assert.Equal(t, upTo(22), x.seqs(mediaSSRC))
	assert.Equal(t, []int{70 * 960, 71 * 960}, x.stamps()[20:], "the first word too")
}

func TestAudioTakesItsRateFromThePathsBudget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.redTrack()
	x := r.receiver()
	takes, plain := x.add(track, takesRED(opusPT, redPT)), x.add(track, takesRED(opusPT, 0))
	r.run()
	frame := make([]byte, 160)
	for seq := range uint16(200) {
		r.advance(20 * time.Millisecond)
		track.Write(0, redPacket(t, seq, redOf(opusPT, frame, frame)))
		r.run()
	}
	now := at(r.now())
	const perByte = 8 * 50
	assert.InEpsilon(t, (12+5+320+44)*perByte, takes.soundRate(takes.feed.look(now)), 0.03)
	assert.InEpsilon(t, (12+160+44)*perByte, plain.soundRate(plain.feed.look(now)), 0.03)
}

func TestForwardingREDAllocatesNothing(t *testing.T) {
	r := newRig(t)
	track := r.redTrack()
	x := r.receiver()
	for _, f := range []func(*SinkConfig){takesRED(opusPT, redPT), takesRED(109, 64), takesRED(109, 0)} {
		x.add(track, f, func(c *SinkConfig) {
			c.Write = func(*rtp.Header, []byte) (int, error) { return 0, nil }
			c.Extensions.TransportCC = 3
		})
	}
	r.run()
	b := redPacket(t, 1, redOf(opusPT, make([]byte, 80), make([]byte, 90)))
	seq := uint16(1)
	round := func() {
		b[2], b[3] = byte(seq>>8), byte(seq)
		seq++
		track.Write(0, b)
		r.send()
	}
	for range 2 * audioHistory {
		round()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, round))
	for _, s := range x.egress.sinks {
		assert.Greater(t, s.packets, uint64(1000))
	}
}

// FuzzRED parses RED payloads, and changes their payload types.
func FuzzRED(f *testing.F) {
	f.Add(redOf(opusPT, []byte{1}), uint8(opusPT))
	f.Add(redOf(opusPT, []byte{1}, []byte{2, 3}, nil), uint8(opusPT))
	f.Add([]byte{0x80 | opusPT, 0xff, 0xff, 0xff, opusPT, 1}, uint8(opusPT))
	f.Add(bytes.Repeat([]byte{0xff}, 200), uint8(127))
	f.Fuzz(func(t *testing.T, b []byte, payloadType uint8) {
		payloadType &= 0x7f
		before := bytes.Clone(b)
		r, ok := primaryOf(b, payloadType)
		if !ok {
			return
		}
		if r.from < 1 || r.from > r.to || r.to != len(b) {
			t.Fatal("outside of the payload")
		}
		renumber(b, 5)
		if again, ok := primaryOf(b, 5); !ok || again != r {
			t.Fatal("not the same any more")
		}
		renumber(b, payloadType)
		if !bytes.Equal(before, b) {
			t.Fatal("more was changed than the numbers")
		}
	})
}
