package bandwidth

const (
	// shortest and longest are the bounds of a cluster's duration, in µs.
	shortest = 80_000
	longest  = 250_000
	// clusterBytes is the size of a cluster, where its duration allows.
	clusterBytes = 12_000
	// fewest is how many packets a cluster needs for a result.
	fewest = 5
	// firstPause and longestPause are the bounds of the pause after a failure, in µs.
	firstPause   = 2_000_000
	longestPause = 16_000_000
)

// prober tries rates: for a moment as much is sent as a higher rate requires, and the change
// of the distances between the packets shows whether the path carries it.
type prober struct {
	id      uint8 // of the last cluster, never 0
	running bool  // padding is being requested
	waiting bool  // for reports
	wanted  float64
	target  float64
	start   int64
	length  int64
	expires int64

	// Packets and bytes of the cluster.
	packets, known, got int
	bytes               int
	firstBytes          int
	firstSent, lastSent int64
	base                int64 // arrival of the first packet
	n, x, y, xx, xy     float64
	next, pause         int64
}

// pad returns how many bytes to send now. It runs clusters up to the wanted rate.
func (p *prober) pad(wanted, rate float64, starting bool, now int64) int {
	switch {
	case p.running:
		elapsed := now - p.start
		if elapsed > p.length && p.packets >= fewest || elapsed > 2*longest {
			p.running, p.waiting = false, true
			p.expires = now + 1_000_000
			return 0
		}
	case p.waiting:
		if now > p.expires {
			p.finish(false, now)
		}
		return 0
	case rate >= wanted:
		return 0
	case now < p.next:
		return 0
	default:
		step := 2.0
		if starting {
			step = 3
		}
		p.begin(wanted, min(1.15*wanted, step*rate), now)
	}
	due := p.target/8*float64(min(now-p.start, p.length)+5_000)/1e6 - float64(p.bytes)
	// At most a tenth of a second's worth, even after a late call.
	return max(int(min(due, p.target/80)), 0)
}

func (p *prober) begin(wanted, target float64, now int64) {
	id := p.id%250 + 1
	*p = prober{
		id: id, running: true, wanted: wanted, target: target, start: now, next: p.next, pause: p.pause,
		length: int64(min(max(clusterBytes*8/target*1e6, shortest), longest)),
	}
}

// sent counts a packet that is sent during a cluster, and returns the cluster's id; 0 without a
// cluster.
func (p *prober) sent(size int, now int64) uint8 {
	if !p.running {
		return 0
	}
	if p.packets == 0 {
		p.firstSent, p.firstBytes = now, size
	}
	p.lastSent = now
	p.packets++
	p.bytes += size
	return p.id
}

// reported counts a packet whose status is known.
func (p *prober) reported(of *packet) {
	if of.cluster != 0 && of.cluster == p.id {
		p.known++
	}
}

// arrived adds a packet that arrived, at a time of the subscriber's clock.
func (p *prober) arrived(of *packet, at int64) {
	if of.cluster == 0 || of.cluster != p.id || !p.running && !p.waiting {
		return
	}
	if p.got == 0 {
		p.base = at - of.at
	}
	p.got++
	x, y := float64(of.at-p.firstSent), float64(at-of.at-p.base)
	p.n++
	p.x += x
	p.y += y
	p.xx += x * x
	p.xy += x * y
}

// evaluate returns the rate that a finished cluster has shown the path to carry.
func (p *prober) evaluate(now int64, usualLoss float64) (rate float64, ok bool) {
	if !p.waiting || p.known < p.packets && now < p.expires {
		return 0, false
	}
	if p.got < fewest || p.lastSent <= p.firstSent || 2*p.got < p.packets {
		p.finish(false, now)
		return 0, false
	}
	rate = float64(p.bytes-p.firstBytes) * 8 / float64(p.lastSent-p.firstSent) * 1e6
	// The slope is the increase of the delay per time of sending.
	slope := 0.0
	if down := p.n*p.xx - p.x*p.x; down > 0 {
		slope = max((p.n*p.xy-p.x*p.y)/down, 0)
	}
	rate /= 1 + slope
	if excess := 1 - float64(p.got)/float64(p.packets) - usualLoss - 0.05; excess > 0 {
		rate *= 1 - excess
	}
	full := slope > 0.15
	if full {
		rate *= 0.95
	}
	p.finish(!full && rate > 0.8*p.target, now)
	return rate, true
}

// overused ends a cluster that the path doesn't carry.
func (p *prober) overused(now int64) {
	if p.running {
		p.running, p.waiting = false, true // the packets so far are enough for a result
		p.expires = now + 300_000
	}
}

// postpone ends the current cluster and delays the next one.
func (p *prober) postpone(now int64) {
	if p.running {
		p.finish(false, now)
	}
}

// finish ends a cluster and sets when the next one may begin.
func (p *prober) finish(good bool, now int64) {
	p.running, p.waiting = false, false
	if good {
		p.pause, p.next = 0, now+50_000
		return
	}
	p.pause = min(max(2*p.pause, firstPause), longestPause)
	p.next = now + p.pause
}
