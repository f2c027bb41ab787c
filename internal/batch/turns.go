package batch

import "sync"

// Turns lets callers hold a key one after the other. Keys don't wait for each
// other, and a key that no caller holds or waits for takes no memory. The zero
// value is ready.
type Turns[K comparable] struct {
	mu   sync.Mutex
	held map[K]*turn
}

type turn struct {
	sync.Mutex

	users int
}

// Hold waits until the caller holds all of the keys; release ends the hold.
// Callers with several keys must pass them in one global order, like locks,
// without duplicates.
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

// join counts one more caller that holds or waits for a key.
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
