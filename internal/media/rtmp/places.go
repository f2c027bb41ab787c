package rtmp

import (
	"container/list"
	"net/netip"
	"sync"

	"showfloor/internal/fairshare"
)

// Reasons why a connection was refused or closed for want of a place, for metrics.
const (
	reasonConns      = "conns"             // too many connections in all
	reasonUnproven   = "unproven_per_ip"   // too many of its address without an accepted key
	reasonPublishers = "publishers_per_ip" // too many encoders of its address
)

// askingPerIP is how many stream keys of one address the gate checks at a time. Further
// connections wait for their turn.
const askingPerIP = 64

// places bounds the open connections, in all and by address (see network).
//
// A connection is unproven until the gate accepts its stream key. When a bound is
// reached, the oldest unproven connection is evicted in favor of the new one: a
// client needs a few round trips to show its key, so silent connections can't lock
// encoders out, not even from the same address. A connection can also be evicted
// while it waits for its turn or for the gate: otherwise random keys, shown all at
// once to a slow gate, would hold every place. A proven connection is never evicted.
type places struct {
	// max is for all connections, unprovenPerIP and publishersPerIP for those of one
	// address; negative: any number.
	max, unprovenPerIP, publishersPerIP int
	attempts                            *attempts

	mu        sync.Mutex
	open      int
	unproven  *list.List // of *place, the oldest first
	addresses map[netip.Addr]*addressPlaces
}

// addressPlaces are those of one address.
type addressPlaces struct {
	unproven *list.List // of *place, the oldest first
	proven   int
	// asking counts the gate's checks that have not returned, also those of evicted
	// connections, and askingNew those of them with permitNew; waiting are the *place that
	// wait for their turn, the oldest first.
	asking, askingNew int
	waiting           *list.List
}

// place is that of one connection. Its fields belong to places.
type place struct {
	ip netip.Addr
	// evict closes the connection at once. It is called without the lock.
	evict func(reason string)
	state placeState
	// all and own are the place in the lists of unproven connections, queued is in the list of
	// those that wait for their turn; nil when it is in none.
	all, own, queued *list.Element
	// key is the one to check. turn gets the end of the wait: nil, or why the key isn't
	// checked. permit is by what right it is checked.
	key    keyID
	turn   chan error
	permit permit
}

type placeState int

const (
	placeUnproven placeState = iota
	placeProven
	placeGone
)

func newPlaces(l Limits) *places {
	return &places{
		max: l.Conns, unprovenPerIP: l.UnprovenPerIP, publishersPerIP: l.PublishersPerIP, attempts: newAttempts(l.Failures),
		unproven: list.New(), addresses: map[netip.Addr]*addressPlaces{},
	}
}

// take gives a connection a place, if need be that of an older unproven one. When
// every place belongs to an encoder it returns nil and the reason.
func (p *places) take(ip netip.Addr, evict func(reason string)) (*place, string) {
	x := &place{ip: fairshare.Network(ip), evict: evict}
	p.mu.Lock()
	var victim *place
	reason := ""
	at := p.addresses[x.ip]
	switch {
	case at != nil && p.unprovenPerIP >= 0 && at.unproven.Len() >= p.unprovenPerIP:
		victim, reason = oldest(at.unproven), reasonUnproven
	case p.max >= 0 && p.open >= p.max:
		victim, reason = oldest(p.unproven), reasonConns
	}
	if reason != "" && victim == nil {
		p.mu.Unlock()
		return nil, reason
	}
	if victim != nil {
		p.drop(victim)
	}
	p.open++
	p.list(x)
	p.mu.Unlock()
	if victim != nil {
		victim.evict(reason)
	}
	return x, ""
}

// oldest is the first of a list; nil when it is empty.
func oldest(l *list.List) *place {
	if e := l.Front(); e != nil {
		return placeOf(e)
	}
	return nil
}

func placeOf(e *list.Element) *place {
	x, _ := e.Value.(*place) // the lists hold nothing else
	return x
}

// release gives the place back; for one that was lost it does nothing.
func (p *places) release(x *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.state != placeGone {
		p.drop(x)
	}
}

// list adds x to the unproven ones, as the newest of them.
func (p *places) list(x *place) {
	at := p.addresses[x.ip]
	if at == nil {
		at = &addressPlaces{unproven: list.New(), waiting: list.New()}
		p.addresses[x.ip] = at
	}
	x.all, x.own, x.state = p.unproven.PushBack(x), at.unproven.PushBack(x), placeUnproven
}

func (p *places) unlist(x *place) {
	p.unproven.Remove(x.all)
	p.addresses[x.ip].unproven.Remove(x.own)
}

// drop takes x out, also out of the queue for its turn.
func (p *places) drop(x *place) {
	at := p.addresses[x.ip]
	if x.state == placeProven {
		at.proven--
	} else {
		p.unlist(x)
	}
	x.state = placeGone
	p.open--
	if x.queued != nil {
		at.answer(x, &crowdedError{reason: reasonUnproven})
	}
	p.advance(x.ip)
}

// forget removes an address that has nothing left.
func (p *places) forget(ip netip.Addr) {
	if at := p.addresses[ip]; at.proven == 0 && at.asking == 0 && at.unproven.Len() == 0 {
		delete(p.addresses, ip)
	}
}
