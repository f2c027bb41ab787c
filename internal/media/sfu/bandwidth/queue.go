package bandwidth

import "math"

// span in µs after which a path may have become another one, so that its shortest
// delay is looked for anew.
const span = 10_000_000

// queue is how long packets wait on the path: how much later they come than the
// fastest one of the last while.
type queue struct {
	begun             int64
	fastest, previous int64 // µs between two clocks
	now               int64
	known             bool
	cuts              int // of the rate, since it stands
}

// report takes the fastest packet of a report.
func (q *queue) report(fastest, now int64) {
	switch {
	case !q.known, fastest-q.now > 2*span, q.now-fastest > 2*span: // or another clock
		*q = queue{begun: now, fastest: fastest, previous: math.MaxInt64, known: true}
	case now-q.begun > span:
		q.begun, q.previous, q.fastest = now, q.fastest, fastest
	default:
		q.fastest = min(q.fastest, fastest)
	}
	q.now = fastest
}

// wait is how long the fastest packet of the last report waited, in µs.
func (q *queue) wait() int64 { return q.now - min(q.fastest, q.previous) }

const (
	// standing is a wait in µs at which a queue is to be emptied, though it grows no
	// more.
	standing = 100_000
	// mostCuts is how often that is tried before the wait is taken for the path's.
	mostCuts = 5
)

// stands says whether a lower rate is to empty the queue.
func (q *queue) stands() bool {
	if q.wait() < standing {
		q.cuts = 0
		return false
	}
	return true
}

// cut notes that the rate was lowered for it.
func (q *queue) cut() {
	if q.cuts++; q.cuts > mostCuts {
		*q = queue{} // nothing came of it: the path has become longer
	}
}
