package bridge

import "time"

// maxDrift is how far a track's own clock may be from our clock before its
// timeline counts as broken: a browser that was asleep, or another encoder.
const maxDrift = 2 * time.Second

// clock turns the RTP timestamps of one track into times since an origin that all
// tracks of a publisher share. Tracks are set side by side by when their first
// packets arrived: they come over one path, so that lips and voice are as close as
// the encoders' delays.
type clock struct {
	rate    int64
	started bool
	anchor  time.Duration // of the first packet since the last break
	first   int64         // its unwrapped timestamp
	last    int64         // the newest unwrapped timestamp
}

// unwrap extends a timestamp of 32 bits by its nearness to the newest one.
func (c *clock) unwrap(ts uint32) int64 {
	if !c.started {
		return int64(ts)
	}
	return c.last + int64(int32(ts-uint32(c.last)))
}

// place finds a packet's time. broken tells that it doesn't follow those before,
// and begins a new timeline at its arrival.
func (c *clock) place(ts uint32, arrived time.Duration) (at time.Duration, broken bool) {
	wide := c.unwrap(ts)
	if c.started {
		at = c.anchor + time.Duration((wide-c.first)*int64(time.Second)/c.rate)
		if d := at - arrived; d > -maxDrift && d < maxDrift {
			c.last = wide
			return at, false
		}
		broken = true
	}
	c.started, c.anchor, c.first, c.last = true, arrived, wide, wide
	return arrived, broken
}
