package account

import (
	"sync"
	"time"

	"showfloor/internal/base/problem"
)

const (
	// maxWait is the expected wait for a worker above which a login is refused. It is
	// well below a request's deadline: a login that times out in the queue has taken a
	// place for nothing.
	maxWait = 2 * time.Second
	// firstAverage stands for a hash's duration before any was measured.
	firstAverage = 50 * time.Millisecond
	// averageOver is the number of hashes after which an old duration has little weight.
	averageOver = 8
)

// loginQueue estimates how long a login waits for a worker: the number of waiting logins
// times the moving average of a hash's duration, divided by the number of workers. On a
// busy machine hashes take longer, and fewer logins may wait.
type loginQueue struct {
	workers int

	mu      sync.Mutex // protects waiting and average
	waiting int
	average time.Duration
}

func errTooManyLogins() error {
	return problem.Limited(time.Second, "too many logins at the moment; try again in a second")
}

// ready returns the problem with which join would refuse.
func (q *loginQueue) ready() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.check()
}

// join adds a login to those that wait, unless it would wait for too long. Call leave
// when it no longer waits.
func (q *loginQueue) join() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.check(); err != nil {
		return err
	}
	q.waiting++
	return nil
}

func (q *loginQueue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
}

// observe adds a hash's duration to the average.
func (q *loginQueue) observe(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.average += (d - q.average) / averageOver
}

// check refuses by the expected wait; the caller holds mu. The first in the queue
// waits for none, so slow hashes never stop all logins.
func (q *loginQueue) check() error {
	if time.Duration(q.waiting)*q.average/time.Duration(q.workers) > maxWait {
		return errTooManyLogins()
	}
	return nil
}
