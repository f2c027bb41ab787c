package forward

import "time"

const (
	// keyFrameInterval is how often a publisher is asked for a key frame at most.
	keyFrameInterval = 500 * time.Millisecond
	// deadAfter is how long a layer may be silent while others aren't.
	deadAfter = 700 * time.Millisecond
	// enlarge is by how much a picture may be enlarged before the next layer is
	// worth its bits.
	enlarge = 1.2
	// lookEvery is how long what was seen of a track counts, for all who ask.
	lookEvery   = 5 * time.Millisecond
	allTemporal = temporalLayers - 1
)

// choice is which layer a sink is sent, and why.
type choice struct {
	// ideal is the layer that the subscriber's view is worth, -1 for none; fit what
	// its bandwidth allows of that; target what of that there is now.
	ideal, fit, target int
	starved            bool
	refresh            bool    // the subscriber has asked for a key picture
	wanted             uint8   // the layers that count as wanted because of this sink
	temporal           uint8   // highest temporal layer that is sent
	temporalFit        uint8   // and that may be
	lowered, raised    instant // when less, and more, began to fit
	patience, waited   time.Duration
	refreshed          instant // when the subscriber asked last
	short, fitted      instant // since when not even the cheapest fits, or does again
}

func (c *choice) reset() {
	*c = choice{ideal: -1, fit: -1, target: -1, temporal: allTemporal, temporalFit: allTemporal}
}

// takes tells whether a key picture of a layer is to be switched to. Any layer is
// better than none, as long as it isn't more than the subscriber can take.
func (c *choice) takes(layer int, sending bool, current int) bool {
	return layer == c.target || layer == c.fit || !sending && layer <= c.fit || sending && layer == current
}

// began notes that a new run begins with a key picture.
func (c *choice) began() {
	c.refresh = false
	c.temporal = c.temporalFit
}

// drops tells whether a packet belongs to a temporal layer that isn't sent.
// Going down is possible at any picture, going up where the encoder says so.
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

// situation is what a sink needs to know of its track's layers.
type situation struct {
	at    instant // when this was so; 0 for never
	count int
	live  uint8 // layers that the publisher sends
	sizes [mostLayers][2]int
	rates [mostLayers]int // bits per second
	bases [mostLayers]int // the same of the lowest temporal layer; 0 when it can't be sent alone
	// sound is bits per second with what packets cost, if this is sound, and plain those
	// of what RED carries for its own time.
	sound, plain int
}

// look tells how the track's layers are. Many sinks ask at the same time.
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

// complete fills in the sizes that nobody has told: each layer is taken to have
// twice the width of the one below, and the highest to be 1280x720.
func (x *situation) complete() {
	for i := range x.count {
		if x.sizes[i][0] == 0 || x.sizes[i][1] == 0 {
			below := x.count - 1 - i
			x.sizes[i] = [2]int{max(1280>>below, 1), max(720>>below, 1)}
		}
		if x.rates[i] == 0 {
			// 30 pictures a second at 0.08 bits per pixel.
			x.rates[i] = x.sizes[i][0] * x.sizes[i][1] * 24 / 10
		}
	}
}

// idealLayer is the smallest layer that fills the view.
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

// choose decides what each sink is sent.
func (e *Egress) choose(now instant) {
	e.chosen = now
	e.share(now)
	for _, s := range e.sinks {
		s.aim(s.feed.look(now), now)
	}
}

// aim picks the target among what there is, and asks for what the sink waits for.
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
	s.told()
}

// demand asks the publisher for a key picture, if the sink waits for one.
func (s *Sink) demand(now instant) {
	c, r := &s.choice, &s.rewriter
	if s.audio || c.target < 0 {
		return
	}
	if s.track.config.RequestKeyFrame == nil {
		if !r.sending {
			s.catchUp(now) // it is shown again, or the track was silent
		}
		return
	}
	if !r.sending || r.layer != c.target {
		s.track.askKeyFrame(c.target, now)
	} else if c.refresh {
		s.track.askKeyFrame(r.layer, now)
	}
}
