package bandwidth

import "math"

const (
	// fewLost is the share of lost packets below which a rate may rise, manyLost the one above
	// which it falls.
	fewLost  = 0.03
	manyLost = 0.1
	// maxUsual is the highest share that is assumed to be the path's own loss.
	maxUsual = 0.35
)

// longWait is the queueing delay in µs that indicates a full path: then the losses say nothing
// about the path's own loss.
const longWait = 50_000

// path holds other measurements of the path: rates in bits per second, times in µs, 0 for
// unknown.
type path struct {
	rate, throughput float64 // estimated, and measured at arrival
	rtt              float64
	wait             int64
}

// lossLimit is the rate that the losses allow. A path that always loses packets is
// distinguished from a full one by the effect of a lower rate: on the former, the rate has no
// effect, and its loss becomes the path's own loss.
type lossLimit struct {
	rate float64 // +Inf without a limit

	received, lost int
	since          int64
	smooth         float64
	own            float64 // the path's own loss, at most proven
	proven         float64
	sampled        int64
	cut            int64

	// Loss before the first cut, and the rate that was sent then in bits per second.
	lossThen, sentThen float64
	unchanged          int
}

// usual is the share that the path always loses.
func (l *lossLimit) usual() float64 { return max(l.own, min(l.smooth, maxUsual)) }

// add counts packets, and takes a sample when there are enough.
func (l *lossLimit) add(received, lost int, on path, now int64) {
	if l.since == 0 {
		l.since = now
	}
	l.received += received
	l.lost += lost
	if total := l.received + l.lost; now-l.since >= 400_000 && total >= 50 || now-l.since >= 1_000_000 && total >= 20 {
		l.sample(float64(l.lost)/float64(total), on, now)
		l.received, l.lost, l.since = 0, 0, now
	}
}

// sample handles a share of lost packets.
func (l *lossLimit) sample(share float64, on path, now int64) {
	elapsed := min(float64(now-l.sampled)/1e6, 1)
	if l.sampled == 0 {
		elapsed, l.smooth = 0, share
	}
	l.sampled = now
	l.smooth += 0.5 * (share - l.smooth)
	l.own = min(l.own+0.1*(l.smooth-l.own), l.proven)
	l.proven += 0.005 * (l.own - l.proven)
	sending := on.rate
	if on.throughput > 0 {
		sending = on.throughput / max(1-l.smooth, 0.1)
	}
	if l.sentThen != 0 && on.wait < longWait {
		l.compare(share, sending)
	}
	excess := max(l.smooth-l.own, 0) / (1 - l.own)
	switch {
	case excess > manyLost && float64(now-l.cut) > 300_000+on.rtt:
		if l.sentThen == 0 {
			l.lossThen, l.sentThen = l.smooth, sending
		}
		l.cut = now
		// relative to the rate that is sent, not to the estimate
		l.rate = clamp(min(on.rate, sending) * (1 - 0.75*excess))
	case excess < fewLost+0.02 && !math.IsInf(l.rate, 1):
		l.rate *= math.Pow(1.3, elapsed)
		l.sentThen, l.unchanged = 0, 0
		if l.rate > 1.5*max(on.rate, on.throughput) || l.rate > maxRate {
			l.rate = math.Inf(1)
		}
	}
}

// compare decides whether lower rates have had an effect: if the path was full, it would lose
// less now. stuck means that the sender can't send less.
func (l *lossLimit) compare(share, sending float64) {
	full := max(0, 1-(1-l.lossThen)*l.sentThen/max(sending, 1))
	stuck := l.rate < 0.9*sending && sending > 0.9*l.sentThen
	if !stuck && (sending > l.sentThen || l.lossThen-full < 0.08) {
		return // too early to decide
	}
	if !stuck && share <= full+0.5*(l.lossThen-full) {
		l.unchanged = 0
		return
	}
	enough := 2
	if stuck {
		enough = 4 // the last cut may not have had its effect yet
	}
	if l.unchanged++; l.unchanged >= enough {
		l.own = min(l.smooth, maxUsual)
		l.proven = min(l.own+0.03, maxUsual)
		l.sentThen, l.unchanged = 0, 0
	}
}

// probed handles the rate that a probe has shown the path to carry.
func (l *lossLimit) probed(rate float64) {
	if rate > l.rate {
		l.rate = rate
	}
}
