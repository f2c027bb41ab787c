package ladder

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

// follower feeds the encoders of one stream, one after the other. Its goroutine alone uses it. Its clock is that of units' Arrived.
type follower struct {
	ladder *Ladder
	stream *hub.Stream
	log    *slog.Logger

	encoder *encoder // nil while there is none
	began   time.Time
	pause   time.Duration // before the next start, after a failure
	until   time.Time     // when that pause ends
	yield   atomic.Bool   // another tenant needs the place

	pictured time.Time // when the last picture came
}

// follow reads the stream to its end.
func (f *follower) follow(ctx context.Context, r *hub.Reader) error {
	defer func() {
		if f.encoder != nil {
			f.encoder.kill()
			f.leave()
		}
	}()
	for {
		u, err := r.NextOrTick(ctx, f.ladder.config.idle, func() hub.Quiet { return hub.Quiet{} })
		if err != nil {
			return err
		}
		if u == nil { // the publisher is away, or its video is off
			if f.encoder != nil {
				f.end(hub.LadderStarting)
			}
			continue
		}
		switch {
		case u.Track.Codec.Video():
			f.pictured = u.Arrived
			f.take(ctx, u)
		case f.encoder == nil:
		case f.yield.Load(), u.Arrived.Sub(f.pictured) > f.ladder.config.idle: // sound alone
			f.end(hub.LadderStarting)
		}
	}
}

// take encodes the next picture.
func (f *follower) take(ctx context.Context, u *hub.Unit) {
	if e := f.encoder; e != nil {
		switch {
		case e.ended():
			f.fail(u, hub.LadderFailed)
		case f.yield.Load():
			f.until = u.Arrived.Add(maxPause)
			f.end(hub.LadderNoRoom)
		case u.Epoch != e.epoch || !segmenter.SameCoding(u.Track, e.track) || u.Key && e.old(u):
			e.finish() // it returns the pictures that it has
			f.leave()
		}
	}
	switch {
	case f.encoder == nil && (!u.Key || !f.start(ctx, u)):
	case !f.encoder.push(u):
		f.encoder.kill()
		f.fail(u, hub.LadderSlow)
	}
}

// start starts an encoder with a key picture; false if there is none now.
func (f *follower) start(ctx context.Context, u *hub.Unit) bool {
	if u.Arrived.Before(f.until) {
		return false
	}
	sizes := suitable(u.Track, f.stream.Renditions)
	switch {
	case len(sizes) == 0:
		f.stream.SetLadder(hub.LadderUnsuitable)
		return false
	case !f.ladder.places.take(f, u.Arrived):
		f.stream.SetLadder(hub.LadderNoRoom)
		return false
	}
	f.stream.SetLadder(hub.LadderStarting)
	f.began = u.Arrived
	e, err := f.ladder.encode(ctx, f.stream, u, sizes)
	if err != nil {
		f.ladder.places.release(f)
		f.log.Warn("a stream's renditions can't be encoded", "error", err)
		f.wait(u.Arrived, hub.LadderFailed)
		return false
	}
	f.encoder = e
	return true
}

// leave waits for the encoder's end and releases its place.
func (f *follower) leave() {
	f.encoder.wait()
	f.encoder = nil
	f.ladder.places.release(f)
}

// end ends the encoder although nothing has failed.
func (f *follower) end(state hub.LadderState) {
	f.encoder.finish() // it returns the pictures that it has
	f.leave()
	f.stream.SetLadder(state)
}

// fail ends the encoder after a failure.
func (f *follower) fail(u *hub.Unit, state hub.LadderState) {
	e := f.encoder
	f.leave()
	f.log.Warn("a stream's renditions ended; the source goes on", "state", state, "error", e.err, "encoder", e.process.Messages())
	if u.Arrived.Sub(f.began) > steady {
		f.pause = 0
	}
	f.wait(u.Arrived, state)
}

// wait sets the pause before the next start.
func (f *follower) wait(now time.Time, state hub.LadderState) {
	f.ladder.failures.Add(1)
	f.pause = min(max(2*f.pause, firstPause), maxPause)
	if state == hub.LadderSlow {
		f.pause = maxPause // the machine has other work; starting costs even more
	}
	f.until = now.Add(f.pause)
	f.stream.SetLadder(state)
}

// size is a rendition with the size of its pictures in pixels.
type size struct {
	hub.Rendition

	width, height int
}

// suitable returns the renditions that are smaller than a source, with their sizes: the shorter side has the rendition's lines.
func suitable(t *hub.Track, renditions []hub.Rendition) []size {
	if t.Codec != hub.H264 || t.Width <= 0 || t.Height <= 0 {
		return nil
	}
	var list []size
	for _, r := range renditions[:min(len(renditions), hub.MaxRenditions)] {
		short, long := min(t.Width, t.Height), max(t.Width, t.Height)
		if r.Lines >= short {
			continue
		}
		s := size{Rendition: r, width: even(r.Lines, long, short), height: r.Lines}
		if t.Height > t.Width {
			s.width, s.height = s.height, s.width
		}
		list = append(list, s)
	}
	return list
}

// even is n*long/short, rounded to an even number.
func even(n, long, short int) int { return max(2, 2*((n*long+short)/(2*short))) }

// errNoPicture: the encoder returned a picture that it wasn't given.
var errNoPicture = errors.New("the encoder returned a picture with another time")
