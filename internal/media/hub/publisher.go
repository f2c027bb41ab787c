package hub

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Why a publisher's writes are refused, and what its Kick is told.
var (
	// ErrReplaced: another connection publishes the stream now.
	ErrReplaced = errors.New("another publisher took over the stream")
	// ErrMoved: and that connection is on another node, where viewers go on.
	ErrMoved = fmt.Errorf("%w on another node", ErrReplaced)
	// ErrStopped: the stream was stopped by its owner or an administrator.
	ErrStopped = errors.New("the stream was stopped")
	// ErrWithdrawn: and nobody may see it any more.
	ErrWithdrawn = fmt.Errorf("%w and withdrawn", ErrStopped)
	// ErrClosed: the server is shutting down.
	ErrClosed = errors.New("the server is shutting down")
)

// Publisher is one connection's right to write to a stream.
type Publisher struct {
	// ID names the connection in reports.
	ID string
	// Kick ends the connection; called at most once, from any goroutine. It
	// must not wait for the connection's own goroutine.
	Kick func(reason error)

	stream     *Stream
	kicked     sync.Once
	firstEpoch uint32
	playable   bool // guarded by stream.mu
}

// id is "" for no publisher.
func (p *Publisher) id() string {
	if p == nil {
		return ""
	}
	return p.ID
}

// Write passes a unit on to all readers. The unit belongs to the hub
// afterwards; the hub sets its Epoch. An error means that the publisher has no
// right to write any more and its connection should end.
func (p *Publisher) Write(u *Unit) error { return p.stream.write(p, u) }

// Discontinuity announces that the next unit's times don't follow the last one's.
func (p *Publisher) Discontinuity() {
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	if p.stream.publisher == p {
		p.stream.epoch++
	}
}

// SetOff says which kinds the publisher has switched off on purpose: outputs needn't
// wait for them, since nothing of them is on its way.
func (p *Publisher) SetOff(video, audio bool) {
	s := p.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.publisher == p {
		s.activity = Activity{Present: true, VideoOff: video, AudioOff: audio}
	}
}

// ConvertSound announces that the publisher's sound comes in a second codec too, in tracks
// that are marked as Converted. It must be called before the first Write.
func (p *Publisher) ConvertSound(to Codec) {
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	if p.stream.publisher == p {
		p.stream.converted = to
	}
}

// Stream is what the publisher writes to.
func (p *Publisher) Stream() *Stream { return p.stream }

// Close gives the stream up: it is sealed, or kept for its reconnect window. It
// returns after the sealing; idempotent, and harmless after a take-over.
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
		// The owner of the database record decides when the window is over and
		// calls Hub.Stop; the timer only frees memory should that never come.
		s.window = time.AfterFunc(s.ReconnectWindow+windowGrace, s.expire)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	// Only if no other publisher came in between.
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
