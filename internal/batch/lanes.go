package batch

import (
	"context"
	"sync"
)

// Lanes are Batchers by key, created on demand. Questions about one key that
// arrive while others about it are being answered share the next query. So a busy
// key uses one connection of the pool, and all its callers share one wait for its
// row's lock and one commit. Keys don't wait for each other.
type Lanes[K comparable, In, Out any] struct {
	most  int
	query func(ctx context.Context, key K, in []In) ([]Out, error)

	mu   sync.Mutex
	open map[K]*lane[In, Out]
}

type lane[In, Out any] struct {
	*Batcher[In, Out]
	users int
}

// NewLanes makes Lanes. query answers all of in about one key, in the same order;
// most is the maximum length of in.
func NewLanes[K comparable, In, Out any](most int, query func(ctx context.Context, key K, in []In) ([]Out, error)) *Lanes[K, In, Out] {
	return &Lanes[K, In, Out]{most: most, query: query, open: map[K]*lane[In, Out]{}}
}

// Do answers one question about a key, as Batcher.Do does. If ctx ends, the query
// still runs, but its result is discarded, and a failed query isn't repeated for
// this question. Work that must be completed needs a context without cancellation.
func (l *Lanes[K, In, Out]) Do(ctx context.Context, key K, in In) (Out, error) {
	b, leave := l.enter(key)
	defer leave()
	return b.Do(ctx, in)
}

// enter returns the lane of a key. The first user creates it, the last one removes
// it.
func (l *Lanes[K, In, Out]) enter(key K) (b *Batcher[In, Out], leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.open[key]
	if one == nil {
		one = &lane[In, Out]{Batcher: New(l.most, func(ctx context.Context, in []In) ([]Out, error) {
			return l.query(ctx, key, in)
		})}
		l.open[key] = one
	}
	one.users++
	return one.Batcher, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.open, key)
		}
	}
}
