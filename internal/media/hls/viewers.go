package hls

import (
	"sync"
	"time"
)

// viewer is a player that loads playlists.
type viewer struct {
	last time.Time // when it last began or ended to load one
	open int       // loads that are under way
}

// audience counts the players of a stream. Beyond the limit players are served
// but not counted, so that who begins one session after the other costs no memory.
type audience struct {
	limit  int
	report func(delta int)

	mu     sync.Mutex
	seen   map[uint64]*viewer
	closed bool
}

// enter notes that a player begins to load a playlist.
func (a *audience) enter(id uint64, now time.Time) {
	a.mu.Lock()
	v := a.seen[id]
	added := v == nil && len(a.seen) < a.limit && !a.closed
	if added {
		v = &viewer{}
		a.seen[id] = v
	}
	if v != nil {
		v.last = now
		v.open++
	}
	a.mu.Unlock()
	if added {
		a.report(1)
	}
}

// leave notes that the load has ended.
func (a *audience) leave(id uint64, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if v := a.seen[id]; v != nil && v.open > 0 {
		v.last = now
		v.open--
	}
}

// sweep forgets players that have loaded nothing for longer than patience.
func (a *audience) sweep(now time.Time, patience time.Duration) {
	gone := 0
	a.mu.Lock()
	for id, v := range a.seen {
		if v.open == 0 && now.Sub(v.last) > patience {
			delete(a.seen, id)
			gone++
		}
	}
	a.mu.Unlock()
	if gone > 0 {
		a.report(-gone)
	}
}

// close forgets all players and counts no more.
func (a *audience) close() {
	a.mu.Lock()
	gone := len(a.seen)
	clear(a.seen)
	a.closed = true
	a.mu.Unlock()
	if gone > 0 {
		a.report(-gone)
	}
}
