package hub

import (
	"math"
	"time"
)

// pattern derives an encoder's settings from the order of its pictures. Its owner serializes
// access.
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

// add adds the next picture.
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

// keyInterval is the time between key pictures. If the current group is already longer than the
// last one, its length so far is returned.
func (p *pattern) keyInterval() time.Duration {
	if !p.keyed {
		return 0
	}
	return max(p.interval, p.decoded-p.key)
}

// nextKey is the DTS of the next key picture, if the encoder's interval stays the same; the largest
// time if there is no interval, or if the next key picture is overdue.
func (p *pattern) nextKey() time.Duration {
	if next := p.key + p.interval; p.interval > 0 && next > p.decoded {
		return next
	}
	return math.MaxInt64
}
