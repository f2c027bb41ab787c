package hub

import "time"

// pattern is what the order of a publisher's pictures shows of its encoder's settings.
// Its owner serialises access.
type pattern struct {
	epoch     uint32
	begun     bool
	shown     time.Duration // newest PTS
	decoded   time.Duration // newest DTS
	reordered bool
	key       time.Duration // DTS of the newest key picture
	keyed     bool
	interval  time.Duration // between the last two key pictures; 0 before the second one
}

// add takes the next picture.
func (p *pattern) add(u *Unit) {
	if !p.begun || u.Epoch != p.epoch {
		*p = pattern{epoch: u.Epoch, begun: true, shown: u.PTS}
	}
	p.reordered = p.reordered || u.PTS < p.shown
	p.shown, p.decoded = max(p.shown, u.PTS), u.DTS
	if !u.Key {
		return
	}
	if p.keyed {
		p.interval = u.DTS - p.key
	}
	p.key, p.keyed = u.DTS, true
}

// keyInterval is the time between key pictures. A group that is longer already than the
// last one counts before it ends.
func (p *pattern) keyInterval() time.Duration {
	if !p.keyed {
		return 0
	}
	return max(p.interval, p.decoded-p.key)
}
