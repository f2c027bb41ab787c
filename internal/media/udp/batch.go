package udp

import (
	"net/netip"
	"sync"
)

const (
	// maxPackets is how many packets the kernel makes from one write at most.
	maxPackets = 64
	// maxBytes is the size of one write at most, without headers.
	maxBytes = 65535 - 40 - 8
)

// batch holds the packets that wait to be sent to one destination. Batches are pooled, so that
// their number depends on the sending workers, not on the destinations.
type batch struct {
	conn *Conn
	to   netip.AddrPort
	// data holds the packets one after the other, and ends the end of each packet in data.
	data []byte
	ends []int
	// plain: the path to the destination doesn't support segmentation offload (UDP_SEGMENT).
	plain bool

	sender sender
}

//nolint:gochecknoglobals // a pool is meant to be shared
var batches = sync.Pool{New: func() any {
	b := &batch{data: make([]byte, 0, maxBytes), ends: make([]int, 0, maxPackets)}
	b.sender.init(b)
	return b
}}

// newBatch returns a batch from the pool; free returns it to the pool.
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

// fits reports whether a packet of n bytes fits.
func (b *batch) fits(n int) bool { return len(b.ends) < maxPackets && len(b.data)+n <= maxBytes }

// add copies a packet, which must fit, into the batch.
func (b *batch) add(packet []byte) {
	b.data = append(b.data, packet...)
	b.ends = append(b.ends, len(b.data))
}

// packet returns the i-th packet.
func (b *batch) packet(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.data[start:b.ends[i]]
}

// run is how many packets, from the i-th on, the kernel can take as one write: all must have
// the first one's size, except that the last one may be shorter.
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

// sendOneByOne sends the packets from the i-th on with one write each, on any platform, and
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
