package hub

import (
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/metering"
)

// windowGrace is how long a stream stays after its reconnect window if it isn't sealed.
const windowGrace = 30 * time.Second

// Output is notified of every stream that opens, before its first unit. Open must not block:
// the output subscribes, and works in a goroutine of its own.
type Output interface{ Open(s *Stream) }

// Config of a Hub.
type Config struct {
	// Outputs receive every stream.
	Outputs []Output
	// OnPlayable is called when a publisher's media has become playable; once per publisher, on
	// an output's goroutine, so it must not block.
	OnPlayable func(streamID, publisherID string)
	// Meter measures the usage of each stream; nil measures nothing.
	Meter *metering.Meter
	// Now is the clock of units' Arrived, time.Now by default.
	Now func() time.Time
	// Calendar is the clock for the start of broadcasts, which all nodes share; Now by default.
	Calendar func() time.Time
}

// Hub holds the streams on air on this node.
type Hub struct {
	config            Config
	bytesIn, bytesOut atomic.Uint64
	outputs           sync.WaitGroup // of all streams, sealed ones included

	mu      sync.Mutex
	streams map[string]*Stream
	closed  bool
}

// New returns an empty hub.
func New(config Config) *Hub {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Calendar == nil {
		config.Calendar = config.Now
	}
	return &Hub{config: config, streams: map[string]*Stream{}}
}

// Publish puts a publisher on air. A stream that waits for a reconnect continues with it. A
// publisher that is still there is replaced and kicked with ErrReplaced, while viewers stay.
// The only error is ErrClosed.
func (h *Hub) Publish(b Broadcast, id string, kick func(reason error)) (*Publisher, error) {
	p := &Publisher{ID: id, Kick: kick}
	if b.Began.IsZero() {
		b.Began = h.config.Calendar()
	}
	for {
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			return nil, ErrClosed
		}
		s, exists := h.streams[b.StreamID]
		if !exists {
			s = &Stream{Broadcast: b, hub: h, account: h.config.Meter.Open(b.StreamID), sealed: make(chan struct{})}
			h.streams[b.StreamID] = s
			s.attach(p)
			for _, o := range h.config.Outputs {
				o.Open(s)
			}
		}
		h.mu.Unlock()
		if !exists || s.attach(p) {
			return p, nil
		}
		// The stream is being sealed: wait until it is removed, then open a new one.
		<-s.sealed
		h.remove(s)
	}
}

// Stream returns a stream that is on air or waits for its publisher.
func (h *Hub) Stream(id string) (*Stream, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.streams[id]
	return s, ok
}

// Streams returns the streams that are on air.
func (h *Hub) Streams() []*Stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Stream, 0, len(h.streams))
	for _, s := range h.streams {
		list = append(list, s)
	}
	return list
}

// Viewers is the number of players of all streams of a tenant.
func (h *Hub) Viewers(tenantID string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, s := range h.streams {
		if s.TenantID == tenantID {
			n += int(s.viewers.Load())
		}
	}
	return n
}

// Traffic is the number of media bytes received and sent since the start.
func (h *Hub) Traffic() (in, out uint64) { return h.bytesIn.Load(), h.bytesOut.Load() }

// Stop kicks the publisher, if there is one, and seals the stream regardless of its reconnect
// window. It returns when the outputs have finished. An unknown id is ignored.
func (h *Hub) Stop(id string, reason error) {
	s, ok := h.Stream(id)
	if !ok {
		return
	}
	// The kick comes before the wait, so that the publisher receives the reason before its
	// writes fail.
	if p, _ := s.shut(reason, anyPublisher); p != nil {
		p.kick(reason)
	}
	s.outputs.Wait()
}

// Publishers returns the stream ids of the publishers on air, by publisher id.
func (h *Hub) Publishers() map[string]string {
	list := map[string]string{}
	for _, s := range h.Streams() {
		s.mu.Lock()
		if s.publisher != nil {
			list[s.publisher.ID] = s.StreamID
		}
		s.mu.Unlock()
	}
	return list
}

// Drop kicks one publisher and seals its stream, if the stream still has that publisher;
// otherwise it does nothing. Without a publisher id it seals a stream that waits for a
// publisher.
func (h *Hub) Drop(id, publisherID string, reason error) {
	s, ok := h.Stream(id)
	if !ok {
		return
	}
	p, done := s.shut(reason, func(p *Publisher) bool { return p.id() == publisherID })
	if !done {
		return
	}
	if p != nil {
		p.kick(reason)
	}
	s.outputs.Wait()
}

// Conditions on the publisher for shut.
func anyPublisher(*Publisher) bool { return true }
func idle(p *Publisher) bool       { return p == nil }

// Close stops all streams and refuses new publishers. It returns when all outputs have
// finished, also those of streams that were sealed before.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range h.Streams() {
		wg.Go(func() { h.Stop(s.StreamID, ErrClosed) })
	}
	wg.Wait()
	h.outputs.Wait()
}

func (h *Hub) remove(s *Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[s.StreamID] == s {
		delete(h.streams, s.StreamID)
	}
}

// attach makes p the stream's publisher; false when the stream is sealed.
func (s *Stream) attach(p *Publisher) bool {
	s.mu.Lock()
	if s.isSealed {
		s.mu.Unlock()
		return false
	}
	old := s.publisher
	if s.window != nil {
		s.window.Stop()
		s.window = nil
	}
	s.epoch++
	p.stream, p.firstEpoch = s, s.epoch
	s.publisher, s.activity = p, Activity{Present: true}
	// The new publisher may send other kinds of media than the old one.
	s.video, s.audio, s.hasVideo, s.pattern, s.converted = nil, nil, false, pattern{}, ""
	s.group.clear()
	s.mu.Unlock()
	if old != nil {
		old.kick(ErrReplaced)
	}
	return true
}
