package sfu

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the credentials' mechanism is SHA-1's
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pion/turn/v5"
)

// ErrRelay is wrapped by errors of Start that concern the relay.
var ErrRelay = errors.New("sfu: relay")

const (
	realm = "showfloor"
	// credentialLife is how long credentials of the relay are valid: longer than any token, since
	// clients use them as long as a connection lives.
	credentialLife = 12 * time.Hour
	// maxAllocationsEach and maxSocketsEach bound the allocations of one connection and their
	// sockets (see leash). A connection has two peer connections, which try UDP and TCP, and
	// may be changing networks.
	maxAllocationsEach, maxSocketsEach = 16, 32
	// minSocketsEach is how many sockets one address may have at least.
	minSocketsEach = 16
)

// relay is the TURN server, for clients that can't reach the media port directly. It forwards to
// the SFU's own socket only, within the machine, so that it can't be abused to reach other hosts. A
// nil relay has no credentials.
type relay struct {
	udp    net.PacketConn
	tcp    net.Listener
	server *turn.Server
	secret []byte
	urls   []string
	now    func() time.Time
	// maxSockets bounds the sockets of all allocations, and maxSocketsFrom those of the connections
	// from one address.
	maxSockets, maxSocketsFrom int

	mu sync.Mutex
	// users are the connections to the SFU that may use the relay, by their id.
	users map[string]*relayUser
	// sockets counts the open sockets of all allocations, and socketsFrom those by the address of
	// the connection to the SFU.
	sockets     int
	socketsFrom map[netip.Addr]int
}

// relayUser holds the allocations and sockets of one connection to the SFU. The relay's lock guards it.
type relayUser struct {
	from                 netip.Addr // the part of the address that limits count
	allocations, sockets int
	leashes              map[*leash]struct{}
}

