// Package fairshare hands out a bounded number of places so that one holder cannot take
// all of them, and says which addresses count as one holder.
package fairshare

import (
	"net/netip"
	"sync"
)

// Places are taken by holders, which K names. Its methods may be called at the same time.
type Places[K comparable] struct {
	bound, reserved, few int

	mu    sync.Mutex
	taken int
	each  map[K]int
}

// New makes bound places. A holder takes one of the last reserved places only while it
// holds fewer than few, so one holder alone gets bound-reserved places, or few if that is
// more.
func New[K comparable](bound, reserved, few int) *Places[K] {
	return &Places[K]{bound: bound, reserved: reserved, few: few, each: map[K]int{}}
}

// Take takes a place for a holder; false when there is none for it. Each Take that
// returned true needs one Release.
func (p *Places[K]) Take(holder K) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.bound || p.taken >= p.bound-p.reserved && p.each[holder] >= p.few {
		return false
	}
	p.taken++
	p.each[holder]++
	return true
}

// Release gives a holder's place back.
func (p *Places[K]) Release(holder K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.each[holder]--; p.each[holder] == 0 {
		delete(p.each, holder)
	}
}

// Taken is the number of places that are taken now.
func (p *Places[K]) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// Network is the address that limits count: an IPv4 address, or the /64 network of an
// IPv6 address, because one client has all of its addresses.
func Network(ip netip.Addr) netip.Addr {
	if ip = ip.Unmap(); ip.Is4() || !ip.IsValid() {
		return ip
	}
	p, _ := ip.WithZone("").Prefix(64)
	return p.Addr()
}
