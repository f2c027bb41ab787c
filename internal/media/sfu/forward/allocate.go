package forward

import (
	"cmp"
	"slices"
	"time"
)

const (
	// headroom is the additional bandwidth that must be free before a step up, in percent of the
	// step's rate.
	headroom = 15
	// tolerance is how far the current step may exceed the estimate, in percent of its rate: after
	// a burst, the estimate is too low for a while.
	tolerance = 10
	// patience is how long a sink that had to step down stays there. It doubles, up to
	// maxPatience, if the sink had stepped up less than justBefore earlier.
	patience    = 3 * time.Second
	maxPatience = time.Minute
	// starvedPatience bounds that time if nothing is sent at all, because that is worse than a failed
	// attempt.
	starvedPatience = 12 * time.Second
	justBefore      = 10 * time.Second
	// grace is how long the lowest layer of each track is sent to a new subscriber regardless of the
	// estimate, since the capacity of the path is still unknown.
	grace = 2 * time.Second
	// hold is how long the cheapest step of a track is still sent although it exceeds the estimate
	// that includes packet loss: after a burst of losses that estimate is too low for a while, and
	// no picture is worse. If the delay shows that packets queue up, the step isn't held. fits is
	// how long the cheapest step must have fitted until this time restarts.
	hold = 4 * time.Second
	fits = time.Second
	// maxSteps is the number of a track's steps at most: one for each layer, and one for the
	// lowest layer with its base temporal layer only.
	maxSteps = maxLayers + 1
	// soundRate is assumed for audio that hasn't been measured, in bits per second.
	soundRate = 60_000
)

// step is a layer and temporal layer at which a track can be sent.
type step struct {
	layer    int
	temporal uint8
	rate     int // bits per second
}

// demand is the bandwidth that one sink could use.
type demand struct {
	sink  *Sink
	area  int // of the picture at the size at which the subscriber shows it, in pixels
	steps [maxSteps]step
	count int // number of steps, from the cheapest to the best that the view needs
	now   int // index of the step that is being sent; -1 for none
	stays bool
	// forced: the cheapest step is sent, regardless of the budget.
	forced bool
	held   bool // the cheapest step is sent if it fits into the undelayed budget
	got    int  // the result; -1 for nothing
	tight  bool // the cheapest step doesn't fit into the budget
}

// cost returns the rate to compare with the budget: a step above the current one needs headroom,
// others have tolerance.
func (d *demand) cost(i int) int {
	if i > d.now {
		return d.steps[i].rate * (100 + headroom) / 100
	}
	return d.steps[i].rate * (100 - tolerance) / 100
}

// most returns the best step that the demand may get now.
func (d *demand) most() int {
	if d.stays {
		return d.now
	}
	return d.count - 1
}

// allocate distributes a budget, in bits per second. undelayed is a larger budget for pictures that
// are held. First each picture gets its cheapest step, the largest picture first; then each gets
// the best step that fits, in the same order. allocate returns the allocated rate, and that rate
// together with the cheapest step that didn't fit; 0 if all fit.
func allocate(budget, undelayed int, demands []demand) (used, wanted int) {
	slices.SortStableFunc(demands, func(a, b demand) int { return cmp.Compare(b.area, a.area) })
	for i := range demands {
		d := &demands[i]
		d.got, d.tight = -1, used+d.cost(0) > budget
		if d.most() >= 0 && (d.forced || !d.tight || d.held && used+d.cost(0) <= undelayed) {
			d.got = 0
			used += d.cost(0)
		}
	}
	for i := range demands {
		d := &demands[i]
		if d.got < 0 {
			continue
		}
		for n := d.most(); n > 0; n-- {
			if more := d.cost(n) - d.cost(0); used+more <= budget {
				d.got = n
				used += more
				break
			}
		}
	}
	for i := range demands {
		d := &demands[i]
		if next := d.got + 1; next < d.count && !d.stays {
			extra := d.steps[next].rate * (100 + headroom) / 100
			if d.got >= 0 {
				extra -= d.steps[d.got].rate
			}
			if all := used + max(extra, 0); wanted == 0 || all < wanted {
				wanted = all
			}
		}
	}
	return used, wanted
}

