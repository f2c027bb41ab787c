// Package udp is the UDP socket for all media. It reads many datagrams with one system call,
// and sends the packets that were collected for a destination with as few as the platform
// allows: on Linux, the kernel splits one large write into packets (UDP_SEGMENT), which costs a
// fraction of a write for each packet.
//
// Each peer connection gets a Peer of the shared Mux as its ICE mux:
//
//	conn, err := udp.Listen(":7882")
//	mux := udp.NewMux(conn)
//	peer := mux.Peer()                 // one for each peer connection
//	settings.SetICEUDPMux(peer)
//	forward.EgressConfig{Flush: peer.Flush}
//
// From its first Flush on, a Peer collects the RTP packets that its connection sends; the
// sender of RTP must call Flush after them. All other packets are sent at once.
package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// bufferBytes is the requested size of the socket's buffer in each direction: a tenth of a
// second at 600 Mbit/s. The system may grant less.
const bufferBytes = 8 << 20

// readBytes is the longest datagram that is read, in bytes; longer ones are dropped.
const readBytes = 8192

// errNoUDPAddr is the error for an address that isn't a UDP address.
var errNoUDPAddr = errors.New("udp: the address is not one of UDP")

// Conn is a UDP socket. It is safe for concurrent use.
type Conn struct {
	udp  *net.UDPConn
	raw  syscall.RawConn
	ipv6 bool // it uses IPv6 addresses, also for IPv4
	gso  atomic.Bool

	readMu sync.Mutex
	reader reader

	packets, calls, failed, overrun atomic.Uint64
}

// Stats are totals of the packets that a Conn's peers have sent in batches.
type Stats struct {
	// Packets is the number of packets that were sent, and Calls that of the system calls for
	// them.
	Packets, Calls uint64
	// Failed is the number of packets that the system didn't accept.
	Failed uint64
	// Overrun is the number of received packets that were dropped because their agent read too
	// slowly.
	Overrun uint64
}

// Listen opens a socket on an address such as ":7882" or "127.0.0.1:0".
func Listen(addr string) (*Conn, error) {
	var config net.ListenConfig
	packets, err := config.ListenPacket(context.Background(), "udp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on UDP: %w", err)
	}
	socket, ok := packets.(*net.UDPConn)
	if !ok {
		_ = packets.Close()
		return nil, errNoUDPAddr
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("reaching the UDP socket: %w", err)
	}
	c := &Conn{udp: socket, raw: raw}
	// Serve also with smaller buffers than requested.
	_ = socket.SetReadBuffer(bufferBytes)
	_ = socket.SetWriteBuffer(bufferBytes)
	c.prepare()
	return c, nil
}

// Stats returns the totals.
func (c *Conn) Stats() Stats {
	return Stats{Packets: c.packets.Load(), Calls: c.calls.Load(), Failed: c.failed.Load(), Overrun: c.overrun.Load()}
}

// ReadFromAddrPort reads one datagram. One that is longer than b is truncated.
func (c *Conn) ReadFromAddrPort(b []byte) (int, netip.AddrPort, error) {
	c.readMu.Lock()
	defer c.readMu.Unlock()
	return c.reader.next(c, b)
}

// ReadFrom is like ReadFromAddrPort, with an allocation for the address.
func (c *Conn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromAddrPort(b)
	if err != nil {
		return n, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// WriteToAddrPort sends one datagram at once.
func (c *Conn) WriteToAddrPort(b []byte, to netip.AddrPort) (int, error) {
	return c.udp.WriteToUDPAddrPort(b, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
}

// WriteTo sends one datagram at once.
func (c *Conn) WriteTo(b []byte, to net.Addr) (int, error) { return c.udp.WriteTo(b, to) }

// LocalAddr is the address that the socket listens on.
func (c *Conn) LocalAddr() net.Addr { return c.udp.LocalAddr() }

// SetDeadline sets the deadline of reads and writes, as in net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.udp.SetDeadline(t) }

// SetReadDeadline sets the deadline of reads.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.udp.SetReadDeadline(t) }

// SetWriteDeadline sets the deadline of writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.udp.SetWriteDeadline(t) }

// Close closes the socket; blocked reads return net.ErrClosed.
func (c *Conn) Close() error { return c.udp.Close() }