// openRelay starts the relay if the configuration has an address for it; otherwise it returns nil.
func openRelay(c Config, n *network) (*relay, error) {
	if c.TURNAddr == "" {
		return nil, nil
	}
	r := &relay{
		now: c.Now, secret: make([]byte, 32), users: map[string]*relayUser{}, socketsFrom: map[netip.Addr]int{},
		maxSockets: c.Limits.RelaySockets, maxSocketsFrom: max(c.Limits.RelaySockets/10, minSocketsEach),
	}
	_, _ = rand.Read(r.secret) // never fails
	var err error
	r.udp, r.tcp, err = listenBoth(c.TURNAddr, func(addr string) (net.PacketConn, error) {
		return (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", addr)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRelay, err)
	}
	own := n.addresses(c)
	ip := c.TURNIP
	if !ip.IsValid() {
		ip = own[0].Addr()
	}
	at := netip.AddrPortFrom(ip, portOf(r.udp.LocalAddr())).String()
	r.urls = []string{"turn:" + at + "?transport=udp", "turn:" + at + "?transport=tcp"}
	way := &way{relay: r, to: n.inside(), own: own, ip: ip}
	may := func(_ net.Addr, peer net.IP) bool { return way.leadsTo(peer) }
	guarded := newGuard(r.tcp, c.Limits.RelayTCP)
	guarded.first, guarded.idle, guarded.write = relayFirst, relayIdle, relayWrite
	r.server, err = turn.NewServer(turn.ServerConfig{
		Realm: realm, LoggerFactory: silent{}, AuthHandler: r.authenticate, QuotaHandler: r.mayAllocate,
		EventHandler: turn.EventHandler{OnAllocationCreated: r.allocated, OnAllocationDeleted: r.deleted},
		PacketConnConfigs: []turn.PacketConnConfig{
			{PacketConn: r.udp, RelayAddressGenerator: way, PermissionHandler: may},
		},
		ListenerConfigs: []turn.ListenerConfig{{Listener: guarded, RelayAddressGenerator: way, PermissionHandler: may}},
	})
	if err != nil {
		_, _ = r.udp.Close(), r.tcp.Close()
		return nil, fmt.Errorf("%w: %w", ErrRelay, err)
	}
	return r, nil
}

func (r *relay) close() {
	if r != nil {
		_ = r.server.Close()
	}
}

// credentials returns the relay's URLs and a connection's credentials for it.
func (r *relay) credentials(connID string) []iceServer {
	if r == nil {
		return []iceServer{}
	}
	name := strconv.FormatInt(r.now().Add(credentialLife).Unix(), 10) + ":" + connID
	return []iceServer{{URLs: r.urls, Username: name, Credential: r.password(name)}}
}

func (r *relay) password(name string) string {
	m := hmac.New(sha1.New, r.secret)
	_, _ = m.Write([]byte(name))
	return base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// authenticate implements turn.AuthHandler.
func (r *relay) authenticate(a *turn.RequestAttributes) (connID string, key []byte, ok bool) {
	until, connID, found := strings.Cut(a.Username, ":")
	expires, err := strconv.ParseInt(until, 10, 64)
	if !found || err != nil || r.now().Unix() > expires || !r.knows(connID) {
		return "", nil, false
	}
	return connID, turn.GenerateAuthKey(a.Username, a.Realm, r.password(a.Username)), true
}

// knows reports whether a connection may use the relay.
func (r *relay) knows(connID string) bool { return r.user(connID) != nil }

// user returns a connection's use of the relay; nil when it may not use it.
func (r *relay) user(connID string) *relayUser {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.users[connID]
}

// enter lets a connection from an address use the relay until leave.
func (r *relay) enter(connID string, from netip.Addr) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users[connID] = &relayUser{from: from, leashes: map[*leash]struct{}{}}
}

// leave ends a connection's use of the relay: the client may still have its credentials, and each
// allocation holds sockets.
func (r *relay) leave(connID string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	u := r.users[connID]
	delete(r.users, connID)
	r.mu.Unlock()
	if u != nil { // no goroutine changes u any more
		for l := range u.leashes {
			_ = l.Close()
		}
	}
}

// mayAllocate implements turn.QuotaHandler.
func (r *relay) mayAllocate(connID, _ string, _ net.Addr) bool {
	if _, rest, ok := strings.Cut(connID, ":"); ok {
		connID = rest // pion passes the whole username
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.users[connID]
	return u != nil && u.allocations < maxAllocationsEach && r.hasSocket(u)
}

// hasSocket reports whether a connection may open another socket. The caller holds the lock.
func (r *relay) hasSocket(u *relayUser) bool {
	return r.sockets < r.maxSockets && r.socketsFrom[u.from] < r.maxSocketsFrom && u.sockets < maxSocketsEach
}

func (r *relay) openSockets() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sockets
}

// takeSocket counts a socket before it is opened; false when a limit is reached.
func (r *relay) takeSocket(u *relayUser) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.hasSocket(u) {
		return false
	}
	r.sockets++
	r.socketsFrom[u.from]++
	u.sockets++
	return true
}

// giveSockets subtracts closed sockets.
func (r *relay) giveSockets(u *relayUser, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sockets -= n
	u.sockets -= n
	if r.socketsFrom[u.from] -= n; r.socketsFrom[u.from] == 0 {
		delete(r.socketsFrom, u.from)
	}
}

func (r *relay) allocated(_, _ net.Addr, _, connID, _ string, _ net.Addr, _ int) { r.count(connID, 1) }
func (r *relay) deleted(_, _ net.Addr, _, connID, _ string)                      { r.count(connID, -1) }

func (r *relay) count(connID string, delta int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.users[connID]; u != nil {
		u.allocations += delta
	}
}

// hold adds an allocation's leash; false when its connection is gone.
func (r *relay) hold(connID string, l *leash) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.users[connID]
	if u == nil {
		return false
	}
	u.leashes[l] = struct{}{}
	return true
}

func (r *relay) drop(connID string, l *leash) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.users[connID]; u != nil {
		delete(u.leashes, l)
	}
}

// way is the turn.RelayAddressGenerator of the relay.
type way struct {
	relay *relay
	to    netip.AddrPort   // the SFU's socket, from this machine
	own   []netip.AddrPort // the same socket, at the addresses that clients use
	ip    netip.Addr       // the address that allocations appear to have; no host can reach an allocation there
}

func (w *way) leadsTo(ip net.IP) bool {
	at, ok := netip.AddrFromSlice(ip)
	return ok && slices.ContainsFunc(w.own, func(own netip.AddrPort) bool { return own.Addr() == at.Unmap() })
}

// Validate implements turn.RelayAddressGenerator.
func (*way) Validate() error { return nil }

