package restream

import "time"

// outcome is a result of a forwarder, for metrics.
type outcome int

const (
	outcomeAccepted outcome = iota
	outcomeRetried
	outcomeRefused
	outcomeUnreachable
	outcomeCount
)

// Outcomes are the names of the results that Stats counts.
func outcomeNames() [outcomeCount]string {
	return [...]string{"accepted", "retried", "refused", "unreachable"}
}

func (e *Engine) count(o outcome) { e.outcomes[o].Add(1) }

// Stats are figures of an Engine.
type Stats struct {
	// Running is the number of routes, and Connected is how many of them a target has accepted.
	Running, Connected int
	// Outcomes counts by name: accepted and retried connections, and routes that failed (refused, unreachable).
	Outcomes map[string]uint64
	// BytesOut were sent to targets, and Dropped pictures were not.
	BytesOut, Dropped uint64
}

// Stats returns the current figures.
func (e *Engine) Stats() Stats {
	s := Stats{Outcomes: map[string]uint64{}, BytesOut: e.sent.Load(), Dropped: e.dropped.Load()}
	for i, name := range outcomeNames() {
		s.Outcomes[name] = e.outcomes[i].Load()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.forwarders {
		if f.failed.Load() {
			continue
		}
		s.Running++
		f.mu.Lock()
		if !f.state.connectedAt.IsZero() {
			s.Connected++
		}
		f.mu.Unlock()
	}
	return s
}

// Health is the state of a route on this node.
type Health struct {
	RouteID string
	// BitrateKbps is the average since the last call, in kilobits per second.
	BitrateKbps int
	// DroppedFrames and Reconnects count since this node forwards the stream.
	DroppedFrames, Reconnects uint64
	// LastError is the reason of the last interruption; empty for none.
	LastError string
	// ConnectedAt is when the target accepted the current connection, LostAt the time since which there is none. One of them is zero;
	// both are before the first attempt has ended.
	ConnectedAt, LostAt time.Time
}

// Health returns the state of all routes. Its bitrates are those since the last call, so there must be only one caller.
func (e *Engine) Health() []Health {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.config.Now()
	var list []Health
	for _, f := range e.forwarders {
		if !f.failed.Load() {
			list = append(list, f.health(now))
		}
	}
	return list
}

func (f *forwarder) health(now time.Time) Health {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, sent := &f.state, f.sent.Load()
	h := Health{
		RouteID: f.id, DroppedFrames: f.dropped.Load(), LastError: s.lastError, ConnectedAt: s.connectedAt, LostAt: s.lostAt,
	}
	if s.connections > 0 {
		h.Reconnects = s.connections - 1
	}
	if took := now.Sub(s.sampled); !s.sampled.IsZero() && took > 0 {
		h.BitrateKbps = int(float64(sent-s.sampledSent) * 8 / 1000 / took.Seconds())
	}
	s.sampled, s.sampledSent = now, sent
	return h
}
