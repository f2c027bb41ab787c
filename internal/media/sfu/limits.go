package sfu

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxTracked bounds how many keys a limiter remembers.
const maxTracked = 1 << 14

// How many seconds' worth may come at once.
const joinBurst, publicationBurst = 2, 5

// limiter lets so many a second pass for each key.
type limiter[K comparable] struct {
	now   func() time.Time
	rate  rate.Limit
	burst int

	mu   sync.Mutex
	keys map[K]*rate.Limiter
}

// newLimiter makes one that lets burst times as many pass at once. A negative rate lets all
// pass.
func newLimiter[K comparable](now func() time.Time, perSecond, burst int) *limiter[K] {
	return &limiter[K]{now: now, rate: rate.Limit(perSecond), burst: burst * perSecond, keys: map[K]*rate.Limiter{}}
}

// allow counts one more.
func (l *limiter[K]) allow(key K) bool { return l.allowN(key, 1) }

// allowN counts n more, or none when not all of them may pass.
func (l *limiter[K]) allowN(key K, n int) bool {
	if l.rate < 0 {
		return true
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.keys[key]
	if one == nil {
		if len(l.keys) >= maxTracked {
			l.prune(now)
		}
		one = rate.NewLimiter(l.rate, l.burst)
		l.keys[key] = one
	}
	return one.AllowN(now, n)
}

// prune forgets those that are as if new, and all if none is: a flood under that
// many names is not stopped by counting each.
func (l *limiter[K]) prune(now time.Time) {
	for key, one := range l.keys {
		if one.TokensAt(now) >= float64(one.Burst()) {
			delete(l.keys, key)
		}
	}
	if len(l.keys) >= maxTracked {
		clear(l.keys)
	}
}

// remoteIP is where a request's connection comes from.
func remoteIP(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip, _ := netip.ParseAddr(host)
	return ip
}
