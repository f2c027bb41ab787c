package bandwidth

import "math"

// span is the time in µs after which the shortest delay is determined again, since the path may
// have changed.
const span = 10_000_000

// queue measures how long packets are queued on the path: their delay, less that of the fastest
// packet of the last one to two spans.
type queue struct {
	begun             int64
	fastest, previous int64 // µs, difference of two clocks
	now               int64
	known             bool
	cuts              int // cuts of the rate since the queue stands
}

// report handles the delay of the fastest packet of a report.
func (q *queue) report(fastest, now int64) {
	switch {
	case !q.known, fastest-q.now > 2*span, q.now-fastest > 2*span: // or the clock has changed
		*q = queue{begun: now, fastest: fastest, previous: math.MaxInt64, known: true}
	case now-q.begun > span:
		q.begun, q.previous, q.fastest = now, q.fastest, fastest
	default:
		q.fastest = min(q.fastest, fastest)
	}
	q.now = fastest
}

// wait is how long the fastest packet of the last report was queued, in µs.
func (q *queue) wait() int64 { return q.now - min(q.fastest, q.previous) }

const (
	// maxQueueDelay is the queueing delay in µs at which a queue is to be emptied, even if it no
	// longer grows.
	maxQueueDelay = 100_000
	// maxCuts is how often that is tried before the delay is taken for the path's own.
	maxCuts = 5
)

// stands reports whether the rate must be lowered to empty the queue.
func (q *queue) stands() bool {
	if q.wait() < maxQueueDelay {
		q.cuts = 0
		return false
	}
	return true
}

// cut records that the rate was lowered for that.
func (q *queue) cut() {
	if q.cuts++; q.cuts > maxCuts {
		*q = queue{} // it had no effect: the path's own delay has increased
	}
}
