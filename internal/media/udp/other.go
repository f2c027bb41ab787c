//go:build !linux

package udp

import "net/netip"

// reader reads one datagram at a time.
type reader struct{}

func (reader) next(c *Conn, b []byte) (int, netip.AddrPort, error) {
	n, from, err := c.udp.ReadFromUDPAddrPort(b)
	return n, netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), err
}

func (*Conn) prepare() {}

// sender sends one datagram at a time.
type sender struct{}

func (*sender) init(*batch) {}

func (*sender) send(b *batch) error { return b.sendOneByOne(0) }
