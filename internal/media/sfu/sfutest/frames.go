package sfutest

import (
	"time"

	"github.com/pion/rtp"
)

// Frames simulates a decoder of a VP8 or Opus track: pictures are shown in order; after a gap
// that is never filled, the decoder continues with the next key picture.
type Frames struct {
	// Shown counts shown pictures, Keys those of them that are key pictures, and Skipped gaps
	// that were never filled. For audio, Shown counts packets.
	Shown, Keys, Skipped int
	// Last is when the last picture was shown, Stall the longest time without a new one.
	Last  time.Time
	Stall time.Duration

	began   bool
	next    uint16 // sequence number of the first packet of the next picture
	waiting map[uint16]rtp.Packet
	stuck   time.Time // time since which the decoder waits for the next picture
	asked   time.Time
}

// gapPatience is how long a decoder waits for a gap to be filled before it requests a key
// picture, and askEvery how often it does so.
const (
	gapPatience = 200 * time.Millisecond
	askEvery    = 300 * time.Millisecond
)

// take adds a packet, and reports whether a key picture is to be requested.
func (f *Frames) take(p rtp.Packet, now time.Time) (ask bool) {
	if f.waiting == nil {
		f.waiting = map[uint16]rtp.Packet{}
	}
	if f.began && int16(p.SequenceNumber-f.next) < 0 {
		return false // too late
	}
	f.waiting[p.SequenceNumber] = p
	if !f.began && !f.skip() {
		return f.nag(now)
	}
	for f.show(now) {
		f.stuck = time.Time{}
	}
	if len(f.waiting) == 0 {
		f.stuck = time.Time{}
		return false
	}
	if f.stuck.IsZero() {
		f.stuck = now
	}
	if now.Sub(f.stuck) < gapPatience {
		return false
	}
	if f.skip() {
		f.Skipped++
		for f.show(now) {
			f.stuck = time.Time{}
		}
		return false
	}
	return f.nag(now)
}

func (f *Frames) nag(now time.Time) bool {
	if now.Sub(f.asked) < askEvery {
		return false
	}
	f.asked = now
	return true
}

// show shows the next picture if it is complete.
func (f *Frames) show(now time.Time) bool {
	end, ok := f.whole(f.next)
	if !ok {
		return false
	}
	if isKey(f.waiting[f.next]) {
		f.Keys++
	}
	for seq := f.next; seq != end+1; seq++ {
		delete(f.waiting, seq)
	}
	f.next = end + 1
	f.shown(now)
	return true
}

func (f *Frames) shown(now time.Time) {
	if !f.Last.IsZero() {
		f.Stall = max(f.Stall, now.Sub(f.Last))
	}
	f.Last = now
	f.Shown++
}

// whole returns the end of the picture that begins with a packet, if it is complete.
func (f *Frames) whole(first uint16) (end uint16, ok bool) {
	p, there := f.waiting[first]
	if !there || !begins(p) {
		return 0, false
	}
	for seq := first; ; seq++ {
		q, there := f.waiting[seq]
		if !there || q.Timestamp != p.Timestamp {
			return 0, false
		}
		if q.Marker {
			return seq, true
		}
	}
}

// skip continues with the first complete key picture.
func (f *Frames) skip() bool {
	var at uint16
	found := false
	for seq, p := range f.waiting {
		if _, ok := f.whole(seq); ok && isKey(p) && (!found || int16(seq-at) < 0) {
			at, found = seq, true
		}
	}
	if !found {
		return false
	}
	for seq := range f.waiting {
		if int16(seq-at) < 0 {
			delete(f.waiting, seq)
		}
	}
	f.began, f.next, f.stuck = true, at, time.Time{}
	return true
}

// begins reports whether a packet is the first of a VP8 picture.
func begins(p rtp.Packet) bool { return len(p.Payload) > 1 && p.Payload[0]&0x17 == 0x10 }

// isKey reports whether the first packet of a picture belongs to a key picture.
func isKey(p rtp.Packet) bool {
	i := 1
	if p.Payload[0]&0x80 != 0 { // extensions
		x := p.Payload[1]
		i++
		if x&0x80 != 0 {
			i++
			if len(p.Payload) > 2 && p.Payload[2]&0x80 != 0 {
				i++
			}
		}
		if x&0x40 != 0 {
			i++
		}
		if x&0x30 != 0 {
			i++
		}
	}
	return len(p.Payload) > i && p.Payload[i]&1 == 0
}
