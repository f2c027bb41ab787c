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

// sign returns the time since the last sign. Loads of one player may overlap, so now may be
// before the last one.
func (v *viewer) sign(now time.Time) time.Duration {
	d := now.Sub(v.last)
	if d <= 0 {
		return 0
	}
	v.last = now
	return d
}

// audience counts the players of a stream. Beyond the limit players are served
// but not counted, so that who begins one session after the other costs no memory.
type audience struct {
	limit  int
	report func(delta int)
	// watched adds the time from a player's last sign to this one. Signs are the beginning and
	// the end of each load, so a player's times add up to that from its first sign to its last.
	watched func(d time.Duration)

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
		v = &viewer{last: now}
		a.seen[id] = v
	}
	if v != nil {
		a.watched(v.sign(now))
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
		a.watched(v.sign(now))
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

// close forgets all players and counts no more. Loads that are under way end now.
func (a *audience) close(now time.Time) {
	a.mu.Lock()
	gone := len(a.seen)
	for _, v := range a.seen {
		if v.open > 0 {
			a.watched(v.sign(now))
		}
	}
	clear(a.seen)
	a.closed = true
	a.mu.Unlock()
	if gone > 0 {
		a.report(-gone)
	}
}
