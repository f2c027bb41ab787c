package hub

import "time"

const (
	// paceSpan is the time over which a pace is measured: long enough for a picture without delay, and short enough that
	// the drift between the encoder's clock and ours doesn't matter.
	paceSpan = 10 * time.Second
	// idleMargin is how long before the next unit that is expected to wake a reader Idle ends: timers are late.
	idleMargin = 10 * time.Millisecond
)

// pace estimates when pictures arrive: never earlier than the fastest of the last paceSpan. Its owner serializes access.
type pace struct {
	track *Track
	epoch uint32
	start time.Time     // of the measurement: DTS 0 of the first picture, on the clock of Unit.Arrived
	since time.Time     // when the current span began
	now   time.Duration // least delay against start in the current span
	last  time.Duration // the same for the span before
}

// add adds the next picture.
func (p *pace) add(u *Unit) {
	if u.Track != p.track || u.Epoch != p.epoch {
		*p = pace{track: u.Track, epoch: u.Epoch, start: u.Arrived.Add(-u.DTS), since: u.Arrived}
		return
	}
	delay := u.Arrived.Sub(p.start) - u.DTS
	if u.Arrived.Sub(p.since) > paceSpan {
		p.since, p.last, p.now = u.Arrived, p.now, delay
	}
	p.now = min(p.now, delay)
}

// earliest returns when a picture with a DTS arrives at the earliest, if it isn't faster than all recent ones.
func (p *pace) earliest(dts time.Duration) time.Time {
	return p.start.Add(dts + min(p.now, p.last))
}

// Idle returns for how long after now, on the clock of Unit.Arrived, no unit is expected that wakes a reader. An input
// may leave its data unread for so long: it then takes several units at once, and no reader gets one later. The result
// is 0 or less if that isn't known, for example while a reader wants each unit at once.
func (p *Publisher) Idle(now time.Time) time.Duration {
	s := p.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.publisher != p || len(s.readers) == 0 || s.pace.track == nil || s.pace.epoch != s.epoch {
		return 0
	}
	until := s.pattern.nextKey()
	for _, r := range s.readers {
		quiet := r.sleeps()
		if quiet.Video != s.pace.track || quiet.Epoch != s.epoch {
			return 0
		}
		until = min(until, quiet.Until)
	}
	return s.pace.earliest(until).Sub(now) - idleMargin
}
