// Package connlimit bounds the open connections of HTTP servers, by address and in
// all, so that no client can use up the process's file descriptors.
package connlimit

import (
	"container/list"
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"showfloor/internal/fairshare"
)

// Reason is the limit that a connection has met, as metrics and logs name it.
type Reason string

// The reasons.
const (
	PerAddress  Reason = "per_address" // too many connections of its address
	Total       Reason = "total"       // too many connections in all
	Descriptors Reason = "descriptors" // the process has no file descriptor left
)

const (
	// maxAnswered is how many refused connections stay open to receive the refusal, and
	// maxAnsweredEach how many of them are from one address. Others close unanswered.
	maxAnswered, maxAnsweredEach = 32, 4
	// answerTime is how long a refused connection may stay open.
	answerTime = 3 * time.Second
	// closedAtOnce is how many waiting connections close when the process has no file
	// descriptor left.
	closedAtOnce = 16
	// logPause is the least time between two log lines about one reason.
	logPause = time.Minute
)

// Config of a Limiter.
type Config struct {
	// PerAddress is the number of connections of one address, which is an IPv4
	// address or an IPv6 /64 network.
	PerAddress int
	// Total is the number of connections of all addresses together.
	Total int
	// Exempt are the networks that PerAddress doesn't concern: those of proxies and
	// CDNs, whose connections carry many clients.
	Exempt []netip.Prefix
	// Log gets a warning a minute while connections are refused. Default: nowhere.
	Log *slog.Logger
}

// Limiter bounds the connections of any number of listeners together.
//
// A connection waits when no request is on its way: it is new, or kept alive. When a
// limit is reached, the connection that has waited longest closes for the new one, so
// silent connections lock nobody out. Only when all are busy is the new one refused.
type Limiter struct {
	config Config

	mu        sync.Mutex
	open      int        // without the refused ones
	answered  int        // refused ones that are open
	waiting   *list.List // of *Conn, the longest waiting first
	addresses map[netip.Addr]*address
	stats     Stats
	logged    map[Reason]note
}

// address is what one address has open.
type address struct {
	open, answered int
	waiting        *list.List // of *Conn, the longest waiting first
}

// note limits the log lines about one reason.
type note struct {
	at    time.Time
	since int // refused connections since then
}

// Stats counts connections by reason since the start, except for Open.
type Stats struct {
	// Open connections now.
	Open int
	// Refused were closed although they were new; some were answered first.
	Refused map[Reason]uint64
	// Closed were waiting, and closed in favour of new ones.
	Closed map[Reason]uint64
}

// New makes a Limiter. PerAddress and Total must be at least 1.
func New(c Config) *Limiter {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Limiter{
		config: c, waiting: list.New(), addresses: map[netip.Addr]*address{}, logged: map[Reason]note{},
		stats: Stats{Refused: map[Reason]uint64{}, Closed: map[Reason]uint64{}},
	}
}

// Limits returns the number of connections that one address may have, and that all
// may have together.
func (l *Limiter) Limits() (perAddress, total int) { return l.config.PerAddress, l.config.Total }

// Stats returns the figures for metrics.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{Open: l.open, Refused: maps.Clone(l.stats.Refused), Closed: maps.Clone(l.stats.Closed)}
}

// Bound makes a server's connections count: it returns the listener to serve on, and
// sets the server's ConnState and ConnContext. TLS belongs above it (ServeTLS).
func (l *Limiter) Bound(server *http.Server, inner net.Listener) net.Listener {
	server.ConnState = l.connState
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if x := find(c); x != nil && x.reason != "" {
			return context.WithValue(ctx, refusedKey{}, x.reason)
		}
		return ctx
	}
	return &listener{inner, l}
}

type refusedKey struct{}

// Refused returns why the connection of a request is refused, from the request's
// context; "" when it isn't. Such a request gets an answer that says so, and the
// connection closes.
func Refused(ctx context.Context) Reason {
	reason, _ := ctx.Value(refusedKey{}).(Reason)
	return reason
}

