package batch

import (
	"context"
	"sync"
)

// Lanes are batchers by key, made when they are needed: questions about one thing
// that come while others about it are being answered are answered together
// afterwards. So one thing, however hot, takes one connection of the pool, one
// wait for its row's lock and one commit for all who wait. Things don't wait for
// each other.
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

// NewLanes makes Lanes on a query that answers all of in about one key, in the
// same order; most bounds how many that are.
func NewLanes[K comparable, In, Out any](most int, query func(ctx context.Context, key K, in []In) ([]Out, error)) *Lanes[K, In, Out] {
	return &Lanes[K, In, Out]{most: most, query: query, open: map[K]*lane[In, Out]{}}
}

// Do answers one question about a key, as Batcher.Do does. A context that ends
// leaves the question to be answered unheard: what has to be seen through to its
// end is given one that doesn't.
func (l *Lanes[K, In, Out]) Do(ctx context.Context, key K, in In) (Out, error) {
	b, leave := l.enter(key)
	defer leave()
	return b.Do(ctx, in)
}

// enter is the lane of a key, which is made by the first and closed by the last
// who uses it.
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