// AllocatePacketConn implements turn.RelayAddressGenerator.
func (w *way) AllocatePacketConn(c turn.AllocateListenerConfig) (net.PacketConn, net.Addr, error) {
	user := w.relay.user(c.UserID)
	if user == nil {
		return nil, nil, errGone
	}
	l := &leash{
		way: w, connID: c.UserID, user: user,
		arrived: make(chan relayed, 64), closed: make(chan struct{}), ends: map[netip.AddrPort]*net.UDPConn{},
	}
	first, err := l.end(w.own[0])
	if err != nil {
		_ = l.Close()
		return nil, nil, err
	}
	if !w.relay.hold(c.UserID, l) {
		_ = l.Close()
		return nil, nil, errGone
	}
	return l, net.UDPAddrFromAddrPort(netip.AddrPortFrom(w.ip, portOf(first.LocalAddr()))), nil
}

var (
	errOnlyUDP = errors.New("sfu: only UDP is relayed")
	errGone    = errors.New("sfu: the connection is gone")
	errSockets = errors.New("sfu: the relay, the address or the connection has as many sockets as it may have")
)

// AllocateListener implements turn.RelayAddressGenerator.
func (*way) AllocateListener(turn.AllocateListenerConfig) (net.Listener, net.Addr, error) {
	return nil, nil, errOnlyUDP
}

// AllocateConn implements turn.RelayAddressGenerator.
func (*way) AllocateConn(turn.AllocateConnConfig) (net.Conn, error) { return nil, errOnlyUDP }

// leash is the net.PacketConn of an allocation. For each address of the SFU that the client tries,
// it has a socket that is connected to the SFU within the machine, so that NATs and firewalls outside
// of the machine don't matter.
type leash struct {
	way     *way
	connID  string // of the client
	user    *relayUser
	arrived chan relayed
	closed  chan struct{}
	once    sync.Once
	readers sync.WaitGroup

	mu   sync.Mutex
	ends map[netip.AddrPort]*net.UDPConn
}

// relayed is a packet from the SFU.
type relayed struct {
	data []byte
	from netip.AddrPort
}

var errNotOurs = errors.New("sfu: only this server's rooms are relayed to")

// WriteTo implements net.PacketConn. Packets to other destinations are dropped.
func (l *leash) WriteTo(data []byte, addr net.Addr) (int, error) {
	a, ok := addr.(*net.UDPAddr)
	if !ok {
		return 0, errNotOurs
	}
	to := netip.AddrPortFrom(a.AddrPort().Addr().Unmap(), a.AddrPort().Port())
	end, err := l.end(to)
	if err != nil {
		return len(data), nil //nolint:nilerr // like a network, which drops packets that it can't deliver
	}
	return end.Write(data)
}

// end returns the socket for one of the SFU's addresses.
func (l *leash) end(to netip.AddrPort) (*net.UDPConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if end := l.ends[to]; end != nil {
		return end, nil
	}
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	if !slices.Contains(l.way.own, to) {
		return nil, errNotOurs
	}
	if !l.way.relay.takeSocket(l.user) {
		return nil, errSockets
	}
	end, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(l.way.to))
	if err != nil {
		l.way.relay.giveSockets(l.user, 1)
		return nil, err
	}
	l.ends[to] = end
	l.readers.Go(func() { l.read(end, to) })
	return end, nil
}

func (l *leash) read(end *net.UDPConn, from netip.AddrPort) {
	buf := make([]byte, 2048)
	for {
		n, err := end.Read(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the SFU's socket is unreachable for a moment
		}
		select {
		case l.arrived <- relayed{append([]byte(nil), buf[:n]...), from}:
		case <-l.closed:
			return
		default: // dropped: the client reads too slowly
		}
	}
}

// ReadFrom implements net.PacketConn.
func (l *leash) ReadFrom(buf []byte) (int, net.Addr, error) {
	select {
	case p := <-l.arrived:
		return copy(buf, p.data), net.UDPAddrFromAddrPort(p.from), nil
	case <-l.closed:
		return 0, nil, net.ErrClosed
	}
}

// Close implements net.PacketConn.
func (l *leash) Close() error {
	l.once.Do(func() {
		l.way.relay.drop(l.connID, l)
		close(l.closed)
		l.mu.Lock()
		for _, end := range l.ends {
			_ = end.Close()
		}
		l.way.relay.giveSockets(l.user, len(l.ends))
		l.mu.Unlock()
		l.readers.Wait()
	})
	return nil
}

// LocalAddr implements net.PacketConn.
func (l *leash) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(l.way.own[0]) }

// SetDeadline implements net.PacketConn; the relay sets none.
func (*leash) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.PacketConn.
func (*leash) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.PacketConn.
func (*leash) SetWriteDeadline(time.Time) error { return nil }
