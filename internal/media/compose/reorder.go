package compose

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"showfloor/internal/media/trackfile"
)

const (
	// maxHeld bounds the packets that wait for a missing one.
	maxHeld = 2048
	// maxWait is how long they wait. A repair takes a round trip to the sender.
	maxWait = time.Second
)

// placed is a packet with its time since the start of the recording.
type placed struct {
	trackfile.Packet

	wide int64 // unwrapped sequence number
	at   time.Duration
	// gap: packets before it are missing.
	gap bool
}

// reorderer passes packets on by their sequence numbers.
type reorderer struct {
	// wait is how long packets wait for a missing one; 0 for maxWait.
	wait         time.Duration
	begun        bool
	newest, next int64
	held         []placed // sorted
	missing      uint64
}

// push takes a packet in the order of arrival, and copies its payload. Duplicates and packets that are too late are dropped.
func (r *reorderer) push(p *trackfile.Packet, at time.Duration, pass func(*placed)) {
	if !r.begun {
		r.begun, r.newest, r.next = true, int64(p.Sequence), int64(p.Sequence)
	}
	wide := r.newest + int64(int16(p.Sequence-uint16(r.newest)))
	r.newest = max(r.newest, wide)
	if wide < r.next {
		return
	}
	i := len(r.held)
	for i > 0 && r.held[i-1].wide > wide {
		i--
	}
	if i > 0 && r.held[i-1].wide == wide {
		return
	}
	x := placed{Packet: *p, wide: wide, at: at}
	x.Payload = bytes.Clone(p.Payload)
	r.held = slices.Insert(r.held, i, x)
	r.pass(pass, func() bool {
		return len(r.held) > maxHeld || p.Arrived-r.held[0].Arrived > cmp.Or(r.wait, maxWait)
	})
}

// flush passes on all packets that wait.
func (r *reorderer) flush(pass func(*placed)) { r.pass(pass, func() bool { return true }) }

// pass passes on the packets that are next, and those after a gap when skip returns true.
func (r *reorderer) pass(pass func(*placed), skip func() bool) {
	n := 0
	for n < len(r.held) {
		p := &r.held[n]
		if p.wide != r.next {
			r.held = r.held[n:]
			n = 0
			if !skip() {
				return
			}
			p = &r.held[0]
			r.missing += uint64(p.wide - r.next)
			p.gap = true
		}
		r.next = p.wide + 1
		pass(p)
		n++
	}
	clear(r.held)
	r.held = r.held[:0]
}
