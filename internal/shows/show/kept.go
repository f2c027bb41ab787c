package show

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"showfloor/internal/base/problem"
	"showfloor/internal/base/stored"
)

const (
	// keepFor is how long an answer is kept, as Cache-Control of the answers says.
	keepFor = time.Second
	// maxKept is the number of answers of a kind that are kept at the same time; the oldest makes room.
	maxKept = 1000
	// loadTime is the deadline of a read that many callers share.
	loadTime = 10 * time.Second
)

// kept reads values by id and keeps each for keepFor. One caller reads while the others with the same id wait, so that all phones
// that open a show at its start cost one read a second. Problems are kept too, so that an unknown id costs no more.
type kept[T any] struct {
	now   func() time.Time
	load  func(ctx context.Context, id string) (T, error)
	reads singleflight.Group

	mu      sync.Mutex
	answers map[string]answer[T]
	// order has the ids in the order in which their answers were stored.
	order []stamp
}

// answer is what a read returned.
type answer[T any] struct {
	value T
	err   error
	at    time.Time
}

// stamp is when an answer was stored.
type stamp struct {
	id string
	at time.Time
}

func keep[T any](now func() time.Time, load func(ctx context.Context, id string) (T, error)) *kept[T] {
	return &kept[T]{now: now, load: load, answers: map[string]answer[T]{}}
}

// get returns the kept value, or reads it. If ctx ends, get returns its error, and the read goes on for the other callers.
func (k *kept[T]) get(ctx context.Context, id string) (value T, err error) {
	if a, ok := k.find(id); ok {
		return a.value, a.err
	}
	read := k.reads.DoChan(id, func() (any, error) {
		if a, ok := k.find(id); ok { // stored after this caller has looked
			return a, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(stored.Without(ctx)), loadTime)
		defer cancel()
		a := answer[T]{at: k.now()}
		a.value, a.err = k.loadSafely(ctx, id)
		if _, isProblem := problem.As(a.err); isProblem || a.err == nil {
			k.store(id, a)
		}
		return a, nil
	})
	select {
	case r := <-read:
		a, ok := r.Val.(answer[T])
		if !ok {
			return value, fmt.Errorf("a shared read returned %T", r.Val)
		}
		return a.value, a.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// loadSafely returns a panic as an error: in singleflight's goroutine it would end the process.
func (k *kept[T]) loadSafely(ctx context.Context, id string) (value T, err error) {
	defer recovered(&err)
	return k.load(ctx, id)
}

func (k *kept[T]) find(id string) (answer[T], bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a, ok := k.answers[id]
	return a, ok && k.isFresh(a.at)
}

func (k *kept[T]) isFresh(at time.Time) bool { return k.now().Sub(at) < keepFor }

// store keeps an answer and removes those that are too old, or too many.
func (k *kept[T]) store(id string, a answer[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.order) > 0 && (len(k.order) >= maxKept || !k.isFresh(k.order[0].at)) {
		oldest := k.order[0]
		k.order = k.order[1:]
		if k.answers[oldest.id].at.Equal(oldest.at) {
			delete(k.answers, oldest.id)
		}
	}
	k.answers[id], k.order = a, append(k.order, stamp{id, a.at})
}
