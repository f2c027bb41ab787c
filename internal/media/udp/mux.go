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
	// maxAddresses is how many addresses one ufrag may have: each costs the
	// agent a candidate that it keeps, and a client has a handful.
	maxAddresses = 128
	// quiet is for how long the peer connection that an address belongs to must have confirmed
	// no check from there, before another one is given the address. Browsers check every 2.5
	// to 6 s, and count a connection as lost after 30 s.
	quiet = 15 * time.Second
	// pause is between two attempts to read from a socket that can't be read from.
	pause = 10 * time.Millisecond
)

// Mux shares a Conn among peer connections, told apart by ICE user fragments. A STUN request
// goes to the peer connection that it names, wherever it comes from. All else goes to the one
// that the source address belongs to.
//
// An address comes to belong to a peer connection when its agent confirms a STUN request from
// there, which it does after it has checked the request's integrity (RFC 8445, 7.3). It is
// kept as long as requests from there are confirmed. So neither a participant who forges the
// address of another one takes that one's packets, nor does somebody to whose address a NAT
// has given another one's port wait for long.
type Mux struct {
	conn *Conn
	now  func() time.Time
	// read closes when nothing is read any more.
	read chan struct{}

	mu     sync.RWMutex
	ports  map[name]*port
	routes map[netip.AddrPort]*route
	closed bool
}

// route is the peer connection that an address belongs to.
type route struct {
	port *port
	// confirmed is when a request from there was last confirmed, in nanoseconds since 1970.
	confirmed atomic.Int64
}

// name tells ports apart. Addresses of both families can't share one, since a
// candidate is told of what comes over its own.
type name struct {
	ufrag string
	ipv6  bool
}

// NewMux begins to read from conn, which it closes when it is closed.
func NewMux(conn *Conn) *Mux {
	m := &Mux{conn: conn, now: time.Now, read: make(chan struct{}), ports: map[name]*port{}, routes: map[netip.AddrPort]*route{}}
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

// isSTUN tells STUN from what else comes on the port (RFC 7983).
func isSTUN(b []byte) bool {
	return len(b) >= stunHeader && b[0]&0xc0 == 0 && binary.BigEndian.Uint32(b[4:]) == stunCookie
}

// confirms tells whether a packet confirms a STUN request to the address that it is sent to.
func confirms(b []byte) bool { return isSTUN(b) && binary.BigEndian.Uint16(b) == bindingSuccess }

// ufragOf is the user fragment that a STUN request is for; empty for what names none.
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
	for _, address := range p.addresses {
		delete(m.routes, address)
	}
	p.addresses = nil
}

// confirm notes that a port's agent has confirmed a request from an address, which belongs
// to the port from now on, unless another one confirmed a request from there a moment ago.
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
