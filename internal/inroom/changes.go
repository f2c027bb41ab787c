// Package inroom joins the SFU and the realtime channel, which know connections,
// with the areas, which know tenants: who comes in is asked there, and what
// changes there is carried to those who are connected.
package inroom

import (
	"context"
	"strings"
	"sync"
)

// maxChanges is how many changes may wait for a follower; when there are more it
// looks at everything.
const maxChanges = 10_000

// Follower holds connections of participants and sees to it that they may do
// what their rows say. It isn't called again before it has returned, and an
// error is its own to try again.
type Follower interface {
	// RoomChanged tells that a participant's standing is another, or, with an
	// empty userID, that everybody's in the room may be.
	RoomChanged(ctx context.Context, roomID, userID string)
	// Missed tells that there may have been changes of which nobody heard, the
	// first time when nothing was heard yet.
	Missed(ctx context.Context)
}

// Changes hands what a postgres.Listener hears on session.ChangesChannel to the
// followers. Each has a queue of its own, so that a slow one holds up nobody, in
// which a change that waits already isn't put again.
type Changes struct {
	lanes []*lane
}

// change is one participant's, or everybody's when userID is empty.
type change struct{ roomID, userID string }

// lane is what one follower is still to hear.
type lane struct {
	follower Follower
	// wake has room for one token, which is there while something waits.
	wake chan struct{}

	mu      sync.Mutex
	queue   []change
	waiting map[change]bool
	missed  bool
}

// NewChanges makes Changes for these followers; Run must be called.
func NewChanges(followers ...Follower) *Changes {
	c := &Changes{}
	for _, f := range followers {
		c.lanes = append(c.lanes, &lane{follower: f, wake: make(chan struct{}, 1), waiting: map[change]bool{}})
	}
	return c
}

// Heard is a postgres.Listener's: the payload is "<room>/<user>" or "<room>/".
func (c *Changes) Heard(_ context.Context, payload string) {
	roomID, userID, _ := strings.Cut(payload, "/")
	for _, l := range c.lanes {
		l.add(change{roomID, userID})
	}
}

// Missed is what a postgres.Listener calls when it has connected.
func (c *Changes) Missed(context.Context) {
	for _, l := range c.lanes {
		l.addMissed()
	}
}

// Run tells the followers until ctx ends, and returns when none is being told.
func (c *Changes) Run(ctx context.Context) {
	var work sync.WaitGroup
	for _, l := range c.lanes {
		work.Go(func() { l.run(ctx) })
	}
	work.Wait()
}

func (l *lane) add(one change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.missed || l.waiting[one] {
		return
	}
	if len(l.queue) >= maxChanges {
		l.forget()
		return
	}
	l.queue, l.waiting[one] = append(l.queue, one), true
	l.signal()
}

func (l *lane) addMissed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
}

// forget replaces all that waits by one look at everything.
func (l *lane) forget() {
	l.queue, l.missed = nil, true
	clear(l.waiting)
	l.signal()
}

func (l *lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take is what waits; it doesn't any more, so that a change that commits while
// the follower looks is told again.
func (l *lane) take() (queue []change, missed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, missed = l.queue, l.missed
	l.queue, l.missed = nil, false
	clear(l.waiting)
	return queue, missed
}

func (l *lane) run(ctx context.Context) {
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
		queue, missed := l.take()
		if missed {
			l.follower.Missed(ctx)
		}
		for _, one := range queue {
			if ctx.Err() != nil {
				return
			}
			l.follower.RoomChanged(ctx, one.roomID, one.userID)
		}
	}
}
