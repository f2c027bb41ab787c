package udp

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxAddresses is how many addresses may be answered for one ufrag: each costs the
	// agent a candidate that it keeps, and a client has a handful.
	maxAddresses = 128
	// pause is between two attempts to read from a socket that can't be read from.
	pause = 10 * time.Millisecond
)

// Mux shares a Conn among peer connections, told apart by ICE user fragments. What
// comes from an address that has been answered is the peer connection's that
// answered it; from elsewhere only STUN is taken, which names whom it is for.
type Mux struct {
	conn *Conn
	// read closes when nothing is read any more.
	read chan struct{}

	mu     sync.RWMutex
	ports  map[name]*port
	routes map[netip.AddrPort]*port
	closed bool
}

// name tells ports apart. Addresses of both families can't share one, since a
// candidate is told of what comes over its own.
type name struct {
	ufrag string
	ipv6  bool
}

// NewMux begins to read from conn, which it closes when it is closed.
func NewMux(conn *Conn) *Mux {
	m := &Mux{conn: conn, read: make(chan struct{}), ports: map[name]*port{}, routes: map[netip.AddrPort]*port{}}
	go m.run()
	return m
}

// Close closes the socket and all that use it, and returns when nothing is read
// any more.
func (m *Mux) Close() error {
	err := m.conn.Close()
	<-m.read
	return err
}

// run hands out what comes until the socket is closed. Another error is none of
// the socket's: a network that is down comes up again.
func (m *Mux) run() {
	defer close(m.read)
	defer m.end()
	b := make([]byte, readBytes)
	for {
		n, from, err := m.conn.ReadFromAddrPort(b)
		switch {
		case err == nil:
			m.hand(b[:n], from)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			<-time.After(pause)
		}
	}
}

// end closes all ports.
func (m *Mux) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, p := range m.ports {
		p.close()
	}
	clear(m.ports)
	clear(m.routes)
}

// hand gives a packet to whom it is for, if anybody.
func (m *Mux) hand(b []byte, from netip.AddrPort) {
	m.mu.RLock()
	p := m.routes[from]
	if p == nil {
		if p = m.ports[name{ufragOf(b), from.Addr().Is6()}]; p != nil && len(p.answered) >= maxAddresses {
			p = nil
		}
	}
	m.mu.RUnlock()
	if p != nil && !p.put(b, from) {
		m.conn.overrun.Add(1)
	}
}

// ufragOf is the user fragment that a STUN message is for; empty for what is none.
func ufragOf(b []byte) string {
	const header, cookie, username = 20, 0x2112A442, 0x0006
	if len(b) < header || b[0]&0xc0 != 0 || binary.BigEndian.Uint32(b[4:]) != cookie {
		return ""
	}
	for b = b[header:]; len(b) >= 4; {
		n := int(binary.BigEndian.Uint16(b[2:]))
		if 4+n > len(b) {
			return ""
		}
		if binary.BigEndian.Uint16(b) == username {
			ours, _, _ := strings.Cut(string(b[4:4+n]), ":")
			return ours
		}
		b = b[min(len(b), 4+(n+3)&^3):]
	}
	return ""
}

// open gives a port one more user; it is made when it is the first.
func (m *Mux) open(of name) (*port, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, io.ErrClosedPipe
	}
	p := m.ports[of]
	if p == nil {
		p = newPort(of)
		m.ports[of] = p
	}
	p.users++
	return p, nil
}

// leave takes a user away; the last one's port ends.
func (m *Mux) leave(p *port) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.users--; p.users == 0 {
		m.forget(p)
		p.close()
	}
}

// forget lets nothing more come to a port; m.mu is held.
func (m *Mux) forget(p *port) {
	if m.ports[p.name] == p {
		delete(m.ports, p.name)
	}
	for _, address := range p.answered {
		delete(m.routes, address)
	}
	p.answered = nil
}

// answer notes that a port has sent to an address, whose packets are its from now
// on.
func (m *Mux) answer(p *port, to netip.AddrPort) {
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	m.mu.RLock()
	known := m.routes[to] == p
	m.mu.RUnlock()
	if known {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ports[p.name] != p {
		return
	}
	if old := m.routes[to]; old != nil {
		old.answered = slices.DeleteFunc(old.answered, func(a netip.AddrPort) bool { return a == to })
	}
	m.routes[to] = p
	p.answered = append(p.answered, to)
}

// Peer makes the ICE mux of one peer connection.
func (m *Mux) Peer() *Peer { return &Peer{mux: m} }

// addresses are those that a socket which listens on all is reached by.
func (m *Mux) addresses() []net.Addr {
	own, ok := m.conn.LocalAddr().(*net.UDPAddr)
	if !ok || !own.IP.IsUnspecified() {
		return []net.Addr{m.conn.LocalAddr()}
	}
	var list []net.Addr
	interfaces, _ := net.Interfaces() // without them there is nothing to be told
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		of, _ := i.Addrs()
		for _, a := range of {
			prefix, err := netip.ParsePrefix(a.String())
			if err != nil || prefix.Addr().Is6() && own.IP.To4() != nil {
				continue
			}
			at := &net.UDPAddr{IP: prefix.Addr().AsSlice(), Port: own.Port}
			if prefix.Addr().IsLinkLocalUnicast() && prefix.Addr().Is6() {
				at.Zone = i.Name
			}
			list = append(list, at)
		}
	}
	if len(list) == 0 {
		return []net.Addr{own}
	}
	return list
}
