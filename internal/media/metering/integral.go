package metering

import (
	"sync"
	"time"
)

// integral sums a number over time: a viewer who stays for 10 s and two who stay for
// 5 s make 20 s. It is exact whenever it is read. The number is 0 at first.
type integral struct {
	mu     sync.Mutex
	number int64
	since  time.Time
	micros int64 // up to since
}

// set makes n the number from now on.
func (i *integral) set(n int, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.advance(now)
	i.number = int64(n)
}

// until returns the sum up to now, in µs. 63 bits hold 100,000 viewers over two years.
func (i *integral) until(now time.Time) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.advance(now)
	return i.micros
}

// advance adds the time up to now. A clock that is put back adds nothing until it has
// caught up, so no time counts twice.
func (i *integral) advance(now time.Time) {
	if d := now.Sub(i.since); d > 0 {
		i.micros += i.number * d.Microseconds()
		i.since = now
	}
}
