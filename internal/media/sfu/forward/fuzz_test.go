package forward

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

// FuzzWrite writes untrusted packets. The input is a sequence of packets. Before each are a byte
// (its layer, how it differs from the last one, and other events) and a length of two bytes.
func FuzzWrite(f *testing.F) {
	pack := func(packets ...[]byte) (b []byte) {
		for i, p := range packets {
			b = append(b, byte(i))
			b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
			b = append(b, p...)
		}
		return b
	}
	with := func(change func(*rtp.Packet)) []byte { return raw(f, 7, 8, 9, vp8Key, change) }
	f.Add(uint8(0), pack(raw(f, 1, 2, 3, vp8Key), raw(f, 2, 2, 3, vp8Delta), raw(f, 3, 5000, 4, nil)))
	f.Add(uint8(1), pack(
		with(func(p *rtp.Packet) { p.CSRC = []uint32{1, 2, 3} }),
		with(func(p *rtp.Packet) { _ = p.SetExtension(1, []byte{1}); _ = p.SetExtension(2, []byte{0x80, 0, 1}) }),
		with(func(p *rtp.Packet) { _ = p.SetExtension(2, make([]byte, 200)) }),
		with(func(p *rtp.Packet) { p.Padding, p.Header.PaddingSize = true, 200 }),
	))
	f.Add(uint8(2), pack(raw(f, 1, 2, 3, []byte{0x8a, 0x80, 1, 0x10, 1, 0, 0, 1}), []byte{0xb0, 0, 0, 0}))
	f.Add(uint8(3), pack(raw(f, 1, 2, 3, []byte{0x78, 0, 2, 0x67, 1}), raw(f, 0, 2, 3, make([]byte, 2000))))
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		mimes := []string{"video/VP8", "video/VP9", "video/AV1", "video/H264", "audio/opus"}
		c := TrackConfig{
			Kind: Video, MimeType: mimes[int(kind)%len(mimes)], Layers: 2,
			Extensions: Extensions{AudioLevel: 1, DependencyDescriptor: 2, PlayoutDelay: 3},
		}
		if c.MimeType == "audio/opus" {
			c.Kind, c.Layers, c.Speakers = Audio, 1, NewSpeakers(SpeakersConfig{Most: 1})
		}
		r := newRig(t)
		track := r.track(c)
		x := r.receiver()
		s := x.add(track, func(c *SinkConfig) {
			c.Extensions = Extensions{AudioLevel: 4, DependencyDescriptor: 5, PlayoutDelay: 6, TransportCC: 7}
		})
		r.run()
		for len(b) > 3 {
			how, size := b[0], int(binary.BigEndian.Uint16(b[1:]))
			b = b[3:]
			size = min(size, len(b))
			track.Write(int(how&1), b[:size])
			b = b[size:]
			r.advance(time.Duration(how) * time.Millisecond)
			switch how >> 4 {
			case 1:
				s.View(View{Width: int(how), Height: int(how)})
			case 2:
				track.SetSilenced(how&2 != 0)
			case 3:
				r.tick()
			case 4:
				x.egress.HandleRTCP([]rtcp.Packet{&rtcp.TransportLayerNack{
					MediaSSRC: mediaSSRC, Nacks: rtcp.NackPairsFromSequenceNumbers(sequences(x)),
				}})
			}
			if how&8 == 0 {
				r.run()
			}
		}
		r.run()
		for _, p := range x.packets {
			if _, err := p.Marshal(); err != nil {
				t.Fatalf("a header that can't be sent: %v", err)
			}
			if len(p.payload) > largePacket {
				t.Fatal("too large")
			}
		}
	})
}

func sequences(x *receiver) (out []uint16) {
	for _, p := range x.packets {
		out = append(out, p.SequenceNumber)
	}
	return out
}

// FuzzPayload parses payloads of all codecs.
func FuzzPayload(f *testing.F) {
	for _, b := range [][]byte{vp8Key, {0x90, 0xe0, 0x81, 0x23, 7, 0x60, 1}, {0x8a, 0x80, 1, 0x10, 1, 0x40, 0, 0xb4}, {0x78, 0, 1, 9, 0, 2, 0x67, 0x42}, {0x18, 0x0a}} {
		f.Add(uint8(0), b, []byte{0x80, 0, 1, 0x80})
	}
	f.Fuzz(func(t *testing.T, kind uint8, b, dependency []byte) {
		v := codec(kind%5).look(b, dependency)
		if len(b) == 0 {
			return
		}
		rewritePicture(b, &v, 1, 1) // the positions of the numbers are within the payload
		if v.key && !v.begins {
			t.Fatal("a key picture that doesn't begin")
		}
	})
}

// FuzzRTCP handles arbitrary reports of a subscriber.
func FuzzRTCP(f *testing.F) {
	for _, p := range []rtcp.Packet{
		&rtcp.TransportLayerNack{MediaSSRC: mediaSSRC, Nacks: []rtcp.NackPair{{PacketID: 5, LostPackets: 0xffff}}},
		&rtcp.PictureLossIndication{MediaSSRC: mediaSSRC},
		&rtcp.FullIntraRequest{FIR: []rtcp.FIREntry{{SSRC: mediaSSRC}}},
		&rtcp.ReceiverEstimatedMaximumBitrate{Bitrate: 1e6, SSRCs: []uint32{mediaSSRC}},
		&rtcp.ReceiverReport{Reports: []rtcp.ReceptionReport{{SSRC: mediaSSRC, FractionLost: 200, LastSenderReport: 1, Delay: 1 << 30}}},
		&rtcp.TransportLayerCC{
			Header:             rtcp.Header{Count: rtcp.FormatTCC, Type: rtcp.TypeTransportSpecificFeedback, Length: 5},
			PacketStatusCount:  1,
			PacketChunks:       []rtcp.PacketStatusChunk{&rtcp.RunLengthChunk{PacketStatusSymbol: rtcp.TypeTCCPacketReceivedSmallDelta, RunLength: 1}},
			RecvDeltas:         []*rtcp.RecvDelta{{Type: rtcp.TypeTCCPacketReceivedSmallDelta, Delta: 250}},
			BaseSequenceNumber: 0,
		},
	} {
		b, err := p.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		packets, err := rtcp.Unmarshal(b)
		if err != nil {
			return
		}
		r := newRig(t)
		track := r.track(TrackConfig{Kind: Video, MimeType: "video/VP8"})
		x := r.receiver()
		x.add(track, func(c *SinkConfig) { c.Extensions.TransportCC = 1 })
		r.run()
		track.Write(0, raw(t, 1, 1, 1, vp8Key))
		for i := range uint16(30) {
			track.Write(0, raw(t, i+2, uint32(i), 1, vp8Delta))
		}
		r.run()
		track.SenderReport(0, reportAt(1, 5, 5))
		r.pass(200 * time.Millisecond)
		x.egress.HandleRTCP(packets)
		r.run()
		r.pass(time.Second)
		if len(x.packets) > 31*40 {
			t.Fatal("more repairs than there is reason for")
		}
	})
}
