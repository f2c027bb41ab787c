package batch

import "sync"

// Turns is a set of locks by key. A key that no caller has locked or waits for
// takes no memory. The zero value is ready.
type Turns[K comparable] struct {
	mu    sync.Mutex
	turns map[K]*turn
}

type turn struct {
	sync.Mutex

	users int
}

// Take waits for the caller's turn at all of the keys; release ends the turn.
// Callers with several keys must pass them in one global order, like locks,
// without duplicates.
func (t *Turns[K]) Take(keys ...K) (release func()) {
	for _, key := range keys {
		t.join(key).Lock()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, key := range keys {
			one := t.turns[key]
			one.Unlock()
			if one.users--; one.users == 0 {
				delete(t.turns, key)
			}
		}
	}
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
		one = &turn{}
		t.turns[key] = one
	}
	one.users++
	return one
}
