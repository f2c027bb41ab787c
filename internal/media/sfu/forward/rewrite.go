package forward

import "math/rand/v2"

// spanCount is over how many changes of the mapping a late packet finds its place.
const spanCount = 32

// span maps a range of the publisher's sequence numbers to the subscriber's: all
// from its first up to the next span's.
type span struct {
	from  uint64
	shift uint64 // what is taken off a sequence number
	ids   uint16 // what is taken off a picture's id
}

// rewriter gives one subscriber's packets their sequence numbers without gaps and
// their timestamps without jumps, whatever packets of whatever layers they come
// from. Numbers that are missing because the publisher's packets are, stay free: the
// packets may still come.
type rewriter struct {
	begun   bool // anything was ever sent
	sending bool
	layer   int
	run     uint32
	source  uint32

	highest uint64 // the publisher's highest number in this run
	out     uint64 // the highest number that is used up
	spans   [spanCount]span
	last    int // index of the newest span
	count   int

	tsShift uint32 // what is added to a timestamp
	lastTS  uint32 // of the highest packet, as the publisher wrote it
	topTS   uint32 // the highest that was sent
	lastAt  instant
	ahead   int64 // by how much what is sent runs ahead, in ticks: pictures can't share a time

	id, tl0       uint16 // of the last picture that was sent
	tl0Shift      uint8
	skipped       int32 // id of the last picture that was left out; -1 for none
	number        uint16
	numberShift   uint16 // of frame numbers in dependency descriptors
	hasID, hasNum bool
}

// placed is what becomes of a packet.
type placed struct {
	seq         uint64
	ts          uint32
	ids         uint16
	tl0Shift    uint8
	numberShift uint16
	late        bool
}

// start begins a run of packets at p, after whatever was sent before. ts is p's timestamp,
// or what stands for it in a replay. elapsed is the time from the last packet sent to this
// one on the track's RTP clock; it counts where their timestamps don't compare.
func (r *rewriter) start(p *packet, ts uint32, elapsed int64) {
	if !r.begun {
		// Below 2^15, so that a receiver that misses the first packets doesn't
		// take them for those after a wrap-around (RFC 3711).
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

// stop ends the run; what comes next needs a start.
func (r *rewriter) stop() { r.sending = false }

// place gives a packet of the run its place; false when it comes too late.
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

// skip leaves a packet out. The next one takes its number.
func (r *rewriter) skip(p *packet) {
	if p.seq <= r.highest {
		// Its number is given away or free for good.
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

// spanOf finds the span of a number that isn't the newest; nil when it is forgotten.
func (r *rewriter) spanOf(seq uint64) *span {
	for i := range r.count {
		s := &r.spans[(r.last-i+spanCount)%spanCount]
		if seq >= s.from {
			return s
		}
	}
	return nil
}

// rewritePicture writes a picture's numbers into a copy of a payload.
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
