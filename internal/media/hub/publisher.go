package hub

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Errors of a publisher's writes, and reasons for its Kick.
var (
	// ErrReplaced: another connection publishes the stream now.
	ErrReplaced = errors.New("another publisher took over the stream")
	// ErrMoved: that connection is on another node, where viewers continue.
	ErrMoved = fmt.Errorf("%w on another node", ErrReplaced)
	// ErrStopped: the stream was stopped by its owner or an administrator.
	ErrStopped = errors.New("the stream was stopped")
	// ErrWithdrawn: the stream was stopped, and may no longer be viewed.
	ErrWithdrawn = fmt.Errorf("%w and withdrawn", ErrStopped)
	// ErrClosed: the server is shutting down.
	ErrClosed = errors.New("the server is shutting down")
)

// Publisher is a connection's permission to write to a stream.
type Publisher struct {
	// ID identifies the connection in reports.
	ID string
	// Kick ends the connection. It is called at most once, from any goroutine. It must not wait
	// for the connection's own goroutine.
	Kick func(reason error)

	stream     *Stream
	kicked     sync.Once
	firstEpoch uint32
	playable   bool // guarded by stream.mu
}

// id is empty without a publisher.
func (p *Publisher) id() string {
	if p == nil {
		return ""
	}
	return p.ID
}

// Write passes a unit to all readers. The hub then owns the unit and sets its Epoch. An error
// means that the publisher may no longer write, and that its connection should end.
func (p *Publisher) Write(u *Unit) error { return p.stream.write(p, u) }

// Discontinuity announces that the next unit's times don't continue those of the last one.
func (p *Publisher) Discontinuity() {
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	if p.stream.publisher == p {
		p.stream.epoch++
		p.stream.inspector.jumps++
	}
}

// SetOff sets the kinds that the publisher has switched off on purpose. Outputs needn't wait
// for them, since no media of these kinds is on its way.
func (p *Publisher) SetOff(video, audio bool) {
	s := p.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.publisher == p {
		s.activity = Activity{Present: true, VideoOff: video, AudioOff: audio}
	}
}

// ConvertSound announces that the publisher's audio is also available in a second codec, in
// tracks that are marked as Converted. It must be called before the first Write.
func (p *Publisher) ConvertSound(to Codec) {
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	if p.stream.publisher == p {
		p.stream.converted = to
	}
}

// Stream is the stream to which the publisher writes.
func (p *Publisher) Stream() *Stream { return p.stream }

// Close releases the stream: it is sealed, or kept for its reconnect window. It returns after
// the sealing. It is idempotent, and does nothing after a takeover.
func (p *Publisher) Close() {
	s := p.stream
	s.mu.Lock()
	if s.publisher != p {
		s.mu.Unlock()
		return
	}
	s.publisher, s.activity = nil, Activity{}
	s.account.OnAir(false)
	if s.ReconnectWindow > 0 {
		// The owner of the database record decides when the window is over and calls Hub.Stop.
		// The timer only frees memory if that never happens.
		s.window = time.AfterFunc(s.ReconnectWindow+windowGrace, s.expire)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	// Only if there is no other publisher by now.
	if _, done := s.shut(ErrStopped, idle); done {
		s.outputs.Wait()
	}
}

func (p *Publisher) kick(reason error) {
	p.kicked.Do(func() {
		if p.Kick != nil {
			p.Kick(reason)
		}
	})
}
