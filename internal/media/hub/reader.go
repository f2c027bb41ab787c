package hub

import (
	"context"
	"io"
	"sync"
	"time"
)

// Bounds of a reader's queue. A reader that exceeds either loses all units up to the next key
// frame; the writer never waits.
const (
	queueUnits = 1024
	queueBytes = 8 << 20
)

// Reader is an output's subscription to a stream. Only one goroutine may call Next.
type Reader struct {
	stream    *Stream
	selection Selection

	mu       sync.Mutex
	queue    []*Unit
	head     int
	bytes    int
	skipping bool // units were dropped: skip up to a key frame
	closed   bool
	taken    rate   // bytes that the output has taken, by their time of arrival
	dropped  uint64 // pictures that the bounds made the reader lose
	quiet    Quiet
	wake     chan struct{} // capacity 1

	patience *time.Timer // of NextOrTick, whose goroutine alone uses it
}

// Quiet names the units for which a reader need not be woken: those of an epoch with a DTS before Until, except key
// pictures and pictures of another track. They stay in the queue for the next unit that wakes it, or the next tick.
// Waking a goroutine costs as much as the rest of a unit's way. In the zero Quiet, each unit wakes the reader.
type Quiet struct {
	Video *Track
	Epoch uint32
	Until time.Duration
}

// Bounds of the queue of a reader that is not woken.
const (
	quietUnits = queueUnits / 4
	quietBytes = queueBytes / 4
)

// Includes reports whether the unit need not wake the reader.
func (s Quiet) Includes(u *Unit) bool {
	switch {
	case s.Video == nil || u.Epoch != s.Epoch:
		return false
	case u.Track.Codec.Video():
		return u.Track == s.Video && !u.Key && u.DTS < s.Until
	}
	return true
}

// Next waits for the next unit. It returns io.EOF after the stream was sealed
// and all units were read, or after Close.
func (r *Reader) Next(ctx context.Context) (*Unit, error) {
	return r.next(ctx, nil, func() Quiet { return Quiet{} })
}

// NextOrTick is like Next, but returns nil without an error when it has waited for patience and there is no unit. While
// it waits, the units that quiet returns don't wake it before that.
func (r *Reader) NextOrTick(ctx context.Context, patience time.Duration, quiet func() Quiet) (*Unit, error) {
	return r.next(ctx, func() <-chan time.Time {
		if r.patience == nil {
			r.patience = time.NewTimer(patience)
		} else {
			r.patience.Reset(patience)
		}
		return r.patience.C
	}, quiet)
}

// Pending reports whether Next returns a unit without waiting.
func (r *Reader) Pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.head < len(r.queue)
}

// next waits for the next unit, or until the channel that begin returns has a value. begin is called before a wait; nil
// for none.
func (r *Reader) next(ctx context.Context, begin func() <-chan time.Time, quiet func() Quiet) (*Unit, error) {
	var tick <-chan time.Time
	ticked := false
	for {
		if u, ok, end := r.pop(); ok {
			return u, nil
		} else if end {
			return nil, io.EOF
		} else if ticked {
			return nil, nil //nolint:nilnil // as documented
		}
		if !r.setQuiet(quiet()) {
			continue
		}
		if begin != nil && tick == nil {
			tick = begin()
		}
		select {
		case <-r.wake:
		case <-tick:
			ticked = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// converted reports whether the reader gets converted audio. The stream's lock is held.
func (r *Reader) converted() bool {
	return r.stream.converted != "" && r.selection.Sound == r.stream.converted
}

// Finish ends the subscription after the queued units; idempotent.
func (r *Reader) Finish() {
	r.stream.forget(r)
	r.end(false)
}

// Close ends the subscription and drops the queued units; idempotent.
func (r *Reader) Close() {
	r.stream.forget(r)
	r.end(true)
}

// setQuiet sets which units wake the reader; false if it has units meanwhile.
func (r *Reader) setQuiet(quiet Quiet) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet = quiet
	return r.head == len(r.queue)
}

// sleeps returns the units that don't wake the reader; the zero Quiet if so many wait that each one wakes it.
func (r *Reader) sleeps() Quiet {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue)-r.head >= quietUnits || r.bytes >= quietBytes {
		return Quiet{}
	}
	return r.quiet
}

func (r *Reader) pop() (u *Unit, ok, end bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.head == len(r.queue) {
		return nil, false, r.closed
	}
	u = r.queue[r.head]
	r.queue[r.head] = nil
	r.head++
	r.bytes -= u.Size()
	if r.head == len(r.queue) {
		r.queue, r.head = r.queue[:0], 0
	}
	if r.selection.Kind != "" {
		r.taken.add(u.Arrived, len(u.Data))
	}
	return u, true, false
}

func (r *Reader) push(u *Unit) {
	r.mu.Lock()
	switch {
	case r.closed:
		r.mu.Unlock()
		return
	case u.Track.Rendition != "" && (r.skipping || r.busy(u)):
		// The publisher's media go first, and a key picture of a rendition is no start for them.
		r.mu.Unlock()
		return
	case r.full(u):
		for _, waiting := range r.queue[r.head:] {
			r.lose(waiting)
		}
		r.dropQueue()
		r.skipping = true
	}
	if r.skipping {
		if !u.Key || (!u.Track.Codec.Video() && r.stream.hasVideo) {
			r.lose(u)
			r.mu.Unlock()
			return
		}
		r.skipping = false
	}
	if r.head > 0 && len(r.queue) == cap(r.queue) {
		n := copy(r.queue, r.queue[r.head:])
		clear(r.queue[n:])
		r.queue, r.head = r.queue[:n], 0
	}
	r.queue = append(r.queue, u)
	r.bytes += u.Size()
	sleeps := r.quiet.Includes(u) && len(r.queue)-r.head < quietUnits && r.bytes < quietBytes
	r.mu.Unlock()
	if !sleeps {
		r.notify()
	}
}

// full reports whether the unit exceeds the queue's bounds; the caller holds mu.
func (r *Reader) full(u *Unit) bool {
	return len(r.queue)-r.head >= queueUnits || r.bytes+u.Size() > queueBytes
}

// busy reports whether the unit exceeds three quarters of the queue's bounds: renditions leave the rest to the source. It is more than the
// share that a quiet reader collects before it wakes up. The caller holds mu.
func (r *Reader) busy(u *Unit) bool {
	return len(r.queue)-r.head >= queueUnits*3/4 || r.bytes+u.Size() > queueBytes*3/4
}

// Dropped returns how many pictures of the publisher the reader has lost because it exceeded the queue's bounds.
func (r *Reader) Dropped() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// kbps returns the rate of the media that the output has taken.
func (r *Reader) kbps(now time.Time) int { return r.taken.kbps(now) }

// lose counts a unit that the reader doesn't get. The caller holds mu.
func (r *Reader) lose(u *Unit) {
	if u.Track.Codec.Video() && u.Track.Rendition == "" {
		r.dropped++
	}
}

func (r *Reader) dropQueue() {
	clear(r.queue)
	r.queue, r.head, r.bytes = r.queue[:0], 0, 0
}

// end makes Next return io.EOF: at once, or after the queued units.
func (r *Reader) end(discard bool) {
	r.mu.Lock()
	r.closed = true
	if discard {
		r.dropQueue()
	}
	r.mu.Unlock()
	r.notify()
}

func (r *Reader) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
