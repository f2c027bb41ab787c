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
	"sync/atomic"
	"time"
)

const (
	// maxAddresses is how many addresses one ufrag may have: for each, the agent keeps a
	// candidate. A client has a handful.
	maxAddresses = 128
	// quiet is how long an address's peer connection must have confirmed no check from there
	// before another peer connection can get the address. Browsers check every 2.5 to 6 s, and
	// count a connection as lost after 30 s.
	quiet = 15 * time.Second
	// pause is the wait after a failed read.
	pause = 10 * time.Millisecond
)

// Mux shares a Conn among peer connections, which ICE user fragments identify. A STUN request
// goes to the peer connection that it names, regardless of its source address. All other packets go
// to the peer connection to which the source address is assigned.
//
// An address is assigned to a peer connection when its agent confirms a STUN request from
// there, which it does after it has checked the request's integrity (RFC 8445, 7.3). The
// assignment lasts as long as requests from there are confirmed. So a participant that forges
// another one's address doesn't get its packets, and a participant to whom a NAT has given
// another one's former port soon gets the address.
type Mux struct {
	conn *Conn
	now  func() time.Time
	// read is closed when the reading goroutine has ended.
	read chan struct{}

	mu     sync.RWMutex
	ports  map[name]*port
	routes map[netip.AddrPort]*route
	closed bool
}

// route is the assignment of an address to a peer connection.
type route struct {
	port *port
	// confirmed is when a request from the address was last confirmed, in nanoseconds since
	// 1970.
	confirmed atomic.Int64
}

// name identifies a port. IPv4 and IPv6 have separate ports, since a candidate receives only
// packets of its own address family.
type name struct {
	ufrag string
	ipv6  bool
}

// NewMux starts to read from conn. Close closes conn.
func NewMux(conn *Conn) *Mux {
	m := &Mux{conn: conn, now: time.Now, read: make(chan struct{}), ports: map[name]*port{}, routes: map[netip.AddrPort]*route{}}
	go m.run()
	return m
}

// Close closes the socket and all ports, and returns when the reading goroutine has ended.
func (m *Mux) Close() error {
	err := m.conn.Close()
	<-m.read
	return err
}

// run distributes the packets until the socket is closed. After other errors it continues: a
// network that is down comes up again.
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

// hand passes a packet to its port, if there is one.
func (m *Mux) hand(b []byte, from netip.AddrPort) {
	ufrag := ufragOf(b)
	m.mu.RLock()
	var p *port
	if r := m.routes[from]; ufrag == "" && r != nil {
		p = r.port
	} else if ufrag != "" {
		p = m.ports[name{ufrag, from.Addr().Is6()}]
		if p != nil && len(p.addresses) >= maxAddresses && (r == nil || r.port != p) {
			p = nil
		}
	}
	m.mu.RUnlock()
	if p != nil && !p.put(b, from) {
		m.conn.overrun.Add(1)
	}
}

const (
	stunHeader     = 20
	stunCookie     = 0x2112A442
	bindingSuccess = 0x0101
)

// isSTUN distinguishes STUN from the other protocols on the port (RFC 7983).
func isSTUN(b []byte) bool {
	return len(b) >= stunHeader && b[0]&0xc0 == 0 && binary.BigEndian.Uint32(b[4:]) == stunCookie
}

// confirms reports whether a packet to an address confirms a STUN request from there.
func confirms(b []byte) bool { return isSTUN(b) && binary.BigEndian.Uint16(b) == bindingSuccess }

// ufragOf returns the user fragment that a STUN request is for; empty for packets without one.
func ufragOf(b []byte) string {
	const header, username = stunHeader, 0x0006
	if !isSTUN(b) {
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

// open adds a user to a port, which is made for the first one.
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

// leave removes a user; the port is closed with its last one.
func (m *Mux) leave(p *port) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.users--; p.users == 0 {
		m.forget(p)
		p.close()
	}
}

// forget removes a port and its addresses, so that it receives no more packets; m.mu is held.
func (m *Mux) forget(p *port) {
	if m.ports[p.name] == p {
		delete(m.ports, p.name)
	}
	for _, address := range p.addresses {
		delete(m.routes, address)
	}
	p.addresses = nil
}

// confirm records that a port's agent has confirmed a request from an address, and assigns the
// address to the port, unless another port has confirmed a request from there within quiet.
func (m *Mux) confirm(p *port, from netip.AddrPort) {
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	now := m.now().UnixNano()
	m.mu.RLock()
	r := m.routes[from]
	m.mu.RUnlock()
	if r != nil && r.port == p {
		r.confirmed.Store(now)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ports[p.name] != p {
		return
	}
	if old := m.routes[from]; old != nil {
		if old.port == p || now-old.confirmed.Load() < int64(quiet) {
			return
		}
		old.port.addresses = slices.DeleteFunc(old.port.addresses, func(a netip.AddrPort) bool { return a == from })
	}
	r = &route{port: p}
	r.confirmed.Store(now)
	m.routes[from] = r
	p.addresses = append(p.addresses, from)
}

// Peer returns the ICE mux of one peer connection.
func (m *Mux) Peer() *Peer { return &Peer{mux: m} }

// addresses returns the addresses of a socket that listens on all interfaces, or its only one.
func (m *Mux) addresses() []net.Addr {
	own, ok := m.conn.LocalAddr().(*net.UDPAddr)
	if !ok || !own.IP.IsUnspecified() {
		return []net.Addr{m.conn.LocalAddr()}
	}
	var list []net.Addr
	interfaces, _ := net.Interfaces() // after an error the list is empty
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
