package forward

import (
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSoundGoesThroughAsItComes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Audio, ClockRate: 48000})
	x := r.receiver()
	x.add(track)
	r.run()
	for _, seq := range []uint16{65533, 65534, 1, 0, 65535, 65535, 0, 2} {
		track.Write(0, raw(t, seq, uint32(seq+10)*960, 7, []byte{1}))
	}
	r.run()
	assert.Equal(t, []int{0, 1, 4, 3, 2, 5}, x.seqs(mediaSSRC), "late ones in their places, none twice")
	for _, p := range x.packets {
		assert.Equal(t, uint8(mediaPT), p.PayloadType)
	}
	assert.Positive(t, x.flushes)
}

// TestBytesAreCounted: all bytes that the writers sent, repairs and padding included.
func TestBytesAreCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	x := r.receiver()
	x.add(track)
	r.run()
	track.Write(0, raw(t, 1, 100, 7, vp8Key))
	track.Write(0, raw(t, 2, 100, 7, vp8More))
	r.run()
	x.egress.HandleRTCP([]rtcp.Packet{&rtcp.TransportLayerNack{MediaSSRC: mediaSSRC, Nacks: []rtcp.NackPair{{PacketID: x.packets[1].SequenceNumber}}}})
	r.run()
	r.pass(time.Second)
	require.Len(t, x.packets, 3, "one was repaired")
	assert.Positive(t, x.written)
	assert.Equal(t, x.written, x.reported)
}

func TestPicturesBeginWithAKeyFrame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	x := r.receiver()
	x.add(track)
	r.run()
	assert.Equal(t, []int{0}, r.keys, "asked for at once")
	track.Write(0, raw(t, 1, 100, 7, vp8Delta))
	track.Write(0, raw(t, 2, 200, 7, vp8Key))
	track.Write(0, raw(t, 3, 200, 7, vp8More))
	r.run()
	assert.Equal(t, upTo(2), x.seqs(mediaSSRC))
	r.pass(3 * time.Second)
	assert.Len(t, r.keys, 1, "no subscriber waits")
}

func TestKeyFramesAreRequestedTwiceASecondWhileSubscribersWait(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	for range 20 {
		r.receiver().add(track)
	}
	r.run()
	r.pass(2 * time.Second)
	assert.Len(t, r.keys, 5)
}

func TestLayersSwitchOnKeyFramesOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8", Layers: 2})
	track.resize(0, 320, 180)
	track.resize(1, 1280, 720)
	x := r.receiver()
	s := x.add(track)
	s.View(View{Width: 300, Height: 170})
	r.run()
	write := func(layer int, seq uint16, ts uint32, payload []byte) {
		track.Write(layer, raw(t, seq, ts, uint32(layer+1), payload))
		r.run()
	}
	write(0, 10, 1000, vp8Key)
	write(1, 500, 90000, vp8Key)
	write(0, 11, 4000, vp8Delta)
	assert.Equal(t, SinkState{Layer: 0}, s.State())
	r.advance(33 * time.Millisecond)
	s.View(View{Width: 1280, Height: 720})
	r.run()
	assert.Contains(t, r.keys, 1)
	write(1, 501, 93000, vp8Delta)
	write(0, 12, 7000, vp8Delta)
	r.advance(33 * time.Millisecond)
	write(1, 502, 96000, vp8Key)
	write(0, 13, 10000, vp8Delta)
	write(1, 503, 99000, vp8Delta)
	assert.Equal(t, SinkState{Layer: 1}, s.State())
	assert.Equal(t, upTo(5), x.seqs(mediaSSRC))
	assert.Equal(t, []int{0, 3000, 6000, 6000 + 2970, 9000 + 2970}, x.stamps())
}

func TestAnswersNACKsByRTX(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	x := r.receiver()
	x.add(track)
	r.run()
	track.Write(0, raw(t, 1, 100, 7, vp8Key))
	for i := range uint16(5) {
		track.Write(0, raw(t, 2+i, 200, 7, append([]byte{0x10, 0x01}, byte(i))))
	}
	r.run()
	require.Len(t, x.packets, 6)
	lost := x.packets[3]
	nack := &rtcp.TransportLayerNack{MediaSSRC: mediaSSRC, Nacks: []rtcp.NackPair{{PacketID: lost.SequenceNumber}}}
	x.egress.HandleRTCP([]rtcp.Packet{nack})
	x.egress.HandleRTCP([]rtcp.Packet{nack})
	r.run()
	require.Len(t, x.packets, 7, "not twice within a round trip")
	again := x.packets[6]
	assert.Equal(t, uint32(rtxSSRC), again.SSRC)
	assert.Equal(t, uint8(rtxPT), again.PayloadType)
	assert.Equal(t, lost.Timestamp, again.Timestamp)
	assert.Equal(t, []byte{byte(lost.SequenceNumber >> 8), byte(lost.SequenceNumber)}, again.payload[:2])
	assert.Equal(t, lost.payload, again.payload[2:])
	r.advance(roundTrip)
	x.egress.HandleRTCP([]rtcp.Packet{nack})
	r.run()
	assert.Len(t, x.packets, 8)
}

