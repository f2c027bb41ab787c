package bridge

import "time"

// maxDrift is how far a track's clock may be off the server's clock before its timeline counts
// as broken, for instance after a browser was suspended or with another encoder.
const maxDrift = 2 * time.Second

// clock converts the RTP timestamps of one track to times since an origin that all tracks of a
// publisher share. The arrival of each track's first packet aligns the tracks: they use the
// same path, so that audio and video are in sync up to the encoders' delays.
type clock struct {
	rate    int64
	started bool
	anchor  time.Duration // time of the first packet since the last break
	first   int64         // its unwrapped timestamp
	last    int64         // the newest unwrapped timestamp
}

// unwrap extends a 32-bit timestamp to the value nearest to the newest one.
func (c *clock) unwrap(ts uint32) int64 {
	if !c.started {
		return int64(ts)
	}
	return c.last + int64(int32(ts-uint32(c.last)))
}

// place returns a packet's time. broken means that it doesn't continue the timeline; a new one
// then begins at the packet's arrival.
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
