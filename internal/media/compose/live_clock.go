package compose

import "time"

const (
	// liveWindow is the time over which the packet with the least delay is looked for.
	liveWindow = 5 * time.Second
	// liveBreak is the change of the delay from which a track's timestamps count as begun again.
	liveBreak = 2 * time.Second
)

// liveClock places the packets of one track: at the arrival that they would have with the least delay of the last seconds.
type liveClock struct {
	rate  int64
	begun bool
	first int64 // an unwrapped timestamp
	last  int64 // the newest one

	// least is the least delay of the window that began at since, and before that of the window before it.
	least, before time.Duration
	since         time.Duration
}

// place returns the time of a packet that has arrived at a time.
func (c *liveClock) place(ts uint32, arrived time.Duration) time.Duration {
	if !c.begun {
		c.restart(int64(ts), arrived)
	}
	wide := c.last + int64(int32(ts-uint32(c.last)))
	delay := arrived - c.media(wide)
	if off := delay - min(c.least, c.before); off > liveBreak || off < -liveBreak {
		c.restart(wide, arrived)
		delay = arrived
	}
	c.last = max(c.last, wide)
	if arrived-c.since >= liveWindow {
		c.before, c.least, c.since = c.least, delay, arrived
	}
	c.least = min(c.least, delay)
	return c.media(wide) + min(c.least, c.before)
}

func (c *liveClock) restart(wide int64, arrived time.Duration) {
	c.begun, c.first, c.last = true, wide, wide
	c.least, c.before, c.since = arrived, arrived, arrived
}

// media is the time of a timestamp since the first one. It does not overflow within years.
func (c *liveClock) media(wide int64) time.Duration {
	ticks := wide - c.first
	return time.Duration(ticks/c.rate)*time.Second + time.Duration(ticks%c.rate)*time.Second/time.Duration(c.rate)
}
