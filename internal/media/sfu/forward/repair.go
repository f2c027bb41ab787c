package forward

import (
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const (
	// repairs is how many of the last packets a sink can send again.
	repairs = 512
	// repairAtLeast is how many bytes may always be sent again in a second. The limit is higher if
	// half of the bytes that were sent for the first time is more.
	repairAtLeast = 64 << 10
)

// original identifies the publisher's packet from which a packet was made, and how it was
// rewritten.
type original struct {
	seq         uint64 // the publisher's sequence number
	tsShift     uint32
	again       uint32 // when it was last sent again, in milliseconds
	out         uint16 // the subscriber's sequence number
	ids         uint16
	numberShift uint16
	tl0Shift    uint8
	layerPlus1  uint8 // 0 for no packet
}

// repairer sends lost packets again, by RTX (RFC 4588).
type repairer struct {
	sink   *Sink
	header rtp.Header
	fixed  int
	seq    uint16
	sent   [repairs]original
}

func newRepairer(s *Sink) *repairer {
	r := &repairer{sink: s}
	r.header, r.fixed = newHeader(s.config.RTXSSRC, s.config.RTXPayloadType, &s.config.Extensions, s.twcc[:])
	return r
}

// note stores a packet that is being sent.
func (r *repairer) note(p *packet, x *placed) {
	r.sent[x.seq%repairs] = original{
		seq: p.seq, layerPlus1: p.layer + 1, out: uint16(x.seq), tsShift: x.ts - p.ts,
		ids: x.ids, tl0Shift: x.tl0Shift, numberShift: x.numberShift,
	}
}

// nack handles a subscriber's list of missing packets.
func (r *repairer) nack(p *rtcp.TransportLayerNack, now instant) {
	for _, pair := range p.Nacks {
		r.lost(pair.PacketID, now)
		for i := range uint16(16) {
			if pair.LostPackets>>i&1 != 0 {
				r.lost(pair.PacketID+i+1, now)
			}
		}
	}
}

// lost sends a packet again. It doesn't if the packet is gone, or was sent again within the last
// round trip, so that it may still be on its way.
func (r *repairer) lost(seq uint16, now instant) {
	s := r.sink
	o := &r.sent[seq%repairs]
	if o.layerPlus1 == 0 || o.out != seq {
		return
	}
	millisecond := uint32(time.Duration(now) / time.Millisecond)
	if o.again != 0 && millisecond-o.again < uint32(s.egress.roundTrip/time.Millisecond) {
		return
	}
	p := s.track.repeat(o.layerPlus1-1, o.seq)
	if p == nil {
		return
	}
	defer p.release()
	content := s.content(p)
	if !s.egress.mayRepair(len(content), now) {
		return
	}
	o.again = max(millisecond, 1)
	b := s.egress.worker.scratch[:]
	b[0], b[1] = uint8(seq>>8), uint8(seq)
	n := 2 + copy(b[2:], content)
	rewritePicture(b[2:n], &p.view, o.ids, o.tl0Shift)
	h := &r.header
	r.seq++
	h.SequenceNumber, h.Timestamp, h.Marker = r.seq, p.ts+o.tsShift, p.marker
	h.Padding, h.PaddingSize = false, 0
	s.extend(h, p, o.numberShift)
	s.write(h, b[:n])
}

// pad sends a packet of padding only, with the timestamp of the last picture. It returns the
// packet's size on the wire in bytes.
func (r *repairer) pad() int {
	h := &r.header
	r.seq++
	h.SequenceNumber, h.Timestamp, h.Marker = r.seq, r.sink.rewriter.topTS, false
	h.Extensions, h.Extension = h.Extensions[:r.fixed], r.fixed > 0
	h.Padding, h.PaddingSize = true, 255
	return r.sink.write(h, nil)
}
