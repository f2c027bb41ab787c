package sfu

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"showfloor/internal/fairshare"
)

// Limits of TCP, where clients connect before they have shown a credential.
const (
	// minTCPEach is how many connections one address may have at least.
	minTCPEach = 16
	// acceptAgain is when the system is asked again that had no more descriptors.
	acceptAgain = 100 * time.Millisecond
	// relayFirst is for the first word to the relay, relayIdle for the next ones: who
	// has an allocation refreshes it more often. relayWrite is for taking what it sends.
	relayFirst, relayIdle, relayWrite = 10 * time.Second, 5 * time.Minute, 10 * time.Second
)

// guard is a listener that goes on when the system is short of descriptors, and that
// closes connections beyond its limits at once. Its connections end with it.
type guard struct {
	net.Listener

	// most is how many connections are open at a time, mostEach how many of them are
	// from one address.
	most, mostEach int

	// first is how long the first word may take, idle the next ones, write how long the
	// other end may take to take something in; 0 for as long as it likes.
	first, idle, write time.Duration
	over               chan struct{}

	mu    sync.Mutex
	conns map[*guarded]struct{}
	each  map[netip.Addr]int
}

// newGuard makes one for at most so many connections, a tenth of them from one address.
func newGuard(l net.Listener, most int) *guard {
	return &guard{
		Listener: l, most: most, mostEach: max(most/10, minTCPEach),
		over: make(chan struct{}), conns: map[*guarded]struct{}{}, each: map[netip.Addr]int{},
	}
}

// Accept returns an error only when the listener is closed: those who use it stop
// at the first.
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

// admit counts a connection in; nil when it is one too many.
func (g *guard) admit(conn net.Conn) *guarded {
	c := &guarded{Conn: conn, guard: g}
	if at, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		c.from = fairshare.Network(at.AddrPort().Addr())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.over:
		return nil
	default:
	}
	if len(g.conns) >= g.most || g.each[c.from] >= g.mostEach {
		return nil
	}
	g.conns[c] = struct{}{}
	g.each[c.from]++
	return c
}

// Close closes the listener and what it has accepted.
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

// guarded is a connection of a guard's.
type guarded struct {
	net.Conn

	guard *guard
	from  netip.Addr
	heard bool // only who reads knows
	once  sync.Once
}

// Read waits as long as the other end may be silent.
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

// Write waits as long as the other end may take nothing in.
func (c *guarded) Write(b []byte) (int, error) {
	if c.guard.write > 0 {
		if err := c.SetWriteDeadline(time.Now().Add(c.guard.write)); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// Close counts it out.
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
