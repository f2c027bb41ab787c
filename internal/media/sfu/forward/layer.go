package forward

import "time"

// Bounds of what a publisher's sequence numbers and timestamps may do before its
// packets are taken for those of another source (RFC 3550, appendix A.1).
const (
	furthestJump  = 3000
	backwardsTime = time.Second
	forwardsTime  = 10 * time.Second
)

// layer is one simulcast layer of a track. The track's lock guards it.
type layer struct {
	number  uint8
	begun   bool
	ssrc    uint32
	source  uint32
	run     uint32
	highest uint64 // sequence number, with all its higher bits
	floor   uint64 // what is older is nobody's business any more
	doubted uint32 // the number that would prove a jump, +1; 0 for none
	lastTS  uint32 // of the highest
	last    instant
	// index tells a packet's position in the history by its sequence number.
	index []uint64

	sawSPS        bool // H.264: the source sends its parameter sets along
	width, height int  // 0 for unknown
	report        report
	meter         meter
	asked         instant // when a key frame was asked for last
}

// place finds a packet's sequence number among all; false when the packet is to
// be dropped: it is a duplicate, too old, or seems to be astray.
func (l *layer) place(h *header, now instant, clock uint32, past *history) (seq uint64, ok bool) {
	if !l.begun || h.ssrc != l.ssrc {
		return l.begin(h, now), true
	}
	diff := int(int16(h.seq - uint16(l.highest)))
	switch {
	case diff == 0:
		return 0, false
	case diff > 0 && diff <= furthestJump:
		seq = l.highest + uint64(diff)
		if l.leaps(h.ts, now, clock) {
			l.source++
			l.run++
			l.floor = seq
		}
		l.highest, l.lastTS, l.last, l.doubted = seq, h.ts, now, 0
		return seq, true
	case diff < 0 && -diff < len(l.index):
		seq = l.highest - uint64(-diff)
		return seq, seq >= l.floor && !l.has(seq, past)
	}
	// Far off. If the next one follows upon it, the source has begun anew.
	if l.doubted == uint32(h.seq)+1 {
		return l.begin(h, now), true
	}
	l.doubted = uint32(h.seq+1) + 1
	return 0, false
}

// begin starts a new source. Its numbers lie above all that the layer had.
func (l *layer) begin(h *header, now instant) uint64 {
	if l.begun {
		l.source++
		l.report = report{}
	}
	l.run++
	l.begun, l.ssrc, l.doubted = true, h.ssrc, 0
	l.highest = (l.highest>>16+2)<<16 | uint64(h.seq)
	l.floor, l.lastTS, l.last = l.highest, h.ts, now
	return l.highest
}

// leaps tells whether a timestamp can't belong to the clock of those before it.
func (l *layer) leaps(ts uint32, now instant, clock uint32) bool {
	if clock == 0 {
		return false
	}
	went := time.Duration(int32(ts-l.lastTS)) * time.Second / time.Duration(clock)
	return went < -backwardsTime || went > now.since(l.last)+forwardsTime
}

// measure counts a packet of so many bytes on the wire. What RED repeats counts as a
// temporal layer of its own, since it isn't sent to all.
func (l *layer) measure(h *header, size int, temporal uint8, now instant) {
	if h.red {
		repeated := h.payload.to - h.payload.from - (h.primary.to - h.primary.from)
		l.meter.add(repeated, repeatedLayer, now)
		size -= repeated
	}
	l.meter.add(size, temporal, now)
}

// cut parts all that came so far from what comes from now on.
func (l *layer) cut() {
	l.run++
	l.floor = l.highest + 1
}

func (l *layer) has(seq uint64, past *history) bool { return l.find(seq, past) != nil }

// find gives the packet with a sequence number; nil when it isn't there.
func (l *layer) find(seq uint64, past *history) *packet {
	p := past.at(l.index[seq%uint64(len(l.index))])
	if p == nil || p.layer != l.number || p.seq != seq {
		return nil
	}
	return p
}
