package udp

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/pion/ice/v4"
	"github.com/pion/logging"
)

// Mux shares a Conn among peer connections, told apart by ICE user fragments.
type Mux struct {
	conn *Conn
	ice  *ice.UDPMuxDefault
}

// NewMux begins to read from conn, which it closes when it is closed. A nil
// logger is pion's default.
func NewMux(conn *Conn, logger logging.LeveledLogger) *Mux {
	return &Mux{conn: conn, ice: ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: conn, Logger: logger})}
}

// Close closes the socket and all that use it.
func (m *Mux) Close() error { return m.ice.Close() }

// Peer makes the ICE mux of one peer connection.
func (m *Mux) Peer() *Peer { return &Peer{mux: m} }

// Peer is the ICE mux of one peer connection: the shared one, but the RTP that
// the connection sends is collected until Flush. It may be used from any
// goroutine; peers don't wait for each other.
type Peer struct {
	mux *Mux
	// collects is set by the first Flush: what nobody flushes is not collected.
	collects atomic.Bool

	mu      sync.Mutex
	pending *batch
	// plain is the last destination whose path turned out not to take runs.
	plain netip.AddrPort
}

// Flush sends what has been collected, in its order. Errors are those of UDP:
// counted, and otherwise what a lossy network does.
func (p *Peer) Flush() {
	if !p.collects.Load() {
		p.collects.Store(true)
	}
	p.mu.Lock()
	p.send()
	p.mu.Unlock()
}

// send sends what is pending; p.mu is held.
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

// collect adds a packet to what is pending, sending that first if it is for
// another destination or full.
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

// drop forgets what is pending.
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
	conn, err := p.mux.ice.GetConn(ufrag, addr)
	if err != nil {
		return nil, err
	}
	addrPort, ok := conn.(ice.AddrPortReaderWriter)
	if !ok {
		return conn, nil
	}
	return &peerConn{PacketConn: conn, addrPort: addrPort, peer: p}, nil
}

// RemoveConnByUfrag implements ice.UDPMux.
func (p *Peer) RemoveConnByUfrag(ufrag string) { p.mux.ice.RemoveConnByUfrag(ufrag) }

// GetListenAddresses implements ice.UDPMux. A socket that listens on all
// addresses is reached by its loopback address only where there is no other.
func (p *Peer) GetListenAddresses() []net.Addr {
	all := p.mux.ice.GetListenAddresses()
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

// Close implements ice.UDPMux. The socket belongs to the others too.
func (p *Peer) Close() error {
	p.drop()
	return nil
}

// peerConn is a peer connection's view of the socket.
type peerConn struct {
	net.PacketConn

	addrPort ice.AddrPortReaderWriter
	peer     *Peer
	closed   atomic.Bool
	// known is the destination that was last written to through the shared mux,
	// which so knows whose the answers are.
	known atomic.Pointer[netip.AddrPort]
}

// ReadFromAddrPort implements ice.AddrPortReaderWriter.
func (c *peerConn) ReadFromAddrPort(b []byte) (int, netip.AddrPort, error) {
	return c.addrPort.ReadFromAddrPort(b)
}

// WriteToAddrPort implements ice.AddrPortReaderWriter: it collects RTP and sends
// all else at once. It keeps no reference to b.
func (c *peerConn) WriteToAddrPort(b []byte, to netip.AddrPort) (int, error) {
	if c.closed.Load() {
		return 0, io.ErrClosedPipe
	}
	if c.peer.collects.Load() && isRTP(b) && len(b) <= maxBytes {
		if known := c.known.Load(); known != nil && *known == to {
			c.peer.collect(b, to)
			return len(b), nil
		}
		// What has been collected for elsewhere is older.
		c.peer.Flush()
	}
	n, err := c.addrPort.WriteToAddrPort(b, to)
	if known := c.known.Load(); err == nil && isRTP(b) && (known == nil || *known != to) {
		to := to // here, so that only these few are allocated
		c.known.Store(&to)
	}
	return n, err
}

// Close closes it for its peer connection; what was not flushed is lost.
func (c *peerConn) Close() error {
	c.closed.Store(true)
	c.peer.drop()
	return c.PacketConn.Close()
}

// isRTP tells RTP from what else comes on the port (RFC 7983, RFC 5761).
func isRTP(b []byte) bool {
	return len(b) >= 12 && b[0]&0xc0 == 0x80 && (b[1] < 192 || b[1] > 223)
}
