package rtmp

import (
	"context"
	"fmt"
	"net/netip"
)

// decision is the gate's decision on a stream key.
type decision int

const (
	undecided decision = iota // the gate failed
	refused
	accepted
)

// awaitCheck waits until the gate may be asked about the connection's stream key. After a nil result
// the caller must call settle. The gate checks at most checksPerIP keys of an address at a
// time. Of keys that attempts does not remember, it checks at most as many at a time as may be
// refused before the address has to wait. Encoders that reconnect all at once are queued, not
// refused.
//
// It returns a *crowdedError when the connection was evicted or its address has too many
// encoders, a *StatusError after too many refused keys, and the error of ctx.
func (p *places) awaitCheck(ctx context.Context, x *place, key string) error {
	id := newKeyID(x.ip, key)
	p.mu.Lock()
	if x.state == placeGone {
		p.mu.Unlock()
		return &crowdedError{reason: reasonUnproven}
	}
	x.key, x.turn = id, make(chan error, 1)
	x.queued = p.addresses[x.ip].waiting.PushBack(x)
	p.advance(x.ip)
	p.mu.Unlock()
	select {
	case err := <-x.turn:
		return err
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.queued != nil {
		p.addresses[x.ip].answer(x, ctx.Err())
	}
	return <-x.turn // its turn may have come in the meantime
}

// settle ends a check with the gate's decision. An accepted connection becomes one of an
// encoder; a refused one is the next to be evicted. It returns a *crowdedError when the
// connection was evicted in the meantime.
func (p *places) settle(x *place, v decision) error {
	switch v {
	case accepted:
		p.attempts.accept(x.key)
	case refused:
		p.attempts.refuse(x.key)
	case undecided:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.addresses[x.ip]
	at.checks--
	if x.permit == permitNew {
		at.newChecks--
	}
	switch {
	case x.state != placeUnproven:
	case v == accepted:
		p.unlist(x)
		at.proven++
		x.state = placeProven
	case v == refused:
		p.unproven.MoveToFront(x.all)
		at.unproven.MoveToFront(x.own)
	}
	gone := x.state == placeGone
	p.advance(x.ip)
	if gone {
		return &crowdedError{reason: reasonUnproven}
	}
	return nil
}

// advance answers the queued connections of an address, as far as its limits allow, and removes
// the address when it has no connections left. While connections are queued, at least one is
// asking, and its settle calls advance again.
func (p *places) advance(ip netip.Addr) {
	at := p.addresses[ip]
	for e := at.waiting.Front(); e != nil; {
		x := placeOf(e)
		e = e.Next()
		switch {
		case p.publishersPerIP >= 0 && at.proven >= p.publishersPerIP:
			at.answer(x, &crowdedError{reasonPublishers, fmt.Sprintf("%d encoders publish from this address, as many as one address may have. "+
				"Stop one of them, or ask the operator of this server for more.", at.proven)})
		case at.checks >= checksPerIP, p.publishersPerIP >= 0 && at.proven+at.checks >= p.publishersPerIP:
			return
		default:
			p.turn(at, x)
		}
	}
	p.forget(ip)
}

// turn allows or refuses the check of a connection's key. A new key stays queued while as many
// new keys are being checked as may be refused.
func (p *places) turn(at *addressPlaces, x *place) {
	x.permit = p.attempts.permit(x.key)
	if x.permit == permitDenied {
		at.answer(x, &StatusError{codeDenied, "Too many refused attempts with this stream key. Try again in a few seconds."})
		return
	}
	if x.permit == permitNew {
		left := p.attempts.left(x.ip)
		if left == 0 {
			at.answer(x, &StatusError{codeDenied, "Too many refused attempts from this address. Try again in a minute."})
			return
		}
		if at.newChecks >= left {
			return
		}
		at.newChecks++
	}
	at.checks++
	at.answer(x, nil)
}

// answer ends a connection's wait in the queue.
func (at *addressPlaces) answer(x *place, err error) {
	at.waiting.Remove(x.queued)
	x.queued = nil
	x.turn <- err
}
