package restream

import (
	"context"
	"errors"
	"io"
	"math"
	"sync/atomic"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
)

// A write, and most of all the wake-up of an idle processor for it, costs much more than a unit. So sound waits for the next picture, and
// with more than gatherFrom connections pictures wait too: all media up to the next end of gathering are written together, gatherTime after
// the one before. Key pictures are written at once.
const (
	gatherTime = 100 * time.Millisecond
	gatherFrom = 16
)

// connection is one connection of a forwarder to its target.
type connection struct {
	forwarder *forwarder
	attempt   attempt
	sender    *rtmp.Sender
	reader    *hub.Reader
	accepted  atomic.Bool
	flows     chan struct{} // closed when the first media are sent
	counted   uint64        // bytes that the forwarder knows

	start    start
	clock    timeline
	video    *hub.Track
	audio    *hub.Track
	skipping bool   // pictures up to the next key picture
	lost     uint64 // pictures that the reader has lost
}

// connect makes one connection and forwards the stream over it until it ends. accepted reports whether the target took the stream.
func (f *forwarder) connect(now attempt) (accepted bool, err error) {
	address := now.address
	conn, err := f.engine.config.Dial(now.ctx, address.Host, address.Secure)
	if err != nil {
		return false, err
	}
	to := rtmp.Destination{App: address.App, URL: address.URL, Key: address.Key}
	sender, asked, err := rtmp.NewSender(now.ctx, conn, to, f.engine.config.Limits.sender())
	if err != nil {
		return false, &connectionError{err: err, asked: asked}
	}
	c := &connection{forwarder: f, attempt: now, sender: sender, flows: make(chan struct{})}
	c.reader = f.stream.SubscribeTo(hub.Selection{Sound: hub.AAC, Recent: true, Kind: hub.OutputRestream, Name: f.id})
	defer c.reader.Close()
	err = c.run()
	return c.accepted.Load(), &connectionError{err: err, asked: true, accepted: c.accepted.Load()}
}

// run forwards the stream until it ends, or the connection, or the route has another address.
func (c *connection) run() error {
	ctx, cancel := context.WithCancel(c.attempt.ctx)
	defer cancel()
	var served error
	ended, proved := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		served = c.sender.Serve()
	}()
	go func() {
		defer close(proved)
		c.prove(ctx)
	}()
	// A target that doesn't take the rest of the stream must not delay its end.
	hurry := context.AfterFunc(c.attempt.ctx, func() {
		timer := time.NewTimer(2 * c.forwarder.engine.config.Limits.Finish)
		defer timer.Stop()
		select {
		case <-timer.C:
			c.sender.Close()
		case <-ended:
		}
	})
	defer hurry()
	err := c.pump(ctx)
	c.account()
	over := errors.Is(err, errOver) || c.attempt.ctx.Err() != nil
	if over {
		c.sender.Finish(ended)
	} else {
		c.awaitReason(ended)
	}
	<-ended
	cancel()
	<-proved
	if over {
		return errOver
	}
	if err == nil || isClosed(err) || isRefused(served) {
		return served // it says more than a failed write
	}
	return err
}

// awaitReason gives the target's last message the time to arrive, and closes the connection.
func (c *connection) awaitReason(ended <-chan struct{}) {
	timer := time.NewTimer(c.forwarder.engine.config.Limits.Finish)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
	c.sender.Close()
}

// prove waits until the target has acknowledged media, or has kept the connection open for a while in which it got some.
func (c *connection) prove(ctx context.Context) {
	select {
	case <-c.flows:
	case <-ctx.Done():
		return
	}
	timer := time.NewTimer(c.forwarder.engine.config.Limits.Proof)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.sender.Acknowledged():
	case <-ctx.Done():
		return
	}
	c.accepted.Store(true)
	c.forwarder.accepted(ctx, c.attempt)
}

// errOver is the end of the stream or of the route.
var errOver = errors.New("the stream is over")

