// Package fairshare hands out a bounded number of places so that one holder cannot take
// all of them.
package fairshare

import "sync"

// Places are taken by holders, which K names. Its methods may be called at the same time.
type Places[K comparable] struct {
	bound, reserved, few int

	mu    sync.Mutex
	taken int
	each  map[K]int
}

// New makes bound places. A holder gets one of the last reserved places only while it
// holds fewer than few places. So one holder alone gets bound-reserved places, or few if
// that is more.
func New[K comparable](bound, reserved, few int) *Places[K] {
	return &Places[K]{bound: bound, reserved: reserved, few: few, each: map[K]int{}}
}

// Take takes a place for a holder; it returns false if there is none for it. Each Take
// that returned true needs one Release.
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

// Taken returns the number of places in use.
func (p *Places[K]) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}
