package mediagate

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/stream"
)

const (
	// limitAge is how long a tenant's limit of viewers, and their number on other nodes, is cached.
	limitAge = 2 * time.Second
	// limitTime is how long a new viewer waits for the database at most. Then the limit that was read last applies.
	limitTime = 2 * time.Second
	// placeTime is how long a place stays reserved for a player that has loaded index.m3u8 but no playlist yet. The number of a
	// room's viewers reaches the stream within 250 ms, so a place in a room is reserved for peerTime only.
	placeTime = 10 * time.Second
	peerTime  = 500 * time.Millisecond
	// maxCrowds is the number of tenants whose limit is cached.
	maxCrowds = 10_000
	// While a tenant has more than half of its viewers, the places that one network reserves without loading a playlist are a
	// networkPart of the limit at most, but leastPlaces. Otherwise a single client could hold all places.
	networkPart = 10
	leastPlaces = 20
)

// Viewers admits new viewers of tenants' streams, by HLS and in rooms, as long as the plan allows more. On the node that has the
// streams, the number is exact: a place is reserved from the admission until the viewer is counted. The numbers of other nodes,
// and of players on SRS servers, are up to limitAge older than what these nodes have written. Viewers never removes a viewer.
type Viewers struct {
	streams func() *stream.Service
	hub     func() *hub.Hub
	now     func() time.Time
	log     *slog.Logger

	mu     sync.Mutex
	crowds map[string]*crowd
}

var _ hls.Viewers = (*Viewers)(nil)

// crowd is what is known of a tenant's viewers.
type crowd struct {
	limit stream.ViewerLimit
	// read is when limit was read; zero: never. reading is not nil while it is being read, and is closed afterwards.
	read    time.Time
	reading chan struct{}
	// places are the reserved places, by viewer, with the time until which they are reserved.
	places map[string]place
}

// place is reserved until a time for a client of a network.
type place struct {
	until   time.Time
	network netip.Addr
}

// NewViewers returns the gate. streams and hub are called when it is used.
func NewViewers(streams func() *stream.Service, h func() *hub.Hub, now func() time.Time, log *slog.Logger) *Viewers {
	return &Viewers{streams: streams, hub: h, now: now, log: log, crowds: map[string]*crowd{}}
}

// Admit implements hls.Viewers.
func (v *Viewers) Admit(ctx context.Context, tenantID, viewer string, network netip.Addr) (refusal string) {
	return v.admit(ctx, tenantID, viewer, network, placeTime, 0)
}

// AdmitPeer does the same for a connection to a room, whose place is given back within a second. watches is set for a viewer
// that is counted as a player of the stream already.
func (v *Viewers) AdmitPeer(ctx context.Context, tenantID, connID string, watches bool) (refusal string) {
	own := int64(0)
	if watches {
		own = 1
	}
	return v.admit(ctx, tenantID, connID, netip.Addr{}, peerTime, own)
}

// Count implements hls.Viewers.
func (v *Viewers) Count(tenantID, viewer string, count func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c := v.crowds[tenantID]; c != nil {
		delete(c.places, viewer)
	}
	count()
}

// admit reserves a place for some time. own is the number of counted viewers that the new one replaces.
func (v *Viewers) admit(ctx context.Context, tenantID, viewer string, network netip.Addr, reserve time.Duration, own int64) string {
	c := v.crowd(ctx, tenantID)
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	reserved := int64(0)
	for name, p := range c.places {
		switch {
		case !p.until.After(now):
			delete(c.places, name)
		case network.IsValid() && p.network == network:
			reserved++
		}
	}
	switch have := int64(v.hub().Viewers(tenantID)+len(c.places)) + c.limit.Elsewhere - own; {
	case c.read.IsZero():
		return "" // the database is away, and viewers don't need it otherwise
	case c.limit.Blocked != "":
		return c.limit.Blocked
	case have >= c.limit.Most:
		return c.limit.Full
	case have > c.limit.Most/2 && reserved >= max(leastPlaces, c.limit.Most/networkPart):
		return "too many players of your network load this stream without playing it; try again in some seconds"
	}
	if viewer != "" {
		c.places[viewer] = place{now.Add(reserve), network}
	}
	return ""
}

// crowd returns a tenant's entry. It reads the limit if that is too old; callers at the same time share one query.
func (v *Viewers) crowd(ctx context.Context, tenantID string) *crowd {
	v.mu.Lock()
	c := v.crowds[tenantID]
	if c == nil {
		if len(v.crowds) >= maxCrowds {
			v.crowds = map[string]*crowd{}
		}
		c = &crowd{places: map[string]place{}}
		v.crowds[tenantID] = c
	}
	if !c.read.IsZero() && v.now().Sub(c.read).Abs() < limitAge {
		v.mu.Unlock()
		return c
	}
	reading := c.reading
	first := reading == nil
	if first {
		reading = make(chan struct{})
		c.reading = reading
	}
	v.mu.Unlock()
	if first {
		// Others wait for the answer, so it doesn't end with this viewer's request.
		v.read(context.WithoutCancel(ctx), tenantID, c)
	}
	select {
	case <-reading:
	case <-ctx.Done():
	}
	return c
}

// read reads a tenant's limit.
func (v *Viewers) read(ctx context.Context, tenantID string, c *crowd) {
	ctx, cancel := context.WithTimeout(ctx, limitTime)
	defer cancel()
	limit, err := v.streams().GetViewerLimit(ctx, tenantID)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.log.Warn("the limit of viewers can't be read; the last one applies", "tenant", tenantID, "error", err)
	} else {
		c.limit, c.read = limit, v.now()
	}
	close(c.reading)
	c.reading = nil
}
