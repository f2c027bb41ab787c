package rtmp

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxTracked bounds how many addresses attempts remembers.
const maxTracked = 1 << 14

// attempts limits refused attempts to publish by address.
type attempts struct {
	burst int // refused attempts at once; one comes back each second; negative: any number

	mu     sync.Mutex
	failed map[netip.Addr]*rate.Limiter
}

func newAttempts(burst int) *attempts {
	return &attempts{burst: burst, failed: map[netip.Addr]*rate.Limiter{}}
}

// network is the address that limits count: an IPv4 address, or the /64 network
// of an IPv6 address, all of which one client has.
func network(ip netip.Addr) netip.Addr {
	if ip = ip.Unmap(); ip.Is4() || !ip.IsValid() {
		return ip
	}
	p, _ := ip.WithZone("").Prefix(64)
	return p.Addr()
}

// left is how many attempts of an address may be refused before it must wait.
func (a *attempts) left(ip netip.Addr) int {
	ip = network(ip)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch t := a.failed[ip]; {
	case a.burst < 0:
		return math.MaxInt
	case t == nil:
		return max(a.burst, 1)
	default:
		return max(int(t.Tokens()), 0)
	}
}

// count adds an attempt that the gate refused.
func (a *attempts) count(ip netip.Addr) {
	ip = network(ip)
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.failed[ip]
	if t == nil {
		if len(a.failed) >= maxTracked {
			a.prune()
		}
		t = rate.NewLimiter(rate.Every(time.Second), max(a.burst, 1))
		a.failed[ip] = t
	}
	t.Allow()
}

// prune forgets addresses whose failures are over, and all if none is: a flood
// from that many addresses is not stopped by counting each.
func (a *attempts) prune() {
	for ip, t := range a.failed {
		if t.Tokens() >= float64(t.Burst()) {
			delete(a.failed, ip)
		}
	}
	if len(a.failed) >= maxTracked {
		clear(a.failed)
	}
}