// pump sends the units of the stream, those that wait for it together. It returns errOver at the end of the stream, and nil when ctx ends.
func (c *connection) pump(ctx context.Context) error {
	connected := &c.forwarder.engine.connected
	connected.Add(1)
	defer connected.Add(-1)
	flows := false
	for {
		u, err := c.reader.NextOrTick(ctx, c.forwarder.engine.untilGathered(), c.quiet)
		switch {
		case errors.Is(err, io.EOF):
			return errOver
		case err != nil:
			return nil // the end of the route or of the connection
		case u == nil:
			continue // the units didn't come for a while
		}
		units, begins := c.start.add(u, time.Now())
		if begins {
			if err := c.begin(units); err != nil {
				return err
			}
		}
		for _, u := range units {
			if err := c.send(u); err != nil {
				return err
			}
			if !flows {
				flows = true
				close(c.flows)
			}
		}
		if !c.reader.Pending() {
			if err := c.sender.Flush(); err != nil {
				return err
			}
		}
		c.account()
	}
}

// quiet names the units that are gathered.
func (c *connection) quiet() hub.Quiet {
	if c.video == nil || c.skipping {
		return hub.Quiet{}
	}
	until := time.Duration(math.MinInt64)
	if c.forwarder.engine.connected.Load() > gatherFrom {
		until = math.MaxInt64 / 2 // the hub adds to it
	}
	return hub.Quiet{Video: c.video, Epoch: c.clock.epoch, Until: until}
}

// untilGathered returns the time to the next end of gathering.
func (e *Engine) untilGathered() time.Duration { return gatherTime - time.Since(e.began)%gatherTime }

// begin sends the metadata of the stream that begins with units.
func (c *connection) begin(units []*hub.Unit) error {
	c.skipping = false
	first := !c.clock.begun
	c.clock.begin(units[0])
	if !first {
		return nil // another epoch
	}
	var video, audio *hub.Track
	for _, u := range units {
		if u.Track.Codec.Video() {
			video = u.Track
		} else {
			audio = u.Track
		}
	}
	if audio == nil {
		audio = c.start.audio
	}
	return c.metadata(video, audio)
}

func (c *connection) metadata(video, audio *hub.Track) error {
	for _, t := range []*hub.Track{video, audio} {
		if err := c.check(t); err != nil {
			return err
		}
	}
	st := c.forwarder.stream.Stats()
	return c.sender.Metadata(video, audio, st.VideoKbps, st.AudioKbps)
}

// send sends one unit, after the sequence header of a new track.
func (c *connection) send(u *hub.Unit) error {
	at, offset, ok := c.clock.place(u)
	if !ok || c.late(u) {
		return nil
	}
	known := &c.audio
	if u.Track.Codec.Video() {
		known = &c.video
	}
	if *known != u.Track {
		changed := *known != nil
		*known = u.Track
		if changed {
			if err := c.metadata(c.video, c.audio); err != nil {
				return err
			}
		}
		if err := c.check(u.Track); err != nil {
			return err
		}
		if err := c.sender.Header(u.Track, at); err != nil {
			return err
		}
	}
	return c.sender.Unit(u, at, offset)
}

// late reports whether a picture is dropped: it waited too long, or follows a dropped one before the next key picture.
func (c *connection) late(u *hub.Unit) bool {
	if !u.Track.Codec.Video() {
		return false
	}
	old := time.Since(u.Arrived) > c.forwarder.engine.config.Limits.Late
	if c.skipping = old || (c.skipping || c.video == nil) && !u.Key; c.skipping {
		c.drop(1)
	}
	return c.skipping
}

func (c *connection) drop(n uint64) {
	c.forwarder.dropped.Add(n)
	c.forwarder.engine.dropped.Add(n)
}

// account adds the sent bytes and the lost pictures to the forwarder's figures.
func (c *connection) account() {
	sent := c.sender.Sent()
	c.forwarder.sent.Add(sent - c.counted)
	c.forwarder.engine.sent.Add(sent - c.counted)
	c.forwarder.stream.AddRestreamed(int(sent - c.counted))
	c.counted = sent
	if lost := c.reader.Dropped(); lost > c.lost {
		c.drop(lost - c.lost)
		c.lost = lost
	}
}

// check refuses a codec that the target doesn't take.
func (c *connection) check(t *hub.Track) error {
	if t == nil {
		return nil
	}
	switch {
	case t.Codec == hub.H265 && !c.sender.Supports(rtmp.FourCCHEVC):
		return &unsupportedError{"H.265 video", "H.264"}
	case t.Codec == hub.Opus && !c.sender.Supports(rtmp.FourCCOpus):
		return &unsupportedError{"Opus audio", "AAC"}
	}
	return nil
}
