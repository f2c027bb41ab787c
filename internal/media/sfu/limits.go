package sfu

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxTracked is how many keys a limiter remembers.
const maxTracked = 1 << 14

// Bursts, in seconds' worth of the rate.
const joinBurst, publicationBurst = 2, 5

// limiter is a rate limiter for each key, in events per second.
type limiter[K comparable] struct {
	now   func() time.Time
	rate  rate.Limit
	burst int

	mu   sync.Mutex
	keys map[K]*rate.Limiter
}

// newLimiter returns a limiter with a burst of burst seconds' worth. A negative rate means no
// limit.
func newLimiter[K comparable](now func() time.Time, perSecond, burst int) *limiter[K] {
	return &limiter[K]{now: now, rate: rate.Limit(perSecond), burst: burst * perSecond, keys: map[K]*rate.Limiter{}}
}

// allow counts one event.
func (l *limiter[K]) allow(key K) bool { return l.allowN(key, 1) }

// allowN counts n events, or none when not all of them are allowed.
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

// prune removes the keys whose budget is full, and all keys if none is: a flood under that many
// keys can't be stopped by counting each key.
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

// remoteIP returns the address of a request's connection.
func remoteIP(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip, _ := netip.ParseAddr(host)
	return ip
}
