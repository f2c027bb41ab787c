package rtmp

import (
	"container/list"
	"fmt"
	"net/netip"
	"sync"
)

// Reasons why a connection was refused or closed for want of a place, for metrics.
const (
	reasonConns      = "conns"             // too many connections in all
	reasonUnproven   = "unproven_per_ip"   // too many of its address without an accepted key
	reasonPublishers = "publishers_per_ip" // too many encoders of its address
)

// places bounds the open connections, in all and by address (see network).
//
// A connection is unproven until its stream key is checked, and again when the
// key was refused. When a bound is reached, the oldest unproven connection gives
// its place to the new one: a client needs a few round trips to show its key, so
// silent connections can't lock encoders out, not even from the same address.
// An encoder whose key was accepted never loses its place.
type places struct {
	// max is for all connections, unprovenPerIP and publishersPerIP for those of one
	// address; negative: any number.
	max, unprovenPerIP, publishersPerIP int

	mu        sync.Mutex
	open      int
	unproven  *list.List // of *place, the oldest first
	addresses map[netip.Addr]*addressPlaces
}

// addressPlaces are those of one address.
type addressPlaces struct {
	unproven *list.List // of *place, the oldest first
	proven   int
}

// place is that of one connection. Its fields belong to places.
type place struct {
	ip netip.Addr
	// evict closes the connection at once. It is called without the lock.
	evict func(reason string)
	state placeState
	// all and own are the place in the lists of unproven connections.
	all, own *list.Element
}

type placeState int

const (
	placeUnproven placeState = iota
	placeProven
	placeGone
)

func newPlaces(l Limits) *places {
	return &places{
		max: l.Conns, unprovenPerIP: l.UnprovenPerIP, publishersPerIP: l.PublishersPerIP,
		unproven: list.New(), addresses: map[netip.Addr]*addressPlaces{},
	}
}

// take gives a connection a place, if need be that of an older unproven one. When
// every place belongs to an encoder it returns nil and the reason.
func (p *places) take(ip netip.Addr, evict func(reason string)) (*place, string) {
	x := &place{ip: network(ip), evict: evict}
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
	p.list(x, false)
	p.mu.Unlock()
	if victim != nil {
		victim.evict(reason)
	}
	return x, ""
}

// oldest is the first of a list; nil when it is empty.
func oldest(l *list.List) *place {
	if e := l.Front(); e != nil {
		x, _ := e.Value.(*place) // the lists hold nothing else
		return x
	}
	return nil
}

// prove makes the connection one of an encoder, before its key is checked. It
// returns a *crowdedError when the connection has lost its place, and when its
// address has too many encoders.
func (p *places) prove(x *place) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.addresses[x.ip]
	switch {
	case x.state == placeGone:
		return &crowdedError{reason: reasonUnproven}
	case p.publishersPerIP >= 0 && at.proven >= p.publishersPerIP:
		return &crowdedError{reasonPublishers, fmt.Sprintf("%d encoders publish from this address, as many as one address may have. "+
			"Stop one of them, or ask the operator of this server for more.", at.proven)}
	}
	p.unlist(x)
	at.proven++
	x.state = placeProven
	return nil
}

// disprove makes the connection unproven again, and the next one to lose its
// place: its key was refused.
func (p *places) disprove(x *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.state == placeProven {
		p.addresses[x.ip].proven--
		p.list(x, true)
	}
}

// release gives the place back; for one that was lost it does nothing.
func (p *places) release(x *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.state != placeGone {
		p.drop(x)
	}
}

// list adds x to the unproven ones, as the newest of them or as the oldest.
func (p *places) list(x *place, first bool) {
	at := p.addresses[x.ip]
	if at == nil {
		at = &addressPlaces{unproven: list.New()}
		p.addresses[x.ip] = at
	}
	add := (*list.List).PushBack
	if first {
		add = (*list.List).PushFront
	}
	x.all, x.own, x.state = add(p.unproven, x), add(at.unproven, x), placeUnproven
}

func (p *places) unlist(x *place) {
	p.unproven.Remove(x.all)
	p.addresses[x.ip].unproven.Remove(x.own)
}

// drop takes x out.
func (p *places) drop(x *place) {
	at := p.addresses[x.ip]
	if x.state == placeProven {
		at.proven--
	} else {
		p.unlist(x)
	}
	x.state = placeGone
	p.open--
	if at.proven == 0 && at.unproven.Len() == 0 {
		delete(p.addresses, x.ip)
	}
}
