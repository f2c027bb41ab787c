package hls

import (
	"context"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/mediahttp"
)

// viewer is a player that loads playlists.
type viewer struct {
	last    time.Time  // when the last load of a playlist began or ended
	open    int        // running loads
	network netip.Addr // network of the first load; zero: another node has reported the player
	placed  bool       // counted in its network
}

// sign returns the time since the last sign. Loads of one player may overlap, so now may be
// before the last sign.
func (v *viewer) sign(now time.Time) time.Duration {
	d := now.Sub(v.last)
	if d <= 0 {
		return 0
	}
	v.last = now
	return d
}

// audience counts the players of a stream. Beyond limit, and beyond perNetwork in one network,
// players with a session are served but not counted, so that they use no memory.
type audience struct {
	limit, perNetwork int
	// refused counts sessions that were refused because their network has too many.
	refused *atomic.Uint64
	report  func(delta int)
	// places admits the viewers of tenantID; nil admits all.
	places   Viewers
	tenantID string
	// watched adds the time from a player's last sign to the current one. Signs are the start and
	// the end of each load, so a player's times add up to the time from its first sign to its
	// last.
	watched func(d time.Duration)

	mu       sync.Mutex
	seen     map[uint64]*viewer
	networks map[netip.Addr]*clients
	closed   bool
}

func (s *Server) newAudience(report func(delta int), watched func(d time.Duration)) audience {
	return audience{
		limit: s.config.MaxViewers, perNetwork: s.config.NetworkViewers, refused: &s.refused, report: report, watched: watched,
		seen: map[uint64]*viewer{}, networks: map[netip.Addr]*clients{},
	}
}

// enter records that a player begins to load a playlist.
func (a *audience) enter(id uint64, network netip.Addr, now time.Time) {
	a.mu.Lock()
	v := a.seen[id]
	added := v == nil && a.add(id, network, now)
	if added {
		v = a.seen[id]
	}
	if v != nil {
		a.watched(v.sign(now))
		a.place(v)
		v.open++
	}
	a.mu.Unlock()
	switch {
	case added && a.places != nil:
		a.places.Count(a.tenantID, viewerName(id), func() { a.report(1) })
	case added:
		a.report(1)
	}
}

// viewerName is the name of a viewer for Viewers.
func viewerName(id uint64) string { return strconv.FormatUint(id, 36) }

// reserve asks for a place for a new viewer of the tenant.
func (a *audience) reserve(ctx context.Context, viewer string, network netip.Addr) *mediahttp.Problem {
	if a.places == nil {
		return nil
	}
	refusal := a.places.Admit(ctx, a.tenantID, viewer, network)
	if refusal == "" {
		return nil
	}
	p := mediahttp.Refuse(http.StatusForbidden, "plan_limit", refusal)
	p.Passing = true
	return p
}

// add counts a player unless a limit is reached; the caller holds mu.
func (a *audience) add(id uint64, network netip.Addr, now time.Time) bool {
	if a.closed || len(a.seen) >= a.limit {
		return false
	}
	if network.IsValid() {
		c := a.clientsOf(network)
		if c == nil || c.viewers >= a.perNetwork {
			return false
		}
	}
	a.seen[id] = &viewer{last: now, network: network}
	return true
}

// place counts a player in its network, also beyond the network's limit: it may have been away
// for so long that it wasn't counted any more. The caller holds mu.
func (a *audience) place(v *viewer) {
	if v.placed || !v.network.IsValid() {
		return
	}
	if c := a.clientsOf(v.network); c != nil {
		c.viewers++
		v.placed = true
	}
}

// displace ends the count of a player in its network; the caller holds mu.
func (a *audience) displace(v *viewer) {
	if v.placed {
		a.networks[v.network].viewers--
		v.placed = false
	}
}

// leave records that the load has ended.
func (a *audience) leave(id uint64, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if v := a.seen[id]; v != nil && v.open > 0 {
		a.watched(v.sign(now))
		v.open--
	}
}

// sweep removes players that have loaded nothing for longer than patience. After inNetwork they
// no longer count in their networks.
func (a *audience) sweep(now time.Time, patience, inNetwork time.Duration) {
	gone := 0
	a.mu.Lock()
	for id, v := range a.seen {
		if v.open > 0 {
			continue
		}
		idle := now.Sub(v.last)
		if idle > inNetwork || idle > patience {
			a.displace(v)
		}
		if idle > patience {
			delete(a.seen, id)
			gone++
		}
	}
	for network, c := range a.networks {
		if c.idle(now) {
			delete(a.networks, network)
		}
	}
	a.mu.Unlock()
	if gone > 0 {
		a.report(-gone)
	}
}

// close removes all players and counts no more. Running loads count as ended.
func (a *audience) close(now time.Time) {
	a.mu.Lock()
	gone := len(a.seen)
	for _, v := range a.seen {
		if v.open > 0 {
			a.watched(v.sign(now))
		}
	}
	clear(a.seen)
	clear(a.networks)
	a.closed = true
	a.mu.Unlock()
	if gone > 0 {
		a.report(-gone)
	}
}
