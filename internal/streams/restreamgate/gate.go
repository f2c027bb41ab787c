// Package restreamgate connects the engine that forwards streams, which knows hosts and packets, with the restream area, which knows
// tenants.
package restreamgate

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	engine "showfloor/internal/media/restream"
	"showfloor/internal/media/rtmpurl"
	"showfloor/internal/streams/restream"
)

const (
	// pollEvery is the interval at which the engine is compared with the database, in case a notification was lost. The state of
	// connections is stored as often.
	pollEvery = 5 * time.Second
	// idlePolls is how many of these intervals pass between two comparisons while the engine has no routes.
	idlePolls = 3
	// queryTime bounds one query.
	queryTime = 5 * time.Second
)

// Gate implements the engine's Reports, and starts and ends its routes as the database wants it.
type Gate struct {
	area func() *restream.Service
	log  *slog.Logger

	// mu makes a look into the database and the change of the engine one step, so that an older look can't undo a newer one.
	mu     sync.Mutex
	engine *engine.Engine

	// unsure is true after a query that failed: the engine may lack routes.
	unsure atomic.Bool
}

// New makes a Gate. area is late, because it is created after the media plane. Connect must be called before all other methods.
func New(area func() *restream.Service, log *slog.Logger) *Gate { return &Gate{area: area, log: log} }

// Connect sets the engine, which needs the Gate itself.
func (g *Gate) Connect(e *engine.Engine) { g.engine = e }

// Changed is called when the routes of a stream have changed, or the stream is on air on a node.
func (g *Gate) Changed(ctx context.Context, streamID string) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	list, err := g.area().Wanted(ctx, streamID)
	if err != nil {
		g.unsure.Store(true)
		g.log.Warn("could not check where a stream is to be forwarded", "stream", streamID, "error", err)
		return // the next poll repeats it
	}
	g.engine.Set(streamID, routesOf(list)[streamID])
}

// Poll compares all routes with the database.
func (g *Gate) Poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	list, err := g.area().WantedHere(ctx)
	g.unsure.Store(err != nil)
	if err != nil {
		if ctx.Err() == nil {
			g.log.Warn("could not check which streams are to be forwarded", "error", err)
		}
		return
	}
	wanted := routesOf(list)
	for streamID, routes := range wanted {
		g.engine.Set(streamID, routes)
	}
	for _, streamID := range g.engine.Streams() {
		if _, is := wanted[streamID]; !is {
			g.engine.Set(streamID, nil)
		}
	}
}

func routesOf(list []restream.Want) map[string][]engine.Route {
	routes := map[string][]engine.Route{}
	for _, w := range list {
		routes[w.StreamID] = append(routes[w.StreamID], engine.Route{
			ID: w.RouteID, StreamID: w.StreamID, Address: w.Address, Reached: w.Reached, LostAt: w.LostAt,
		})
	}
	return routes
}

// Watch polls and stores the state of connections, until ctx ends.
func (g *Gate) Watch(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
			if n%idlePolls != 0 && len(g.engine.Streams()) == 0 && !g.unsure.Load() {
				continue
			}
			g.Poll(ctx)
			g.share(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// share stores the state of this node's connections.
func (g *Gate) share(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	var list []restream.Health
	for _, h := range g.engine.Health() {
		list = append(list, restream.Health(h))
	}
	// Two nodes may report on one route while its stream moves: a common order prevents a deadlock.
	slices.SortFunc(list, func(a, b restream.Health) int { return cmp.Compare(a.RouteID, b.RouteID) })
	if err := g.area().SaveHealth(ctx, list); err != nil && ctx.Err() == nil {
		g.log.Warn("the state of restream routes could not be stored", "error", err)
	}
}

// Live implements the engine's Reports.
func (g *Gate) Live(ctx context.Context, routeID string) error {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	return g.area().RouteLive(ctx, routeID)
}

// Failed implements the engine's Reports.
func (g *Gate) Failed(ctx context.Context, routeID, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	return g.area().RouteFailed(ctx, routeID, reason)
}

// Probe implements restream.Prober.
func (g *Gate) Probe(ctx context.Context, a rtmpurl.Address) restream.Probed {
	got := g.engine.Probe(ctx, a)
	p := restream.Probed{Answer: got.Answer, KeyAccepted: got.KeyAccepted, Message: got.Message, Took: got.Took}
	for _, s := range got.Steps {
		p.Steps = append(p.Steps, restream.ProbeStep(s))
	}
	return p
}
