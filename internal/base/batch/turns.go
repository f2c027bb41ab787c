package batch

import (
	"context"
	"sync"
)

// Turns is a set of locks by key. A key that no caller has locked or waits for
// takes no memory. The zero value is ready.
type Turns[K comparable] struct {
	mu    sync.Mutex
	turns map[K]*turn
}

// turn is the lock of one key. Its channel holds a token while a caller has the lock.
type turn struct {
	taken chan struct{}
	users int
}

// Take waits for the caller's turn at all of the keys; release ends the turn.
// If ctx ends first, Take returns its error and the caller has no key.
// Callers with several keys must pass them in one global order, like locks,
// without duplicates.
func (t *Turns[K]) Take(ctx context.Context, keys ...K) (release func(), err error) {
	for i, key := range keys {
		select {
		case t.join(key).taken <- struct{}{}:
		case <-ctx.Done():
			t.leave(key, false)
			t.release(keys[:i])
			return nil, ctx.Err()
		}
	}
	return func() { t.release(keys) }, nil
}

// join counts one more caller that has or waits for a key's turn.
func (t *Turns[K]) join(key K) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turns == nil {
		t.turns = map[K]*turn{}
	}
	one := t.turns[key]
	if one == nil {
		one = &turn{taken: make(chan struct{}, 1)}
		t.turns[key] = one
	}
	one.users++
	return one
}

// leave counts one caller less that waited for a key, or had it.
func (t *Turns[K]) leave(key K, had bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.turns[key]
	if had {
		<-one.taken
	}
	if one.users--; one.users == 0 {
		delete(t.turns, key)
	}
}

func (t *Turns[K]) release(keys []K) {
	for _, key := range keys {
		t.leave(key, true)
	}
}
