package restream

import (
	"time"

	"showfloor/internal/media/hub"
)

// timeline maps the times of units to those of a connection: they begin at 0 and never decrease within a track. After a break of the
// stream's own times they continue with the time that has passed.
type timeline struct {
	begun   bool
	epoch   uint32
	offset  time.Duration // from DTS to the time of the connection
	from    time.Duration // start of the epoch
	newest  time.Duration
	arrived time.Time // of the newest unit
}

// begin begins an epoch with its first unit.
func (t *timeline) begin(first *hub.Unit) {
	if t.begun {
		t.from = t.newest + max(first.Arrived.Sub(t.arrived), time.Millisecond)
	}
	t.begun, t.epoch, t.offset, t.newest = true, first.Epoch, t.from-first.DTS, t.from
}

// place returns the decoding time of a unit in milliseconds, which wraps as RTMP demands, and its composition time offset. ok is false for
// a unit from before the start of its epoch.
func (t *timeline) place(u *hub.Unit) (at uint32, offset int32, ok bool) {
	decoded, shown := u.DTS+t.offset, u.PTS+t.offset
	if u.Epoch != t.epoch || decoded < t.from {
		return 0, 0, false
	}
	if decoded > t.newest {
		t.newest = decoded
	}
	if u.Arrived.After(t.arrived) {
		t.arrived = u.Arrived
	}
	ms := decoded.Milliseconds()
	return uint32(ms), int32(floorMs(shown) - ms), true
}

// floorMs rounds down to milliseconds, also below zero.
func floorMs(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d < time.Duration(ms)*time.Millisecond {
		ms--
	}
	return ms
}