// fill lists the steps of a track up to its ideal layer.
func (d *demand) fill(x *situation, c *choice) {
	d.count, d.now = 0, -1
	for i := 0; i <= c.ideal; i++ {
		if i == 0 && x.bases[0] > 0 && x.bases[0] < x.rates[0] {
			d.steps[0] = step{layer: 0, temporal: 0, rate: x.bases[0]}
			d.count = 1
		}
		d.steps[d.count] = step{layer: i, temporal: allTemporal, rate: x.rates[i]}
		d.count++
	}
	// A step that costs as much as a better one saves nothing.
	for i := d.count - 2; i >= 0; i-- {
		d.steps[i].rate = min(d.steps[i].rate, d.steps[i+1].rate)
	}
	for i := range d.count {
		if s := &d.steps[i]; c.fit > s.layer || c.fit == s.layer && c.temporalFit >= s.temporal {
			d.now = i
		}
	}
}

// share decides for all sinks how much of the ideal layer fits.
func (e *Egress) share(now instant) {
	w := e.worker
	w.demands = w.demands[:0]
	budget, sound := e.estimator.Rate(), 0
	undelayed := max(e.estimator.Undelayed()-budget, 0)
	limited := e.limited && budget > 0
	for _, s := range e.sinks {
		x, c := s.feed.look(now), &s.choice
		if s.audio {
			c.fit = 0
			sound += s.soundRate(x)
			continue
		}
		v := s.view.Load()
		c.ideal = x.idealLayer(v)
		if !limited || c.ideal < 0 {
			c.set(c.ideal, allTemporal, now)
			continue
		}
		w.demands = append(w.demands, demand{sink: s})
		d := &w.demands[len(w.demands)-1]
		d.fill(x, c)
		d.area = v.Width * v.Height
		if d.area <= 0 {
			d.area = x.sizes[c.ideal][0] * x.sizes[c.ideal][1]
		}
		d.stays = c.lowered != 0 && now.since(c.lowered) < c.patience
		d.forced = e.begun == 0 || now.since(e.begun) < grace
		d.held = c.fit >= 0 && (c.short == 0 || now.since(c.short) < hold)
	}
	budget -= sound
	e.used, e.wanted = 0, 0
	if len(w.demands) == 0 {
		return
	}
	e.used, e.wanted = allocate(budget, budget+undelayed, w.demands)
	if e.wanted > 0 {
		e.wanted += sound // a path that carries this must also carry the audio
	}
	for i := range w.demands {
		d := &w.demands[i]
		c := &d.sink.choice
		c.fits(!d.tight, now)
		if d.got < 0 {
			c.set(-1, allTemporal, now)
		} else {
			c.set(d.steps[d.got].layer, d.steps[d.got].temporal, now)
		}
		d.sink = nil
	}
}

// fits stores whether the cheapest step fits the budget.
func (c *choice) fits(yes bool, now instant) {
	switch {
	case !yes:
		c.fitted = 0
		if c.short == 0 {
			c.short = now
		}
	case c.fitted == 0:
		c.fitted = now
	case now.since(c.fitted) >= fits:
		c.short = 0
	}
}

// set stores the layer and temporal layer that fit.
func (c *choice) set(fit int, temporal uint8, now instant) {
	if c.ideal >= 0 && (fit < c.fit && fit < c.ideal || fit == c.fit && temporal < c.temporalFit) {
		c.patience = patience
		if c.raised != 0 && now.since(c.raised) < justBefore {
			c.patience = min(2*max(c.waited, patience), maxPatience)
		}
		if fit < 0 {
			c.patience = min(c.patience, starvedPatience)
		}
		c.waited = c.patience
		c.lowered = now
	}
	if fit > c.fit {
		c.raised = now
	}
	c.fit, c.temporalFit = fit, temporal
	c.starved = fit < 0 && c.ideal >= 0
}

// probe sends padding when a sink only lacks bandwidth for a better layer, to learn whether the
// path carries more than the estimate.
func (e *Egress) probe() {
	var by *repairer
	for _, s := range e.sinks {
		if s.repairer != nil && s.fixed > 0 {
			by = s.repairer
			break
		}
	}
	if by == nil {
		return
	}
	for n := min(e.estimator.Probe(e.wanted, e.now), maxPadding); n > 0; {
		n -= by.pad()
	}
}

// maxPadding is how much padding is sent at a time, in bytes.
const maxPadding = 32 << 10
