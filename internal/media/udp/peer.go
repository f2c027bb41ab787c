package udp

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Peer is the ICE mux of one peer connection: the shared Mux, except that the connection's RTP
// is collected until Flush. It is safe for concurrent use; peers don't wait for each other.
type Peer struct {
	mux *Mux
	// collects is set by the first Flush: without a Flush nothing is collected.
	collects atomic.Bool

	mu      sync.Mutex
	pending *batch
	// plain is the last destination whose path didn't support segmentation offload.
	plain netip.AddrPort
}

// Flush sends the collected packets in order. Errors are counted, and otherwise treated like
// packet loss.
func (p *Peer) Flush() {
	if !p.collects.Load() {
		p.collects.Store(true)
	}
	p.mu.Lock()
	p.send()
	p.mu.Unlock()
}

// send sends the pending batch; p.mu is held.
func (p *Peer) send() {
	b := p.pending
	if b == nil {
		return
	}
	p.pending = nil
	b.plain = b.to == p.plain
	_ = b.sender.send(b)
	if b.plain {
		p.plain = b.to
	}
	b.free()
}

// collect adds a packet to the pending batch. It sends that batch first if it is full or for
// another destination.
func (p *Peer) collect(packet []byte, to netip.AddrPort) {
	p.mu.Lock()
	if p.pending != nil && (p.pending.to != to || !p.pending.fits(len(packet))) {
		p.send()
	}
	if p.pending == nil {
		p.pending = newBatch(p.mux.conn, to)
	}
	p.pending.add(packet)
	p.mu.Unlock()
}

// drop discards the pending batch.
func (p *Peer) drop() {
	p.mu.Lock()
	if p.pending != nil {
		p.pending.free()
		p.pending = nil
	}
	p.mu.Unlock()
}

// GetConn implements ice.UDPMux.
func (p *Peer) GetConn(ufrag string, addr net.Addr) (net.PacketConn, error) {
	at, ok := addr.(*net.UDPAddr)
	if !ok {
		return nil, errNoUDPAddr
	}
	port, err := p.mux.open(name{ufrag, at.IP.To4() == nil})
	if err != nil {
		return nil, err
	}
	return &peerConn{peer: p, port: port, over: make(chan struct{})}, nil
}

// RemoveConnByUfrag implements ice.UDPMux. Readers continue until they are closed.
func (p *Peer) RemoveConnByUfrag(ufrag string) {
	p.mux.mu.Lock()
	defer p.mux.mu.Unlock()
	for _, of := range []name{{ufrag, false}, {ufrag, true}} {
		if port := p.mux.ports[of]; port != nil {
			p.mux.forget(port)
		}
	}
}

// GetListenAddresses implements ice.UDPMux. For a socket that listens on all addresses, it
// includes loopback addresses only if there are no others.
func (p *Peer) GetListenAddresses() []net.Addr {
	all := p.mux.addresses()
	if len(all) == 1 {
		return all
	}
	outside := make([]net.Addr, 0, len(all))
	for _, addr := range all {
		if a, ok := addr.(*net.UDPAddr); !ok || !a.IP.IsLoopback() {
			outside = append(outside, addr)
		}
	}
	if len(outside) == 0 {
		return all
	}
	return outside
}

// Close implements ice.UDPMux. It doesn't close the shared socket.
func (p *Peer) Close() error {
	p.drop()
	return nil
}

// peerConn is a candidate's access to the socket. It is an ice.AddrPortReaderWriter.
type peerConn struct {
	peer   *Peer
	port   *port
	closed atomic.Bool
	over   chan struct{} // closed by Close
}

// ReadFromAddrPort implements ice.AddrPortReaderWriter.
func (c *peerConn) ReadFromAddrPort(b []byte) (int, netip.AddrPort, error) {
	return c.port.read(b, c.over)
}

// ReadFrom implements net.PacketConn.
func (c *peerConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromAddrPort(b)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// WriteToAddrPort implements ice.AddrPortReaderWriter: it collects RTP and sends other packets
// at once. It keeps no reference to b.
func (c *peerConn) WriteToAddrPort(b []byte, to netip.AddrPort) (int, error) {
	if c.closed.Load() {
		return 0, io.ErrClosedPipe
	}
	if !isRTP(b) {
		if confirms(b) {
			c.peer.mux.confirm(c.port, to)
		}
		return c.peer.mux.conn.WriteToAddrPort(b, to)
	}
	if c.peer.collects.Load() && len(b) <= maxBytes {
		c.peer.collect(b, to)
		return len(b), nil
	}
	return c.peer.mux.conn.WriteToAddrPort(b, to)
}

// WriteTo implements net.PacketConn.
func (c *peerConn) WriteTo(b []byte, to net.Addr) (int, error) {
	at, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, errNoUDPAddr
	}
	return c.WriteToAddrPort(b, at.AddrPort())
}

// LocalAddr implements net.PacketConn.
func (c *peerConn) LocalAddr() net.Addr { return c.peer.mux.conn.LocalAddr() }

// Close closes the connection of its candidate; packets that were not flushed are lost.
func (c *peerConn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	close(c.over)
	c.peer.drop()
	c.peer.mux.leave(c.port)
	return nil
}

// SetDeadline implements net.PacketConn; it does nothing. Close ends a blocked read.
func (*peerConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing, like SetDeadline.
func (*peerConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing, like SetDeadline.
func (*peerConn) SetWriteDeadline(time.Time) error { return nil }

// isRTP distinguishes RTP from the other protocols on the port (RFC 7983, RFC 5761).
func isRTP(b []byte) bool {
	return len(b) >= 12 && b[0]&0xc0 == 0x80 && (b[1] < 192 || b[1] > 223)
}
