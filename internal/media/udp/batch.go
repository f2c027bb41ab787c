package udp

import (
	"net/netip"
	"sync"
)

const (
	// maxPackets is what the kernel cuts out of one write.
	maxPackets = 64
	// maxBytes is the most that one write may hold, headers left off.
	maxBytes = 65535 - 40 - 8
)

// batch is what waits to be sent to one destination. Batches are pooled, so that
// there are as many as workers that send, not as many as destinations.
type batch struct {
	conn *Conn
	to   netip.AddrPort
	// data holds the packets one after the other, ends where each one ends.
	data []byte
	ends []int
	// plain: the path to the destination doesn't take runs of packets.
	plain bool

	sender sender
}

//nolint:gochecknoglobals // a pool is meant to be shared
var batches = sync.Pool{New: func() any {
	b := &batch{data: make([]byte, 0, maxBytes), ends: make([]int, 0, maxPackets)}
	b.sender.init(b)
	return b
}}

// newBatch takes a batch out of the pool; free puts it back.
func newBatch(c *Conn, to netip.AddrPort) *batch {
	b, _ := batches.Get().(*batch)
	b.conn, b.to = c, to
	return b
}

func (b *batch) free() {
	b.conn, b.to, b.plain = nil, netip.AddrPort{}, false
	b.data, b.ends = b.data[:0], b.ends[:0]
	batches.Put(b)
}

// fits says whether a packet of n bytes has room.
func (b *batch) fits(n int) bool { return len(b.ends) < maxPackets && len(b.data)+n <= maxBytes }

// add copies a packet that fits.
func (b *batch) add(packet []byte) {
	b.data = append(b.data, packet...)
	b.ends = append(b.ends, len(b.data))
}

// packet is the i-th one.
func (b *batch) packet(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.data[start:b.ends[i]]
}

// run is how many packets from the i-th on are one run for the kernel: all of
// the first one's size, the last one may be shorter.
func (b *batch) run(i int) int {
	size := len(b.packet(i))
	n := 1
	for ; i+n < len(b.ends); n++ {
		if next := len(b.packet(i + n)); next != size {
			if next < size {
				n++
			}
			break
		}
	}
	return n
}

// sendOneByOne sends the packets from the i-th on as any platform can, and
// returns the first error.
func (b *batch) sendOneByOne(i int) error {
	var first error
	for ; i < len(b.ends); i++ {
		b.conn.calls.Add(1)
		if _, err := b.conn.WriteToAddrPort(b.packet(i), b.to); err != nil {
			b.conn.failed.Add(1)
			if first == nil {
				first = err
			}
			continue
		}
		b.conn.packets.Add(1)
	}
	return first
}