// TestRepairsAreAtMostHalfOfTheSentBytes: repairs don't raise the limit for further repairs.
func TestRepairsAreAtMostHalfOfTheSentBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	x := r.receiver()
	x.add(track)
	r.run()
	r.tick() // a second begins
	track.Write(0, raw(t, 1, 100, 7, vp8Key))
	const sent = 400
	for i := range uint16(sent) {
		track.Write(0, raw(t, 2+i, 200, 7, append([]byte{0x10, 0x01}, make([]byte, 1000)...)))
		r.run()
	}
	require.Len(t, x.packets, 1+sent)
	var lost []uint16
	for _, p := range x.packets {
		lost = append(lost, p.SequenceNumber)
	}
	x.egress.HandleRTCP([]rtcp.Packet{&rtcp.TransportLayerNack{MediaSSRC: mediaSSRC, Nacks: rtcp.NackPairsFromSequenceNumbers(lost)}})
	r.run()
	assert.InDelta(t, sent/2, len(x.packets)-1-sent, sent/20)
}

func TestSilenceIsEnforcedAndLeavesNoGap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Audio})
	x := r.receiver()
	x.add(track)
	r.run()
	write := func(seq uint16) {
		track.Write(0, raw(t, seq, uint32(seq)*960, 7, []byte{byte(seq)}))
		r.run()
	}
	write(1)
	write(2)
	track.SetSilenced(true)
	write(4)
	write(5)
	track.SetSilenced(false)
	write(3) // late, from before
	write(6)
	write(4) // a copy of a suppressed packet
	write(7)
	assert.Equal(t, upTo(4), x.seqs(mediaSSRC))
	assert.Equal(t, []int{0, 960, 5 * 960, 6 * 960}, x.stamps(), "the clock went on")
	track.SetSilenced(true)
	write(8)
	track.SetSilenced(false)
	write(9) // the first packet that may be heard again is sent
	assert.Equal(t, upTo(5), x.seqs(mediaSSRC))
	assert.Equal(t, 8*960, x.stamps()[4])
}

func TestReportsCarryThePublishersClock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Audio, CNAME: "ada"})
	x := r.receiver()
	x.add(track)
	r.run()
	track.Write(0, raw(t, 1, 5000, 7, []byte{1}))
	r.run()
	track.SenderReport(0, &rtcp.SenderReport{SSRC: 7, NTPTime: 100 << 32, RTPTime: 4000})
	r.advance(time.Second)
	r.tick()
	require.Len(t, x.reports, 2)
	sr := x.reports[0].(*rtcp.SenderReport)
	assert.Equal(t, uint64(101)<<32, sr.NTPTime)
	assert.Equal(t, uint32(4000+48000), sr.RTPTime)
	assert.Equal(t, "ada", x.reports[1].(*rtcp.SourceDescription).Chunks[0].Items[0].Text)
	r.advance(80 * time.Millisecond)
	x.egress.HandleRTCP([]rtcp.Packet{&rtcp.ReceiverReport{Reports: []rtcp.ReceptionReport{{
		SSRC: mediaSSRC, LastSenderReport: uint32(sr.NTPTime >> 16), Delay: 65536 * 60 / 1000,
	}}}})
	r.run()
	assert.InDelta(t, 80, x.egress.roundTrip.Milliseconds(), 1, "a quarter of the way from 100 to 20 ms")
}

func TestForwardingAllocatesNothing(t *testing.T) {
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
	x := r.receiver()
	x.add(track, func(c *SinkConfig) {
		c.Write = func(*rtp.Header, []byte) (int, error) { return 0, nil }
		c.Extensions.TransportCC = 3
	})
	r.run()
	key, delta := raw(t, 1, 100, 7, vp8Key), raw(t, 2, 200, 7, append(vp8Delta, make([]byte, 1000)...))
	track.Write(0, key)
	seq := uint16(2)
	round := func() {
		delta[2], delta[3] = byte(seq>>8), byte(seq)
		seq++
		track.Write(0, delta)
		r.send()
	}
	for range 2 * videoHistory {
		round()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, round))

	sound := r.track(TrackConfig{Kind: Audio, Speakers: NewSpeakers(SpeakersConfig{Now: r.now}), Extensions: Extensions{AudioLevel: 1}})
	x.add(sound, func(c *SinkConfig) {
		c.Write = func(*rtp.Header, []byte) (int, error) { return 0, nil }
		c.Extensions = Extensions{TransportCC: 3, AudioLevel: 4}
	})
	r.run()
	voice := raw(t, 1, 1, 1, []byte{1}, func(p *rtp.Packet) { require.NoError(t, p.SetExtension(1, []byte{30})) })
	speak := func() {
		voice[2], voice[3] = byte(seq>>8), byte(seq)
		seq++
		sound.Write(0, voice)
		r.send()
	}
	for range 2 * audioHistory {
		speak()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, speak))
	assert.Greater(t, r.workers.all[0].egresses[0].sinks[0].packets, uint64(3000))
}
