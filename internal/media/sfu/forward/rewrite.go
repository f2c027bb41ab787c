package forward

import "math/rand/v2"

// spanCount is the number of spans that are kept for late packets.
const spanCount = 32

// span maps a range of the publisher's sequence numbers to the subscriber's: from its own first
// number up to the next span's.
type span struct {
	from  uint64
	shift uint64 // subtracted from a sequence number
	ids   uint16 // subtracted from a picture's id
}

// rewriter gives the packets for one subscriber sequence numbers without gaps and timestamps
// without jumps, also when it switches between layers. The numbers of packets that are missing from
// the publisher stay free, since the packets may still arrive.
type rewriter struct {
	begun   bool // anything was sent at all
	sending bool
	layer   int
	run     uint32
	source  uint32

	highest uint64 // the publisher's highest sequence number in this run
	out     uint64 // the highest used sequence number of the subscriber
	spans   [spanCount]span
	last    int // index of the newest span
	count   int

	tsShift uint32 // added to a timestamp
	lastTS  uint32 // of the highest packet, as in the publisher's packet
	topTS   uint32 // the highest timestamp that was sent
	lastAt  instant
	ahead   int64 // how far the sent timestamps are ahead, in ticks: two pictures can't have the same timestamp

	id, tl0       uint16 // of the last picture that was sent
	tl0Shift      uint8
	skipped       int32 // id of the last picture that was left out; -1 for none
	number        uint16
	numberShift   uint16 // of frame numbers in dependency descriptors
	hasID, hasNum bool
}

// placed holds the new numbers of a packet.
type placed struct {
	seq         uint64
	ts          uint32
	ids         uint16
	tl0Shift    uint8
	numberShift uint16
	late        bool
}

// start starts a run at p. ts is p's timestamp, or its replacement in a replay. elapsed is the time
// from the last sent packet to this one on the track's RTP clock; it is used if their timestamps
// aren't comparable.
func (r *rewriter) start(p *packet, ts uint32, elapsed int64) {
	if !r.begun {
		// Below 2^15, so that a receiver that misses the first packets doesn't mistake the next
		// ones for packets after a wrap-around (RFC 3711).
		r.out = 1<<16 | uint64(rand.UintN(1<<15))
	}
	same := r.begun && r.layer == int(p.layer) && r.source == p.source
	if r.begun && (!same || int32(ts+r.tsShift-r.topTS) <= 0) {
		if same {
			elapsed = 1
		}
		step := max(elapsed-r.ahead, 1)
		r.ahead += step - elapsed
		r.tsShift = r.topTS + uint32(step) - ts
	}
	r.begun, r.sending = true, true
	r.layer, r.run, r.source = int(p.layer), p.run, p.source
	r.highest = p.seq - 1
	r.last, r.count = 0, 1
	r.spans[0] = span{from: p.seq, shift: p.seq - r.out - 1}
	r.skipped = -1
	if v := &p.view; v.idAt > 0 {
		if r.hasID {
			r.spans[0].ids = v.id - r.id - 1
		}
		r.hasID = true
	}
	if v := &p.view; v.tl0At > 0 {
		r.tl0Shift = 0
		if r.tl0 > 0 {
			r.tl0Shift = v.tl0 - uint8(r.tl0) - 1
		}
	}
	if d, ok := lookDependency(p.dependency); ok {
		r.numberShift = 0
		if r.hasNum {
			r.numberShift = d.number - r.number - 1
		}
		r.hasNum = true
	}
	r.topTS = ts + r.tsShift
}

// stop ends the run; the next packet needs a start.
func (r *rewriter) stop() { r.sending = false }

// place returns the new numbers of a packet of the run; false when it is too late.
func (r *rewriter) place(p *packet) (x placed, ok bool) {
	s := &r.spans[r.last]
	x = placed{ts: p.ts + r.tsShift, tl0Shift: r.tl0Shift, numberShift: r.numberShift}
	if p.seq <= r.highest {
		if s = r.spanOf(p.seq); s == nil {
			return x, false
		}
		x.late = true
	} else {
		r.advance(p, s)
	}
	x.seq, x.ids = p.seq-s.shift, s.ids
	return x, true
}

func (r *rewriter) advance(p *packet, s *span) {
	r.highest, r.out = p.seq, p.seq-s.shift
	r.lastTS, r.lastAt = p.ts, p.arrived
	if ts := p.ts + r.tsShift; int32(ts-r.topTS) > 0 {
		r.topTS = ts
	}
	if v := &p.view; v.idAt > 0 {
		r.id = v.id - s.ids
		if v.tl0At > 0 {
			r.tl0 = 1<<8 | uint16(v.tl0-r.tl0Shift)
		}
	}
	if len(p.dependency) > 2 {
		r.number = uint16(p.dependency[1])<<8 | uint16(p.dependency[2]) - r.numberShift
	}
}

// skip leaves a packet out. The next packet gets its number.
func (r *rewriter) skip(p *packet) {
	if p.seq <= r.highest {
		// A late packet: its number has been used, or stays free.
		return
	}
	s := r.spans[r.last]
	r.highest, r.out = p.seq, p.seq-s.shift-1
	r.lastTS, r.lastAt = p.ts, p.arrived
	if v := &p.view; v.idAt > 0 && len(p.payload) > 0 && r.skipped != int32(v.id) {
		r.skipped = int32(v.id)
		s.ids++
	}
	s.shift++
	if s.from != p.seq {
		r.last = (r.last + 1) % spanCount
		r.count = min(r.count+1, spanCount)
	}
	s.from = p.seq + 1
	r.spans[r.last] = s
}

// spanOf returns the span of a late packet's number; nil when it is no longer kept.
func (r *rewriter) spanOf(seq uint64) *span {
	for i := range r.count {
		s := &r.spans[(r.last-i+spanCount)%spanCount]
		if seq >= s.from {
			return s
		}
	}
	return nil
}

// rewritePicture writes the picture's new numbers into a copy of a payload.
func rewritePicture(b []byte, v *picture, ids uint16, tl0Shift uint8) {
	if n := int(v.idAt); n > 0 {
		id := v.id - ids
		if v.wide {
			b[n], b[n+1] = 0x80|uint8(id>>8)&0x7f, uint8(id)
		} else {
			b[n] = uint8(id) & 0x7f
		}
	}
	if n := int(v.tl0At); n > 0 {
		b[n] = v.tl0 - tl0Shift
	}
}
