package hls

import "time"

const (
	// remotePatience is how long a viewer of another node's stream may load no playlist before the
	// edge drops it. The stream's node decides when a viewer has left.
	remotePatience = 40 * time.Second
	// remoteInNetwork is how long such a viewer counts in its network: as long as at the stream's
	// node with segments of 4 s, so that viewers who reload a page find room.
	remoteInNetwork = 14 * time.Second
	// reportPatience is how long a stream without viewers is kept while its node has not confirmed
	// all bytes.
	reportPatience = 2 * time.Minute
)

// recent returns the viewers that loaded a playlist since a time, or are loading one.
func (a *audience) recent(since time.Time) []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []uint64
	for id, v := range a.seen {
		if v.open > 0 || v.last.After(since) {
			list = append(list, id)
		}
	}
	return list
}

// sweep removes viewers, streams and answers that are no longer used.
func (e *edge) sweep(now time.Time) {
	e.cache.sweep()
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, l := range e.places {
		if !l.until.IsZero() && now.After(l.until) {
			delete(e.places, id)
		}
	}
	for id, r := range e.remotes {
		r.viewers.sweep(now, remotePatience, remoteInNetwork)
		patience := remotePatience
		if r.settled.Load() < r.sent.Load() {
			patience = reportPatience
		}
		if now.Sub(r.used) > patience && r.count.Load() == 0 && r.waiting.Taken() == 0 {
			delete(e.remotes, id)
		}
	}
	for node, slots := range e.slots {
		if len(slots) == 0 {
			delete(e.slots, node)
		}
	}
	e.tallies.sweep(now)
}
