package hub

import (
	"sync"
	"time"
)

// rate sums bytes in buckets of one second. It is safe for concurrent use.
type rate struct {
	mu      sync.Mutex
	seconds [statsWindow + 1]int64
	bytes   [statsWindow + 1]int64
}

func (r *rate) add(now time.Time, n int) {
	second := now.Unix()
	i := uint64(second) % uint64(len(r.bytes))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seconds[i] != second {
		r.seconds[i], r.bytes[i] = second, 0
	}
	r.bytes[i] += int64(n)
}

// kbps averages over the complete seconds of the window before now, in kilobits per second.
func (r *rate) kbps(now time.Time) int {
	end := now.Unix()
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := int64(0)
	for i, second := range r.seconds {
		if second >= end-statsWindow && second < end {
			sum += r.bytes[i]
		}
	}
	return int(sum * 8 / 1000 / statsWindow)
}
