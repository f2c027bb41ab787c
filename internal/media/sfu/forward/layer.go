package forward

import "time"

// Bounds for jumps of a publisher's sequence numbers and timestamps. Beyond them, the packets are
// treated as those of another source (RFC 3550, appendix A.1).
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
	highest uint64 // sequence number, extended by its higher bits
	floor   uint64 // older sequence numbers are dropped
	doubted uint32 // the sequence number that would confirm a jump, +1; 0 for none
	lastTS  uint32 // timestamp of the highest sequence number
	last    instant
	// index maps a packet's sequence number to its position in the history.
	index []uint64

	sawSPS        bool // H.264: the source sends parameter sets in its packets
	width, height int  // 0 for unknown
	report        report
	meter         meter
	asked         instant // when a key frame was last requested
}

// place returns a packet's extended sequence number; false when the packet must be dropped because
// it is a duplicate, too old, or far off.
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
	// Far off. If the next packet follows it, the source has restarted.
	if l.doubted == uint32(h.seq)+1 {
		return l.begin(h, now), true
	}
	l.doubted = uint32(h.seq+1) + 1
	return 0, false
}

// begin starts a new source. Its extended sequence numbers are above all earlier ones of the layer.
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

// leaps reports whether a timestamp can't be of the same clock as the earlier ones.
func (l *layer) leaps(ts uint32, now instant, clock uint32) bool {
	if clock == 0 {
		return false
	}
	went := time.Duration(int32(ts-l.lastTS)) * time.Second / time.Duration(clock)
	return went < -backwardsTime || went > now.since(l.last)+forwardsTime
}

// measure counts a packet of size bytes on the wire. The repeated part of RED is counted as a
// temporal layer of its own, since not all subscribers receive it.
func (l *layer) measure(h *header, size int, temporal uint8, now instant) {
	if h.red {
		repeated := h.payload.to - h.payload.from - (h.primary.to - h.primary.from)
		l.meter.add(repeated, repeatedLayer, now)
		size -= repeated
	}
	l.meter.add(size, temporal, now)
}

// cut starts a new run: earlier packets are no longer accepted.
func (l *layer) cut() {
	l.run++
	l.floor = l.highest + 1
}

func (l *layer) has(seq uint64, past *history) bool { return l.find(seq, past) != nil }

// find returns the packet with a sequence number; nil when it isn't there.
func (l *layer) find(seq uint64, past *history) *packet {
	p := past.at(l.index[seq%uint64(len(l.index))])
	if p == nil || p.layer != l.number || p.seq != seq {
		return nil
	}
	return p
}
