// Package connlimit limits the open connections of HTTP servers, per address and in
// total, so that no client can use up the process's file descriptors.
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

	"showfloor/internal/base/netaddr"
)

// Reason is the limit that a connection exceeds, as metrics and logs name it.
type Reason string

// The reasons.
const (
	PerAddress  Reason = "per_address" // too many connections of its address
	Total       Reason = "total"       // too many connections in all
	Descriptors Reason = "descriptors" // the process has no file descriptor left
)

const (
	// maxAnswered is the number of refused connections that stay open to receive the refusal,
	// and maxAnsweredEach the number of these per address. Others are closed without an answer.
	maxAnswered, maxAnsweredEach = 32, 4
	// answerTime is how long a refused connection may stay open.
	answerTime = 3 * time.Second
	// closeBatch is how many waiting connections close when the process has no file
	// descriptor left.
	closeBatch = 16
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
	// Exempt are networks without the limit PerAddress, for proxies and CDNs: their
	// connections carry many clients.
	Exempt []netip.Prefix
	// Log gets a warning a minute while connections are refused. Default: nowhere.
	Log *slog.Logger
}

// Limiter bounds the connections of any number of listeners together.
//
// A connection without a request in progress is waiting: it is new, or kept alive. At a
// limit, the connection that has waited longest is closed for the new one, so silent
// connections don't lock out other clients. If all are busy, the new one is refused.
type Limiter struct {
	config Config

	mu        sync.Mutex
	open      int        // open connections, without refused ones
	answered  int        // refused connections that are still open
	waiting   *list.List // of *Conn, the longest waiting first
	addresses map[netip.Addr]*address
	stats     Stats
	logged    map[Reason]note
}

// address holds the open connections of one address.
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
	// Refused counts new connections that were closed, some of them after an answer.
	Refused map[Reason]uint64
	// Closed counts waiting connections that were closed for new ones.
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

// Limits returns the maximum number of connections of one address, and of all
// addresses together.
func (l *Limiter) Limits() (perAddress, total int) { return l.config.PerAddress, l.config.Total }

// Stats returns the figures for metrics.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{Open: l.open, Refused: maps.Clone(l.stats.Refused), Closed: maps.Clone(l.stats.Closed)}
}

// Bound applies the limits to a server's connections: it returns the listener to serve on,
// and sets the server's ConnState and ConnContext. TLS wraps that listener (ServeTLS).
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

// Refused returns, from a request's context, the limit that refused its connection; "" if
// it is not refused. The answer to such a request names the limit, and the connection
// closes after it.
func Refused(ctx context.Context) Reason {
	reason, _ := ctx.Value(refusedKey{}).(Reason)
	return reason
}

// admit counts a new connection and returns it, or nil if it was refused and
// closed.
func (l *Limiter) admit(inner net.Conn) *Conn {
	x := &Conn{Conn: inner, limiter: l}
	if tcp, ok := inner.RemoteAddr().(*net.TCPAddr); ok {
		ip := tcp.AddrPort().Addr()
		x.ip, x.exempt = netaddr.Network(ip), l.exempt(ip.Unmap())
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
// connections of which one can be closed for x.
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
	for range closeBatch {
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

// at returns the open connections of an address. The caller must call forget later.
func (l *Limiter) at(ip netip.Addr) *address {
	at := l.addresses[ip]
	if at == nil {
		at = &address{waiting: list.New()}
		l.addresses[ip] = at
	}
	return at
}

// forget removes an address without open connections.
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

// wait makes x the newest waiting connection.
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
	x, _ := l.Front().Value.(*Conn) // the lists contain only *Conn
	return x
}
