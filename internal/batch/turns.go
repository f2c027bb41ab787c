package batch

import "sync"

// Turns lets those who want the same thing have it one after the other. Things
// don't wait for each other, and one that nobody wants is forgotten. The zero value
// is ready.
type Turns[K comparable] struct {
	mu   sync.Mutex
	held map[K]*turn
}

type turn struct {
	sync.Mutex

	users int
}

// Hold waits for the turn at each of the keys, which end with release. Whoever
// holds several names them in one order, as locks are taken, and none twice.
func (t *Turns[K]) Hold(keys ...K) (release func()) {
	for _, key := range keys {
		t.join(key).Lock()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, key := range keys {
			one := t.held[key]
			one.Unlock()
			if one.users--; one.users == 0 {
				delete(t.held, key)
			}
		}
	}
}

// join counts one more who wants a key.
func (t *Turns[K]) join(key K) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held == nil {
		t.held = map[K]*turn{}
	}
	one := t.held[key]
	if one == nil {
		one = &turn{}
		t.held[key] = one
	}
	one.users++
	return one
}
