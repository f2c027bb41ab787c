package rtmp

import (
	"container/list"
	"net/netip"
	"sync"

	"showfloor/internal/base/netaddr"
)

// Reasons why a connection was refused or closed for lack of a place, for metrics.
const (
	reasonConns      = "conns"             // too many connections in total
	reasonUnproven   = "unproven_per_ip"   // too many of its address without an accepted key
	reasonPublishers = "publishers_per_ip" // too many encoders of its address
)

// checksPerIP is how many stream keys of one address the gate checks at a time. Further
// connections are queued.
const checksPerIP = 64

// places bounds the open connections, in total and by address (see netaddr.Network).
//
// A connection is unproven until the gate accepts its stream key. When a bound is reached, the
// oldest unproven connection is evicted in favor of the new one: a client needs a few round
// trips to send its key, so silent connections can't lock encoders out, not even from the same
// address. A connection can also be evicted while it is queued or while the gate checks its
// key: otherwise random keys, sent at once to a slow gate, would take every place. A proven
// connection is never evicted.
type places struct {
	// max bounds all connections, unprovenPerIP and publishersPerIP those of one address;
	// negative: any number.
	max, unprovenPerIP, publishersPerIP int
	attempts                            *attempts

	mu        sync.Mutex
	open      int
	unproven  *list.List // of *place, the oldest first
	addresses map[netip.Addr]*addressPlaces
}

// addressPlaces are the places of one address.
type addressPlaces struct {
	unproven *list.List // of *place, the oldest first
	proven   int
	// checks counts the checks of the gate that are running, also for evicted connections, and
	// newChecks those of them with permitNew. waiting are the queued *place, the oldest first.
	checks, newChecks int
	waiting           *list.List
}

// place is the place of one connection. The lock of places guards its fields.
type place struct {
	ip netip.Addr
	// evict closes the connection at once. It is called without the lock.
	evict func(reason string)
	state placeState
	// all and own are its elements in the lists of unproven connections, queued is its element
	// in the queue; nil when it isn't in the list.
	all, own, queued *list.Element
	// key is the key to check. turn receives the end of the wait: nil, or why the key isn't
	// checked. permit is the permission for the check.
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

// take gives a connection a place, if necessary that of an older unproven one. When encoders
// have all places it returns nil and the reason.
func (p *places) take(ip netip.Addr, evict func(reason string)) (*place, string) {
	x := &place{ip: netaddr.Network(ip), evict: evict}
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

// oldest returns the first place of a list; nil when it is empty.
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

// release frees the place; it does nothing for an evicted connection.
func (p *places) release(x *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.state != placeGone {
		p.drop(x)
	}
}

// list adds x to the unproven connections, as the newest one.
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

// drop removes x, also from the queue.
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

// forget removes an address without connections.
func (p *places) forget(ip netip.Addr) {
	if at := p.addresses[ip]; at.proven == 0 && at.checks == 0 && at.unproven.Len() == 0 {
		delete(p.addresses, ip)
	}
}
