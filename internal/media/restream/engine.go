// Package restream forwards streams on air to other platforms: it reads them from the hub and publishes them by RTMP or RTMPS. Each route
// has a forwarder with a connection, a queue and time-outs of its own, so a target harms neither the stream nor other targets.
package restream

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/rtmpurl"
)

// Reports receives what becomes of routes. A report is repeated until it returns nil, so it may arrive twice.
type Reports interface {
	// Live reports that the target accepted the stream for the first time.
	Live(ctx context.Context, routeID string) error
	// Failed reports that forwarding has ended with a reason for people. The reason holds no part of the address.
	Failed(ctx context.Context, routeID, reason string) error
}

// Dial connects to a host with a port. Errors are texts for people and hold no part of the address. An error with a method Permanent
// that returns true isn't tried again.
type Dial func(ctx context.Context, host string, secure bool) (net.Conn, error)

// Limits are the times of forwarders. The zero value of each is its default.
type Limits struct {
	// Step bounds each answer of a target, Write the sending of each 64 KiB: 10 s.
	Step, Write time.Duration
	// Finish bounds the end of a connection: 3 s.
	Finish time.Duration
	// Proof is how long a connection must stay open after the publish to count as accepted, if the target acknowledges nothing: 5 s.
	Proof time.Duration
	// Expiry is the time without an accepted connection after which a route fails: 10 min.
	Expiry time.Duration
	// Late is the age from which pictures are dropped up to the next key picture: 4 s.
	Late time.Duration
	// Report is the pause before a report is repeated: 2 s.
	Report time.Duration
	// Probe bounds a probe up to its result, 10 s, and Hold is how long a target must keep a probe's connection after the publish: 2 s.
	Probe, Hold time.Duration
}

func (l Limits) withDefaults() Limits {
	for d, least := range map[*time.Duration]time.Duration{
		&l.Step: 10 * time.Second, &l.Write: 10 * time.Second, &l.Finish: 3 * time.Second, &l.Proof: 5 * time.Second,
		&l.Expiry: 10 * time.Minute, &l.Late: 4 * time.Second, &l.Report: 2 * time.Second,
		&l.Probe: 10 * time.Second, &l.Hold: 2 * time.Second,
	} {
		if *d == 0 {
			*d = least
		}
	}
	return l
}

func (l Limits) sender() rtmp.SenderConfig {
	return rtmp.SenderConfig{Step: l.Step, Write: l.Write, Finish: l.Finish}
}

// Config of an Engine.
type Config struct {
	Reports Reports
	Dial    Dial
	// Stream returns a stream on air on this node.
	Stream func(id string) (*hub.Stream, bool)
	Limits Limits
	// Now is the clock for the time without success, time.Now by default.
	Now func() time.Time
	// Pause waits between two attempts; it returns an error when ctx ends. By default it uses a timer.
	Pause func(ctx context.Context, d time.Duration) error
	Log   *slog.Logger
}

// Route is the forwarding of a stream on air to one target.
type Route struct {
	ID, StreamID string
	Address      rtmpurl.Address
	// Reached: the target has accepted the stream before, perhaps on another node.
	Reached bool
	// LostAt is the time since which the target isn't reached; zero if it is, or wasn't tried yet.
	LostAt time.Time
}

// Engine runs the forwarders of this node.
type Engine struct {
	config Config
	// connected is the number of connections that media flow over.
	connected atomic.Int32
	began     time.Time // on the monotonic clock, not that of Config
	outcomes  [outcomeCount]atomic.Uint64
	sent      atomic.Uint64
	dropped   atomic.Uint64

	mu         sync.Mutex
	forwarders map[string]*forwarder // by route
	closed     bool
	work       sync.WaitGroup
}

// New returns an Engine without routes.
func New(c Config) *Engine {
	c.Limits = c.Limits.withDefaults()
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Pause == nil {
		c.Pause = pause
	}
	return &Engine{config: c, began: time.Now(), forwarders: map[string]*forwarder{}}
}

// Set makes routes the only ones of a stream: new ones start, missing ones end. A running route whose address has changed ends
// its connection and connects to the new one. A stream that isn't on air here has no routes.
func (e *Engine) Set(streamID string, routes []Route) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, onAir := e.config.Stream(streamID)
	wanted := map[string]Route{}
	if onAir && !e.closed {
		for _, r := range routes {
			wanted[r.ID] = r
		}
	}
	for id, f := range e.forwarders {
		if r, keep := wanted[id]; f.streamID == streamID && (!keep || f.stream != s) {
			f.stop()
			delete(e.forwarders, id)
		} else if keep {
			f.setAddress(r.Address)
		}
	}
	for id, r := range wanted {
		if e.forwarders[id] == nil {
			f := newForwarder(e, s, r)
			e.forwarders[id] = f
			e.work.Go(func() { f.run(); e.forget(f) })
		}
	}
}

// Streams returns the ids of the streams with running routes.
func (e *Engine) Streams() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := map[string]bool{}
	var ids []string
	for _, f := range e.forwarders {
		if !seen[f.streamID] {
			seen[f.streamID] = true
			ids = append(ids, f.streamID)
		}
	}
	return ids
}

// Close ends all connections, and returns when their forwarders have ended. It changes no route: another Engine may continue them.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	for _, f := range e.forwarders {
		f.stop()
	}
	e.mu.Unlock()
	e.work.Wait()
}

// forget removes a forwarder that has ended by itself. One that failed stays until Set removes it: otherwise an older list of routes
// would start it again.
func (e *Engine) forget(f *forwarder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.forwarders[f.id] == f && !f.failed.Load() {
		delete(e.forwarders, f.id)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
