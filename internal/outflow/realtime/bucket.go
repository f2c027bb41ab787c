package realtime

import (
	"sync"
	"time"
)

// bucket is the rate limiter of one connection: a token bucket that counts in
// whole units.
type bucket struct {
	perSecond, burst float64

	mu   sync.Mutex
	left float64
	at   time.Time
}

func newBucket(perSecond, burst float64) *bucket {
	return &bucket{perSecond: perSecond, burst: burst, left: burst}
}

// take takes up to n units and returns how many were available.
func (b *bucket) take(now time.Time, n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.at.IsZero() {
		b.left = min(b.burst, b.left+max(0, now.Sub(b.at).Seconds())*b.perSecond)
	}
	b.at = now
	got := min(n, int(b.left))
	b.left -= float64(got)
	return got
}
