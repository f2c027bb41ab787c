package realtime

import (
	"sync"
	"time"
)

// bucket allows so many a second and some at once. It is one connection's, and
// counts in whole units.
type bucket struct {
	perSecond, burst float64

	mu   sync.Mutex
	left float64
	at   time.Time
}

func newBucket(perSecond, burst float64) *bucket {
	return &bucket{perSecond: perSecond, burst: burst, left: burst}
}

// take takes up to n and tells how many there were.
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
