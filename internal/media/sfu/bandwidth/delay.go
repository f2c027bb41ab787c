package bandwidth

import "math"

// delayLimit is the rate that the delays allow: it rises until a queue grows, then falls below
// the rate at which packets arrived meanwhile.
type delayLimit struct {
	rate float64
	// starting: no queue has been seen yet, so the rate may still be far below the capacity.
	starting  bool
	holding   bool
	capacity  capacity
	changed   int64 // µs
	decreased int64
}

// capacity is the rate at which queues began to grow.
type capacity struct {
	rate      float64 // kbit/s, 0 for unknown
	deviation float64 // relative to the rate
}

func (c *capacity) add(rate float64) {
	sample := rate / 1000
	if c.rate == 0 {
		c.rate = sample
		return
	}
	c.rate += 0.05 * (sample - c.rate)
	off := c.rate - sample
	c.deviation += 0.05 * (off*off/max(c.rate, 1) - c.deviation)
	c.deviation = min(max(c.deviation, 0.4), 2.5)
}

func (c *capacity) width() float64 { return 3 * math.Sqrt(c.deviation*c.rate) }
func (c *capacity) high() float64  { return (c.rate + c.width()) * 1000 }
func (c *capacity) low() float64   { return (c.rate - c.width()) * 1000 }

// update handles the signal of the delays, with the rate at which packets arrive, and returns
// whether the rate was lowered.
func (d *delayLimit) update(s signal, throughput, rtt float64, now int64) bool {
	switch s {
	case overuse:
		return d.decrease(throughput, rtt, now)
	case underuse:
		d.holding = true // the queue empties: hold the rate
		d.changed = now
	case normal:
		if d.holding {
			d.holding = false
			d.changed = now
			return false
		}
		d.increase(throughput, rtt, now)
	}
	return false
}

func (d *delayLimit) increase(throughput, rtt float64, now int64) {
	elapsed := min(float64(now-d.changed)/1e6, 1)
	if d.changed == 0 {
		elapsed = 0
	}
	d.changed = now
	if throughput == 0 {
		return
	}
	if d.capacity.rate != 0 && throughput > d.capacity.high() {
		d.capacity.rate = 0 // the path's capacity has increased
	}
	next := d.rate
	switch {
	case d.capacity.rate != 0:
		// Near the capacity: add about one packet per response time.
		next += max(1000*8*1e6/(rtt+100_000), 4000) * elapsed
	case d.starting:
		next *= math.Pow(2, elapsed)
	default:
		next *= math.Pow(1.08, elapsed)
	}
	// A rate far above the sent rate would be unproven.
	if limit := 1.5*throughput + 10_000; next > limit {
		next = max(limit, d.rate)
	}
	d.rate = clamp(next)
}

func (d *delayLimit) decrease(throughput, rtt float64, now int64) bool {
	// The effect of a decrease is known one response time later at the earliest.
	if d.decreased != 0 && float64(now-d.decreased) < min(max(rtt, 50_000), 300_000) {
		return false
	}
	d.starting, d.holding = false, true
	d.changed, d.decreased = now, now
	next := 0.85 * d.rate
	if throughput > 0 {
		next = 0.85 * throughput
		if d.capacity.rate != 0 && throughput < d.capacity.low() {
			d.capacity.rate = 0
		}
		d.capacity.add(throughput)
	}
	d.rate = clamp(min(next, d.rate))
	return true
}

// probed handles the rate that a probe has shown the path to carry.
func (d *delayLimit) probed(rate float64) {
	if rate > d.rate {
		d.rate = clamp(rate)
		d.capacity.rate = 0
	}
}
