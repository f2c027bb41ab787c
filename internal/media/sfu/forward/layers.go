package forward

import "time"

const (
	// keyFrameInterval is the shortest interval between two requests of a key frame from a
	// publisher.
	keyFrameInterval = 500 * time.Millisecond
	// deadAfter is how long a layer may be silent while others aren't, until it counts as not sent.
	deadAfter = 700 * time.Millisecond
	// enlarge is how far a picture may be enlarged before the next layer is used instead.
	enlarge = 1.2
	// lookEvery is how long a snapshot of a track's layers is reused for all sinks.
	lookEvery   = 5 * time.Millisecond
	allTemporal = temporalLayers - 1
)

// choice is the layer that a sink is sent, and the reasons.
type choice struct {
	// ideal is the layer that suits the subscriber's view, -1 for none; fit is the best layer up to
	// it that the bandwidth allows; target is the best layer up to fit that the publisher sends
	// now.
	ideal, fit, target int
	starved            bool
	refresh            bool    // the subscriber has requested a key picture
	wanted             uint8   // the layers that this sink marks as wanted
	temporal           uint8   // highest temporal layer that is sent
	temporalFit        uint8   // highest temporal layer that the bandwidth allows
	lowered, raised    instant // when less began to fit, and when more did
	patience, waited   time.Duration
	refreshed          instant // when the subscriber last requested a key picture
	short, fitted      instant // times since which the cheapest step doesn't fit, and fits again
}

func (c *choice) reset() {
	*c = choice{ideal: -1, fit: -1, target: -1, temporal: allTemporal, temporalFit: allTemporal}
}

// takes reports whether to switch to a layer at its key picture. Without a current layer, any layer
// that fits is taken.
func (c *choice) takes(layer int, sending bool, current int) bool {
	return layer == c.target || layer == c.fit || !sending && layer <= c.fit || sending && layer == current
}

// began records that a new run begins with a key picture.
func (c *choice) began() {
	c.refresh = false
	c.temporal = c.temporalFit
}

// drops reports whether a packet belongs to a temporal layer that isn't sent. Switching down is
// possible at any picture, switching up only at those that the encoder marks.
func (c *choice) drops(p *packet, inOrder bool) bool {
	v := &p.view
	if c.temporal > c.temporalFit && v.begins {
		c.temporal = c.temporalFit
	}
	if v.temporal <= c.temporal {
		if v.key {
			c.temporal = c.temporalFit
		}
		return false
	}
	if inOrder && v.begins && v.sync && v.temporal <= c.temporalFit {
		c.temporal = v.temporal
		return false
	}
	return true
}

// situation is a snapshot of a track's layers for its sinks.
type situation struct {
	at    instant // when it was taken; 0 for never
	count int
	live  uint8 // layers that the publisher sends
	sizes [maxLayers][2]int
	rates [maxLayers]int // bits per second
	bases [maxLayers]int // bits per second of the lowest temporal layer; 0 when it can't be sent alone
	// sound is the rate of an audio track in bits per second, with overhead; plain is the rate of
	// its packets without the repeated part of RED.
	sound, plain int
}

// look returns a snapshot of the track's layers. It is shared, because many sinks ask at the same
// time.
func (f *feed) look(now instant) *situation {
	x := &f.seen
	if x.at != 0 && now.since(x.at) < lookEvery {
		return x
	}
	x.at = now
	t := f.track
	t.mu.Lock()
	defer t.mu.Unlock()
	x.count, x.live = len(t.layers), 0
	for i := range t.layers {
		l := &t.layers[i]
		if l.begun && t.last.since(l.last) < deadAfter {
			x.live |= 1 << i
		}
		x.sizes[i] = [2]int{l.width, l.height}
		x.rates[i], x.bases[i] = l.meter.rate(allTemporal), 0
		if t.codec == vp8 && l.meter.top > 0 {
			x.bases[i] = l.meter.rate(0)
		}
	}
	if t.config.Kind == Audio {
		x.sound, x.plain = 0, 0
		if now.since(t.last) < time.Second {
			x.sound, x.plain = max(x.rates[0], soundRate), max(t.layers[0].meter.rate(0), soundRate)
		}
	}
	x.complete()
	return x
}

// complete fills in unknown sizes and rates: each layer is assumed to have twice the width of the
// one below, and the highest 1280x720.
func (x *situation) complete() {
	for i := range x.count {
		if x.sizes[i][0] == 0 || x.sizes[i][1] == 0 {
			below := x.count - 1 - i
			x.sizes[i] = [2]int{max(1280>>below, 1), max(720>>below, 1)}
		}
		if x.rates[i] == 0 {
			// Assumed: 30 pictures a second at 0.08 bits per pixel.
			x.rates[i] = x.sizes[i][0] * x.sizes[i][1] * 24 / 10
		}
	}
}

// idealLayer returns the smallest layer that fills the view.
func (x *situation) idealLayer(v *View) int {
	if v.Hidden {
		return -1
	}
	if v.Width <= 0 || v.Height <= 0 {
		return x.count - 1
	}
	for i := range x.count {
		w, h := float64(x.sizes[i][0]), float64(x.sizes[i][1])
		if min(float64(v.Width)/w, float64(v.Height)/h) <= enlarge {
			return i
		}
	}
	return x.count - 1
}

// choose decides which layers each sink is sent.
func (e *Egress) choose(now instant) {
	e.chosen = now
	e.share(now)
	for _, s := range e.sinks {
		s.aim(s.feed.look(now), now)
	}
}

// aim selects the target among the layers that the publisher sends, and requests key pictures.
func (s *Sink) aim(x *situation, now instant) {
	c, r := &s.choice, &s.rewriter
	c.target = c.fit
	if c.fit >= 0 && x.live&(1<<c.fit) == 0 {
		for i := c.fit - 1; i >= 0; i-- {
			if x.live&(1<<i) != 0 {
				c.target = i
				break
			}
		}
	}
	wanted := uint8(0)
	if c.fit >= 0 {
		wanted |= 1<<c.fit | 1<<c.target
		if r.sending {
			wanted |= 1 << r.layer
		}
	} else if r.sending {
		r.stop()
	}
	s.track.wants.change(c.wanted, wanted)
	c.wanted = wanted
	s.demand(now)
	s.reportState()
}

// demand requests a key picture from the publisher, if the sink needs one.
func (s *Sink) demand(now instant) {
	c, r := &s.choice, &s.rewriter
	if s.audio || c.target < 0 {
		return
	}
	if s.track.config.RequestKeyFrame == nil {
		if !r.sending {
			s.catchUp(now) // the subscriber shows the picture again, or the track was silent
		}
		return
	}
	if !r.sending || r.layer != c.target {
		s.track.askKeyFrame(c.target, now)
	} else if c.refresh {
		s.track.askKeyFrame(r.layer, now)
	}
}
