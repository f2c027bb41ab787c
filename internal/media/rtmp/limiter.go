package rtmp

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxTracked bounds how many addresses the limiter remembers.
const maxTracked = 1 << 14

// limiter counts connections and refused attempts by address. An IPv6 client
// owns a whole /64, so that is its address here.
type limiter struct {
	perIP    int // connections at a time; negative: any number
	failures int // refused attempts at once; one comes back each second

	mu    sync.Mutex
	conns map[netip.Addr]int
	tries map[netip.Addr]*rate.Limiter
}

func newLimiter(perIP, failures int) *limiter {
	return &limiter{
		perIP: perIP, failures: failures,
		conns: map[netip.Addr]int{}, tries: map[netip.Addr]*rate.Limiter{},
	}
}

func network(ip netip.Addr) netip.Addr {
	if ip = ip.Unmap(); ip.Is4() || !ip.IsValid() {
		return ip
	}
	p, _ := ip.WithZone("").Prefix(64)
	return p.Addr()
}

// open counts a connection; false if the address has too many.
func (l *limiter) open(ip netip.Addr) bool {
	ip = network(ip)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perIP >= 0 && l.conns[ip] >= l.perIP {
		return false
	}
	l.conns[ip]++
	return true
}

func (l *limiter) close(ip netip.Addr) {
	ip = network(ip)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[ip]--; l.conns[ip] <= 0 {
		delete(l.conns, ip)
	}
}

// mayTry tells whether an address may ask the gate again.
func (l *limiter) mayTry(ip netip.Addr) bool {
	ip = network(ip)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tries[ip]
	return l.failures < 0 || t == nil || t.Tokens() >= 1
}

// failed counts an attempt that the gate refused.
func (l *limiter) failed(ip netip.Addr) {
	ip = network(ip)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tries[ip]
	if t == nil {
		if len(l.tries) >= maxTracked {
			l.prune()
		}
		t = rate.NewLimiter(rate.Every(time.Second), max(l.failures, 1))
		l.tries[ip] = t
	}
	t.Allow()
}

// prune forgets addresses whose failures are over, and all if none is: a flood
// from that many addresses is not stopped by counting each.
func (l *limiter) prune() {
	for ip, t := range l.tries {
		if t.Tokens() >= float64(t.Burst()) {
			delete(l.tries, ip)
		}
	}
	if len(l.tries) >= maxTracked {
		clear(l.tries)
	}
}
