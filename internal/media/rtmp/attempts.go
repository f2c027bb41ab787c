package rtmp

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"showfloor/internal/base/netaddr"
)

const (
	// maxTracked bounds how many addresses, and how many refused keys in total, attempts
	// remembers.
	maxTracked = 1 << 14
	// AcceptedLife is how long a stream key that the gate accepted is remembered after its last
	// publish.
	AcceptedLife = 24 * time.Hour
	// MaxAccepted bounds these keys.
	MaxAccepted = 1 << 14
	// MaxAcceptedPerIP bounds those of one address (see netaddr.Network).
	MaxAcceptedPerIP = 1000
	// A key that the gate refused is remembered for refusedLife after its last check, at
	// most refusedPerIP keys of one address. Meanwhile it may be checked refusedRepeats
	// times more, and one time more after each refusedPause.
	refusedLife, refusedPerIP    = 10 * time.Minute, 64
	refusedRepeats, refusedPause = 2, 5 * time.Second
)

// attempts limits the stream keys that the gate refuses to an address.
//
// A key counts once for its address, also after many attempts: each refused key has its own
// limit. Otherwise one encoder with a wrong key, which tries again every second, would use up
// the limit of all encoders behind its NAT. Keys that were accepted from the address before are
// not limited, so random keys don't lock them out.
type attempts struct {
	burst int // refused keys at once; one comes back each second; negative: any number
	now   func() time.Time

	mu                sync.Mutex
	failed            map[netip.Addr]*rate.Limiter
	accepted, refused *keyMemory
}

func newAttempts(burst int) *attempts {
	return &attempts{
		burst: burst, now: time.Now, failed: map[netip.Addr]*rate.Limiter{},
		accepted: newKeyMemory(MaxAcceptedPerIP, MaxAccepted, AcceptedLife), refused: newKeyMemory(refusedPerIP, maxTracked, refusedLife),
	}
}

// permit is the decision whether a key may be checked now.
type permit int

const (
	// permitNew is for a key that is not remembered: during its check, it counts as one that
	// may be refused.
	permitNew permit = iota
	permitKnown
	permitDenied
)

// permit returns whether the gate may be asked about a key now. For a refused key, permitKnown
// uses up one of its checks.
func (a *attempts) permit(id keyID) permit {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if a.burst < 0 || a.accepted.find(id, now) != nil {
		return permitKnown
	}
	k := a.refused.find(id, now)
	switch {
	case k == nil:
		return permitNew
	case k.repeats.AllowN(now, 1):
		return permitKnown
	default:
		return permitDenied
	}
}

// left returns how many new keys of an address may be refused before it must wait.
func (a *attempts) left(ip netip.Addr) int {
	ip = netaddr.Network(ip)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch t := a.failed[ip]; {
	case a.burst < 0:
		return math.MaxInt
	case t == nil:
		return max(a.burst, 1)
	default:
		return max(int(t.TokensAt(a.now())), 0)
	}
}

// accept stores a key that the gate accepted.
func (a *attempts) accept(id keyID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused.forget(id)
	a.accepted.use(id, a.now())
}

// recall stores keys that were accepted earlier, the last used first.
func (a *attempts) recall(keys []AcceptedKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range keys {
		a.accepted.recall(keyID{netaddr.Network(k.RemoteIP), k.Hash}, k.UsedAt)
	}
}

// refuse stores a key that the gate refused, and counts it for its address unless it is stored
// as refused already.
func (a *attempts) refuse(id keyID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	a.accepted.forget(id)
	k := a.refused.use(id, now)
	if k != nil && k.repeats != nil {
		return
	}
	if k != nil {
		k.repeats = rate.NewLimiter(rate.Every(refusedPause), refusedRepeats)
	}
	t := a.failed[id.ip]
	if t == nil {
		if len(a.failed) >= maxTracked {
			a.prune(now)
		}
		t = rate.NewLimiter(rate.Every(time.Second), max(a.burst, 1))
		a.failed[id.ip] = t
	}
	t.AllowN(now, 1)
}

// prune removes addresses whose budget is full again, and all addresses if none is: a flood
// from that many addresses can't be stopped by counting each address.
func (a *attempts) prune(now time.Time) {
	for ip, t := range a.failed {
		if t.TokensAt(now) >= float64(t.Burst()) {
			delete(a.failed, ip)
		}
	}
	if len(a.failed) >= maxTracked {
		clear(a.failed)
	}
}
