package auction

import (
	"context"
	"sync"

	"showfloor/internal/batch"
)

// mostBids bounds how many bids one transaction decides.
const mostBids = 100

// lane is the way to one auction.
type lane struct{ tenantID, auctionID string }

// queue is the bids that are on the way to one auction.
type queue struct {
	bids  *batch.Batcher[*offer, verdict]
	users int
}

// lanes let the bids for an auction that come while others are decided be decided
// together afterwards: one wait for the row's lock and one commit for all of them,
// and one connection of the pool for an auction, however hot. Auctions don't wait
// for each other.
type lanes struct {
	mu   sync.Mutex
	open map[lane]*queue
}

// enter is the queue of a lane, which is made by the first and closed by the last
// who uses it.
func (l *lanes) enter(key lane, decide func(context.Context, []*offer) ([]verdict, error)) (q *queue, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q = l.open[key]
	if q == nil {
		q = &queue{bids: batch.New(mostBids, decide)}
		l.open[key] = q
	}
	q.users++
	return q, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if q.users--; q.users == 0 {
			delete(l.open, key)
		}
	}
}
