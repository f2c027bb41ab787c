package sfu

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"showfloor/internal/base/netaddr"
)

// Limits for TCP clients, which connect before they have shown a credential.
const (
	// minTCPEach is how many connections one address may have at least.
	minTCPEach = 16
	// acceptAgain is the wait after a failed accept, for instance when the process has no free file
	// descriptors.
	acceptAgain = 100 * time.Millisecond
	// relayFirst is how long a client of the relay may take to send its first bytes, and relayIdle
	// how long it may be silent after that: a client with an allocation refreshes it more often.
	// relayWrite is how long it may take to accept data.
	relayFirst, relayIdle, relayWrite = 10 * time.Second, 5 * time.Minute, 10 * time.Second
)

// guard is a listener that continues after temporary errors, such as a lack of file descriptors,
// and closes connections beyond its limits at once. Closing it closes its connections.
type guard struct {
	net.Listener

	// maxConns limits the open connections, maxConnsEach those of one address.
	maxConns, maxConnsEach int

	// first is the deadline for the first bytes of a connection, idle that for each later read,
	// write that for each write; 0 for none.
	first, idle, write time.Duration
	over               chan struct{}

	mu    sync.Mutex
	conns map[*guarded]struct{}
	each  map[netip.Addr]int
}

// newGuard returns a guard. maxConns is its limit of open connections; one address may have a tenth of
// them, at least minTCPEach.
func newGuard(l net.Listener, maxConns int) *guard {
	return &guard{
		Listener: l, maxConns: maxConns, maxConnsEach: max(maxConns/10, minTCPEach),
		over: make(chan struct{}), conns: map[*guarded]struct{}{}, each: map[netip.Addr]int{},
	}
}

// Accept returns an error only when the listener is closed: its callers stop accepting at the first
// error.
func (g *guard) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil:
			select {
			case <-time.After(acceptAgain):
			case <-g.over:
			}
			continue
		}
		if c := g.admit(conn); c != nil {
			return c, nil
		}
		_ = conn.Close()
	}
}

// admit counts a new connection; nil when a limit is reached.
func (g *guard) admit(conn net.Conn) *guarded {
	c := &guarded{Conn: conn, guard: g}
	if at, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		c.from = netaddr.Network(at.AddrPort().Addr())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.over:
		return nil
	default:
	}
	if len(g.conns) >= g.maxConns || g.each[c.from] >= g.maxConnsEach {
		return nil
	}
	g.conns[c] = struct{}{}
	g.each[c.from]++
	return c
}

// Close closes the listener and all its connections.
func (g *guard) Close() error {
	g.mu.Lock()
	select {
	case <-g.over:
	default:
		close(g.over)
	}
	open := make([]*guarded, 0, len(g.conns))
	for c := range g.conns {
		open = append(open, c)
	}
	g.mu.Unlock()
	err := g.Listener.Close()
	for _, c := range open {
		_ = c.Close()
	}
	return err
}

// guarded is a connection of a guard.
type guarded struct {
	net.Conn

	guard *guard
	from  netip.Addr
	heard bool // used by the reader only
	once  sync.Once
}

// Read sets the deadline first until the first bytes have arrived, then idle.
func (c *guarded) Read(b []byte) (int, error) {
	patience := c.guard.idle
	if !c.heard {
		patience = c.guard.first
	}
	if patience > 0 {
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Read(b)
	c.heard = c.heard || n > 0
	return n, err
}

// Write sets the deadline write.
func (c *guarded) Write(b []byte) (int, error) {
	if c.guard.write > 0 {
		if err := c.SetWriteDeadline(time.Now().Add(c.guard.write)); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// Close closes the connection and removes it from the counts.
func (c *guarded) Close() error {
	c.once.Do(func() {
		c.guard.mu.Lock()
		defer c.guard.mu.Unlock()
		delete(c.guard.conns, c)
		if c.guard.each[c.from]--; c.guard.each[c.from] == 0 {
			delete(c.guard.each, c.from)
		}
	})
	return c.Conn.Close()
}
