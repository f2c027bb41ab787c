package hub

import (
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/metering"
)

// windowGrace is how long a stream outlives its reconnect window when nobody
// seals it.
const windowGrace = 30 * time.Second

// Output is told of every stream that opens, before its first unit. It must
// not block: it subscribes and works in a goroutine of its own.
type Output interface{ Open(s *Stream) }

// Config of a Hub.
type Config struct {
	// Outputs that every stream feeds.
	Outputs []Output
	// OnPlayable hears that what this publisher sends can be played; once per
	// publisher, on an output's goroutine, so it must not block.
	OnPlayable func(streamID, publisherID string)
	// Meter counts what each stream uses; nil for nothing.
	Meter *metering.Meter
	// Now is the clock of units' Arrived, time.Now by default.
	Now func() time.Time
	// Calendar is the clock of when broadcasts began, the same on all nodes; Now by default.
	Calendar func() time.Time
}

// Hub holds the streams that are on air on this node.
type Hub struct {
	config            Config
	bytesIn, bytesOut atomic.Uint64
	outputs           sync.WaitGroup // of all streams, sealed ones included

	mu      sync.Mutex
	streams map[string]*Stream
	closed  bool
}

// New makes an empty hub.
func New(config Config) *Hub {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Calendar == nil {
		config.Calendar = config.Now
	}
	return &Hub{config: config, streams: map[string]*Stream{}}
}

// Publish puts a publisher on air. A stream that waits for a reconnect goes on
// with it; a publisher that is still there is replaced and kicked with
// ErrReplaced, while viewers stay. The only error is ErrClosed.
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
		// Being sealed at this moment: wait for it to leave, then open anew.
		<-s.sealed
		h.remove(s)
	}
}

// Stream finds a stream that is on air or waits for its publisher.
func (h *Hub) Stream(id string) (*Stream, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.streams[id]
	return s, ok
}

// Streams lists what is on air.
func (h *Hub) Streams() []*Stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Stream, 0, len(h.streams))
	for _, s := range h.streams {
		list = append(list, s)
	}
	return list
}

// Traffic is the number of media bytes received and sent since the start.
func (h *Hub) Traffic() (in, out uint64) { return h.bytesIn.Load(), h.bytesOut.Load() }

// Stop kicks the publisher, if there is one, and seals the stream whatever its
// reconnect window. It returns when the outputs are done; unknown ids are fine.
func (h *Hub) Stop(id string, reason error) {
	s, ok := h.Stream(id)
	if !ok {
		return
	}
	// The kick comes before the wait, so that the publisher hears the reason
	// and not just that its writes fail.
	if p, _ := s.shut(reason, anybody); p != nil {
		p.kick(reason)
	}
	s.outputs.Wait()
}

// Publishers lists who is on air: stream ids by publisher ids.
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

// Drop sends one publisher away, and seals the stream if it is still that
// publisher's; otherwise nothing happens. Without a publisher it seals a stream
// that waits for one.
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

// Whom shut may end.
func anybody(*Publisher) bool { return true }
func idle(p *Publisher) bool  { return p == nil }

// Close stops all streams and refuses new publishers. It returns when all
// outputs are done, those of streams that were sealed before included.
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
	// The new publisher may carry other kinds than the old one.
	s.video, s.audio, s.hasVideo, s.pattern, s.converted = nil, nil, false, pattern{}, ""
	s.group.clear()
	s.mu.Unlock()
	if old != nil {
		old.kick(ErrReplaced)
	}
	return true
}
