package udp

import (
	"io"
	"net/netip"
	"sync"
)

// maxWaiting is how many packets may be queued for their agent: a fifth of a second of what a
// publisher may send. A sender that is faster than its agent must not fill the memory.
const maxWaiting = 1024

// port is the queue of packets for one ufrag. All candidates of its agent read from it.
type port struct {
	name name
	// users is the number of candidates, and addresses are the addresses assigned to the port.
	// The mux's lock guards both.
	users     int
	addresses []netip.AddrPort

	// wake has room for one token, which is there while packets are queued; closed is closed
	// when no more packets will come.
	wake, closed chan struct{}

	mu      sync.Mutex
	waiting []*datagram
	first   int // in waiting
	ended   bool
}

// datagram is a queued packet.
type datagram struct {
	data []byte
	from netip.AddrPort
}

// datagrams are pools of buffers, by size: most packets fit into an Ethernet frame, and few are
// larger.
//
//nolint:gochecknoglobals // a pool is meant to be shared
var datagrams [2]sync.Pool

const maxData = 1504

func newDatagram(b []byte, from netip.AddrPort) *datagram {
	class, room := classOf(len(b))
	d, ok := datagrams[class].Get().(*datagram)
	if !ok {
		d = &datagram{data: make([]byte, 0, room)}
	}
	d.data, d.from = append(d.data[:0], b...), from
	return d
}

func classOf(size int) (class, room int) {
	if size > maxData {
		return 1, readBytes
	}
	return 0, maxData
}

func (d *datagram) free() {
	class, _ := classOf(cap(d.data))
	datagrams[class].Put(d)
}

func newPort(of name) *port {
	return &port{name: of, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// put queues a packet; false when the queue is full.
func (p *port) put(b []byte, from netip.AddrPort) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return true
	}
	if len(p.waiting)-p.first >= maxWaiting {
		return false
	}
	p.waiting = append(p.waiting, newDatagram(b, from))
	p.signal()
	return true
}

func (p *port) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// pass wakes another candidate, if there are packets to read.
func (p *port) pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first < len(p.waiting) {
		p.signal()
	}
}

// take removes and returns the oldest packet; nil for none.
func (p *port) take() *datagram {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == len(p.waiting) {
		return nil
	}
	d := p.waiting[p.first]
	p.waiting[p.first] = nil
	if p.first++; p.first == len(p.waiting) {
		p.waiting, p.first = p.waiting[:0], 0
	} else if p.first >= maxWaiting {
		n := copy(p.waiting, p.waiting[p.first:])
		p.waiting, p.first = p.waiting[:n], 0
	}
	if p.first < len(p.waiting) {
		p.signal() // another candidate may read it
	}
	return d
}

// read waits for a packet, until the port or the reader is closed.
func (p *port) read(b []byte, over <-chan struct{}) (int, netip.AddrPort, error) {
	for {
		select {
		case <-over:
			p.pass() // this reader may have taken the wake-up
			return 0, netip.AddrPort{}, io.ErrClosedPipe
		default:
		}
		if d := p.take(); d != nil {
			n, from := copy(b, d.data), d.from
			whole := n == len(d.data)
			d.free()
			if !whole {
				return 0, netip.AddrPort{}, io.ErrShortBuffer
			}
			return n, from, nil
		}
		select {
		case <-p.wake:
		case <-over:
			return 0, netip.AddrPort{}, io.ErrClosedPipe
		case <-p.closed:
			return 0, netip.AddrPort{}, io.EOF
		}
	}
}

// close ends the port: it accepts no more packets. It is idempotent.
func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	for _, d := range p.waiting[p.first:] {
		d.free()
	}
	p.waiting, p.first = nil, 0
	close(p.closed)
}
