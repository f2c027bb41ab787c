// Package roomgate connects the SFU and the realtime channel, which know
// connections, with the areas, which know tenants. The areas decide which
// participants may enter, and changes of their permissions are applied to their
// connections.
package roomgate

import (
	"context"
	"strings"
	"sync"
)

// maxChanges is how many changes may wait for a follower. If there are more, the
// follower checks everything instead.
const maxChanges = 10_000

// Follower holds connections of participants and restricts them to what their rows
// permit. Its methods are not called concurrently. They return no error: the
// follower retries by itself.
type Follower interface {
	// RoomChanged reports that a participant's grant has changed, or, with an empty
	// userID, that every grant in the room may have changed.
	RoomChanged(ctx context.Context, roomID, userID string)
	// Missed reports that notifications of changes may have been lost. The first call
	// follows the first connection to the database.
	Missed(ctx context.Context)
}

// Changes passes the notifications that a postgres.Listener receives on
// session.ChangesChannel to the followers. Each follower has its own queue, so
// that a slow one doesn't delay others. A change that is in the queue already
// isn't added again.
type Changes struct {
	queues []*followerQueue
}

// change is a change of one participant, or of everyone in the room when userID is
// empty.
type change struct{ roomID, userID string }

// followerQueue is the queue of one follower.
type followerQueue struct {
	follower Follower
	// wake has room for one token, which it holds while something waits.
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
		c.queues = append(c.queues, &followerQueue{follower: f, wake: make(chan struct{}, 1), waiting: map[change]bool{}})
	}
	return c
}

// Heard is called by a postgres.Listener; the payload is "<room>/<user>" or
// "<room>/".
func (c *Changes) Heard(_ context.Context, payload string) {
	roomID, userID, _ := strings.Cut(payload, "/")
	for _, q := range c.queues {
		q.add(change{roomID, userID})
	}
}

// Missed is called by a postgres.Listener when it has connected.
func (c *Changes) Missed(context.Context) {
	for _, q := range c.queues {
		q.addMissed()
	}
}

// Run calls the followers until ctx ends. It returns when the last call has
// returned.
func (c *Changes) Run(ctx context.Context) {
	var work sync.WaitGroup
	for _, q := range c.queues {
		work.Go(func() { q.run(ctx) })
	}
	work.Wait()
}

func (q *followerQueue) add(one change) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.missed || q.waiting[one] {
		return
	}
	if len(q.queue) >= maxChanges {
		q.forget()
		return
	}
	q.queue, q.waiting[one] = append(q.queue, one), true
	q.signal()
}

func (q *followerQueue) addMissed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget()
}

// forget replaces all waiting changes by one call of Missed.
func (q *followerQueue) forget() {
	q.queue, q.missed = nil, true
	clear(q.waiting)
	q.signal()
}

func (q *followerQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes and returns the waiting changes. So a change that commits while the follower
// works is added again.
func (q *followerQueue) take() (queue []change, missed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue, missed = q.queue, q.missed
	q.queue, q.missed = nil, false
	clear(q.waiting)
	return queue, missed
}

func (q *followerQueue) run(ctx context.Context) {
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			return
		}
		queue, missed := q.take()
		if missed {
			q.follower.Missed(ctx)
		}
		for _, one := range queue {
			if ctx.Err() != nil {
				return
			}
			q.follower.RoomChanged(ctx, one.roomID, one.userID)
		}
	}
}