// admit counts a new connection in and returns it, or nil when it was refused and
// closed.
func (l *Limiter) admit(inner net.Conn) *Conn {
	x := &Conn{Conn: inner, limiter: l}
	if tcp, ok := inner.RemoteAddr().(*net.TCPAddr); ok {
		ip := tcp.AddrPort().Addr()
		x.ip, x.exempt = fairshare.Network(ip), l.exempt(ip.Unmap())
	}
	l.mu.Lock()
	reason, candidates := l.crowded(x)
	victim, refused := longest(candidates), false
	switch {
	case reason == "":
		l.add(x)
	case victim != nil:
		l.remove(victim)
		l.stats.Closed[reason]++
		l.add(x)
	case l.answered < maxAnswered && l.at(x.ip).answered < maxAnsweredEach:
		l.refuse(x, reason)
		x.state, x.reason = answered, reason
		l.answered++
		l.at(x.ip).answered++
		x.end = time.AfterFunc(answerTime, func() { _ = x.Close() })
	default:
		l.refuse(x, reason)
		x.state, refused = gone, true
	}
	l.forget(x.ip)
	l.mu.Unlock()
	if victim != nil {
		_ = victim.Conn.Close()
	}
	if refused {
		_ = inner.Close()
		return nil
	}
	return x
}

// crowded returns the limit that x would exceed, "" for none, and the waiting
// connections of which one may close in favour of x.
func (l *Limiter) crowded(x *Conn) (Reason, *list.List) {
	at := l.at(x.ip)
	switch {
	case at.open >= l.config.PerAddress && !x.exempt:
		return PerAddress, at.waiting
	case l.open >= l.config.Total:
		return Total, l.waiting
	}
	return "", nil
}

func (l *Limiter) exempt(ip netip.Addr) bool {
	return slices.ContainsFunc(l.config.Exempt, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// refuse counts a refused connection, and logs the first one in a minute.
func (l *Limiter) refuse(x *Conn, reason Reason) {
	l.stats.Refused[reason]++
	n := l.logged[reason]
	n.since++
	if now := time.Now(); now.Sub(n.at) >= logPause {
		l.config.Log.Warn("too many HTTP connections, all of them busy: new ones are refused", "reason", string(reason),
			"address", x.ip, "refused", n.since, "connections", l.open, "of the address", l.at(x.ip).open)
		n = note{at: now}
	}
	l.logged[reason] = n
}

// relieve closes some waiting connections, when the process has no file descriptor
// left.
func (l *Limiter) relieve() {
	var victims []*Conn
	l.mu.Lock()
	for range closedAtOnce {
		victim := longest(l.waiting)
		if victim == nil {
			break
		}
		l.remove(victim)
		l.stats.Closed[Descriptors]++
		victims = append(victims, victim)
	}
	l.mu.Unlock()
	for _, victim := range victims {
		_ = victim.Conn.Close()
	}
}

// The following are called with the lock.

// at returns what an address has open. forget follows.
func (l *Limiter) at(ip netip.Addr) *address {
	at := l.addresses[ip]
	if at == nil {
		at = &address{waiting: list.New()}
		l.addresses[ip] = at
	}
	return at
}

// forget drops an address that has nothing open.
func (l *Limiter) forget(ip netip.Addr) {
	if at := l.addresses[ip]; at != nil && at.open == 0 && at.answered == 0 {
		delete(l.addresses, ip)
	}
}

func (l *Limiter) add(x *Conn) {
	l.open++
	l.at(x.ip).open++
	l.wait(x)
}

// wait makes x the newest of those that wait.
func (l *Limiter) wait(x *Conn) {
	x.state, x.all, x.own = waiting, l.waiting.PushBack(x), l.at(x.ip).waiting.PushBack(x)
}

// work makes x busy.
func (l *Limiter) work(x *Conn) {
	l.waiting.Remove(x.all)
	l.at(x.ip).waiting.Remove(x.own)
	x.state = busy
}

// remove counts x out.
func (l *Limiter) remove(x *Conn) {
	switch x.state {
	case gone:
		return
	case answered:
		x.end.Stop()
		l.answered--
		l.at(x.ip).answered--
	case waiting:
		l.work(x)
		fallthrough
	case busy:
		l.open--
		l.at(x.ip).open--
	}
	x.state = gone
	l.forget(x.ip)
}

// longest returns the connection that has waited longest; nil for none.
func longest(l *list.List) *Conn {
	if l == nil || l.Len() == 0 {
		return nil
	}
	x, _ := l.Front().Value.(*Conn) // the lists hold nothing else
	return x
}
