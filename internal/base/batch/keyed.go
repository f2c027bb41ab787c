package batch

import (
	"context"
	"sync"
)

// Keyed has Batchers by key, each created on demand. Questions about one key that
// arrive while others about it are being answered share the next query. So a busy
// key uses one connection of the pool, and all its callers share one wait for its
// row's lock and one commit. Keys don't wait for each other.
type Keyed[K comparable, In, Out any] struct {
	most  int
	query func(ctx context.Context, key K, in []In) ([]Out, error)

	mu   sync.Mutex
	open map[K]*keyedBatcher[In, Out]
}

type keyedBatcher[In, Out any] struct {
	*Batcher[In, Out]
	users int
}

// NewKeyed makes a Keyed. query answers all of in about one key, in the same order;
// most is the maximum length of in.
func NewKeyed[K comparable, In, Out any](most int, query func(ctx context.Context, key K, in []In) ([]Out, error)) *Keyed[K, In, Out] {
	return &Keyed[K, In, Out]{most: most, query: query, open: map[K]*keyedBatcher[In, Out]{}}
}

// Do answers one question about a key, as Batcher.Do does. If ctx ends, the query
// still runs, but its result is discarded, and a failed query isn't repeated for
// this question. Work that must be completed needs a context without cancellation.
func (k *Keyed[K, In, Out]) Do(ctx context.Context, key K, in In) (Out, error) {
	b, leave := k.enter(key)
	defer leave()
	return b.Do(ctx, in)
}

// enter returns the Batcher of a key. The first user creates it, the last one removes
// it.
func (k *Keyed[K, In, Out]) enter(key K) (b *Batcher[In, Out], leave func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.open[key]
	if one == nil {
		one = &keyedBatcher[In, Out]{Batcher: New(k.most, func(ctx context.Context, in []In) ([]Out, error) {
			return k.query(ctx, key, in)
		})}
		k.open[key] = one
	}
	one.users++
	return one.Batcher, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(k.open, key)
		}
	}
}
