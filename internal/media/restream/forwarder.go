package restream

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/rtmpurl"
)

const (
	// firstPause is the pause before the second attempt; it doubles up to longestPause.
	firstPause   = 3 * time.Second
	longestPause = 60 * time.Second
	// refusingCloses is how many connections in a row a target must close right after the publish, so that it counts as a refusal.
	// Some platforms answer a wrong key in no other way.
	refusingCloses = 2
)

// forwarder forwards a stream to one target, over connections one after the other.
type forwarder struct {
	engine       *Engine
	stream       *hub.Stream
	id, streamID string
	going        context.Context // ends with the stream or the route
	stop         context.CancelFunc
	failed       atomic.Bool

	dropped atomic.Uint64
	sent    atomic.Uint64

	mu      sync.Mutex
	address rtmpurl.Address
	current context.Context // ends with going, or when there is another address
	move    context.CancelFunc
	reached bool // the address, by any connection
	stored  bool // Reports knows that the target was reached
	state   state
}

// state is what Health shows of a forwarder.
type state struct {
	connections uint64
	connectedAt time.Time // zero while there is no accepted connection
	lostAt      time.Time // zero while there is one
	lastError   string
	sampled     time.Time
	sampledSent uint64
}

func newForwarder(e *Engine, s *hub.Stream, r Route) *forwarder {
	going, stop := context.WithCancel(context.Background())
	f := &forwarder{
		engine: e, stream: s, id: r.ID, streamID: r.StreamID, going: going, stop: stop,
		address: r.Address, reached: r.Reached, stored: r.Reached, state: state{lostAt: r.LostAt},
	}
	f.current, f.move = context.WithCancel(going)
	return f
}

// setAddress has the forwarder end its connection and connect to another address. Successes and failures of the
// old address don't count for the new one.
func (f *forwarder) setAddress(a rtmpurl.Address) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.address == a || f.failed.Load() {
		return
	}
	f.move()
	f.address, f.reached = a, false
	f.state.connectedAt, f.state.lostAt, f.state.lastError = time.Time{}, time.Time{}, ""
	f.current, f.move = context.WithCancel(f.going)
}

// attempt is the use of one address: ctx ends when the route does, or has another address.
type attempt struct {
	ctx     context.Context
	address rtmpurl.Address
}

func (f *forwarder) attempt() attempt {
	f.mu.Lock()
	defer f.mu.Unlock()
	return attempt{f.current, f.address}
}

// run connects until the stream or the route ends, or the target refuses it.
func (f *forwarder) run() {
	defer f.stop()
	go func() {
		select {
		case <-f.stream.Sealed():
		case <-f.going.Done():
		}
		f.stop()
	}()
	closes, wait := 0, firstPause
	for f.going.Err() == nil {
		now := f.attempt()
		accepted, err := f.connect(now)
		switch {
		case f.going.Err() != nil:
			return
		case now.ctx.Err() != nil: // another address
			closes, wait = 0, firstPause
			continue
		case errors.Is(err, errOver):
			return
		}
		if accepted {
			closes, wait = 0, firstPause
		}
		reason, final := f.judge(now, err, &closes)
		left, ended := f.lost(now, reason, final)
		if ended {
			f.fail(reason, final)
			return
		}
		f.engine.count(outcomeRetried)
		f.engine.config.Log.Info("a restream target is tried again", "route", f.id, "stream", f.streamID, "reason", reason)
		if f.engine.config.Pause(now.ctx, min(wait, left)) != nil {
			closes, wait = 0, firstPause
			continue
		}
		wait = min(2*wait, longestPause)
	}
}

// judge returns the reason why a connection ended, and whether it is final. A refusal after a success isn't: the target may still hold
// the lost connection. A flood of data always is.
func (f *forwarder) judge(now attempt, err error, closes *int) (reason string, final bool) {
	f.mu.Lock()
	reached := f.reached
	f.mu.Unlock()
	reason = describe(now.address, err)
	if _, refused := errors.AsType[*rtmp.RefusedError](err); refused && !reached || errors.Is(err, rtmp.ErrFlood) {
		return reason, true
	}
	if _, unsupported := errors.AsType[*unsupportedError](err); unsupported || isPermanent(err) && !reached {
		return reason, true
	}
	if e, ok := errors.AsType[*connectionError](err); ok && e.asked && !e.accepted && !reached && isClosed(e.err) {
		if *closes++; *closes >= refusingCloses {
			return "the target closed the connection twice right after the stream began: check the stream key", true
		}
		return reason, false
	}
	*closes = 0
	return reason, false
}

// lost notes the end or the failure of a connection, and returns how much time is left for another success. ended reports that the route
// has failed: no other address can be set from then on. It hasn't if it has another address already.
func (f *forwarder) lost(was attempt, reason string, final bool) (left time.Duration, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if was.ctx.Err() != nil {
		return 0, false
	}
	now := f.engine.config.Now()
	f.state.connectedAt, f.state.lastError = time.Time{}, reason
	if f.state.lostAt.IsZero() {
		f.state.lostAt = now
	}
	left = f.engine.config.Limits.Expiry - now.Sub(f.state.lostAt)
	ended = final || left <= 0
	f.failed.Store(ended)
	return left, ended
}

// accepted notes that the target has accepted a connection, and reports the first time until Reports has stored it. ctx is that of the
// connection.
func (f *forwarder) accepted(ctx context.Context, at attempt) {
	f.mu.Lock()
	if at.ctx.Err() != nil {
		f.mu.Unlock()
		return
	}
	f.reached = true
	f.state.connectedAt, f.state.lostAt = f.engine.config.Now(), time.Time{}
	f.state.connections++
	stored := f.stored
	f.mu.Unlock()
	f.engine.count(outcomeAccepted)
	if stored {
		return
	}
	if f.report(ctx, func() error { return f.engine.config.Reports.Live(ctx, f.id) }) {
		f.mu.Lock()
		f.stored = true
		f.mu.Unlock()
	}
}

// fail ends the route. refused: the target won't have it.
func (f *forwarder) fail(reason string, refused bool) {
	outcome := outcomeUnreachable
	if refused {
		outcome = outcomeRefused
	} else {
		reason = "the target couldn't be reached for 10 minutes: " + reason
	}
	f.engine.count(outcome)
	f.engine.config.Log.Info("a restream route has failed", "route", f.id, "stream", f.streamID, "reason", reason)
	f.report(f.going, func() error { return f.engine.config.Reports.Failed(f.going, f.id, reason) })
}

// report repeats a report until it is stored; false if ctx ended before that.
func (f *forwarder) report(ctx context.Context, report func() error) bool {
	for {
		err := report()
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		f.engine.config.Log.Warn("the state of a restream route could not be stored", "route", f.id, "error", err)
		if pause(ctx, f.engine.config.Limits.Report) != nil {
			return false
		}
	}
}

// connectionError is the end of a connection to a target that was reached.
type connectionError struct {
	err error
	// asked: the target knows the stream key. accepted: it took the stream.
	asked, accepted bool
}

func (e *connectionError) Error() string { return e.err.Error() }
func (e *connectionError) Unwrap() error { return e.err }

// isClosed reports whether the target has closed the connection. A reset is the same: the target closed it while media was on its way.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func isPermanent(err error) bool {
	var p interface{ Permanent() bool }
	return errors.As(err, &p) && p.Permanent()
}
