// Package bandwidth estimates how much a subscriber's path carries, from the subscriber's
// reports about the packets that were sent to it.
//
// It keeps three limits, and the lowest one applies: what the packets' delays allow (a growing
// queue is noticed before it overflows, as in Google Congestion Control), what their loss
// allows, and what the subscriber requests. A publisher sends no more media than it has, so a
// rate above what is sent must be tried before it is believed: for that, Probe requests
// padding.
//
// All computations use the times in the arguments; the package reads no clock.
package bandwidth

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"
)

const (
	// minRate and maxRate bound every estimate, in bits per second.
	minRate = 30_000
	maxRate = 50_000_000
	// staleLimit is the time in µs after which a REMB expires if there is no newer one.
	staleLimit = 15_000_000
	// silence is the time in µs without a report on sent packets after which the estimate is no
	// longer trusted; from then on the rate falls each second.
	silence = 3_000_000
)

// Estimator estimates one subscriber's path. All methods are safe for concurrent use; Sent
// allocates nothing, except when a higher rate makes the history grow.
type Estimator struct {
	rate atomic.Int64

	mu      sync.Mutex
	epoch   time.Time
	history history
	clock   arrivalClock
	arrived []arrival // arrivals in one report; the memory is reused

	throughput throughput
	trend      trend
	queue      queue
	delay      delayLimit
	loss       lossLimit
	prober     prober

	rtt        float64 // µs, 0 for unknown
	reported   int64   // when the last report came, 0 for never
	unreported int64   // when the first packet after the last report was sent, 0 for none
	lowered    int64   // when silence last lowered the rate
	trusted    float64 // the delay limit before silence lowered it; 0 if it hasn't
	back       int64   // end of the last silence: losses before it are ignored
	initial    float64
	limit      float64 // requested by the subscriber, +Inf for none
	limited    int64
}

// New returns an Estimator that begins with a rate, in bits per second.
func New(initial int) *Estimator {
	rate := clamp(float64(initial))
	e := &Estimator{limit: math.Inf(1), initial: rate}
	e.trend.reset()
	e.throughput.reset()
	e.delay = delayLimit{rate: rate, capacity: capacity{deviation: 0.4}, starting: true}
	e.loss = lossLimit{rate: math.Inf(1)}
	e.rate.Store(int64(rate))
	return e
}

func clamp(rate float64) float64 { return min(max(rate, minRate), maxRate) }

// since converts a time to µs since the first call, 1 at least; e.mu is held.
func (e *Estimator) since(at time.Time) int64 {
	if e.epoch.IsZero() {
		e.epoch = at.Add(-time.Microsecond)
	}
	return max(at.Sub(e.epoch).Microseconds(), 1)
}

// Sent records a sent packet with its size on the wire in bytes and its transport-wide sequence
// number. Padding is as useful as media for a test of a higher rate.
func (e *Estimator) Sent(seq uint16, size int, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.since(at)
	cluster := e.prober.sent(size, now)
	e.history.add(packet{at: now, size: uint16(min(max(size, 0), math.MaxUint16)), seq: seq, state: sent, cluster: cluster})
	e.listen(now)
}

// listen lowers the rate while there are no reports on sent packets; e.mu is held.
func (e *Estimator) listen(now int64) {
	if e.unreported == 0 {
		e.unreported = now
	}
	if e.reported == 0 || now-e.unreported < silence {
		e.lowered = now
		return
	}
	if now-e.lowered < 1_000_000 {
		return
	}
	e.lowered = now
	e.trusted = max(e.trusted, e.delay.rate)
	e.delay.rate = max(0.7*e.delay.rate, min(e.delay.rate, 100_000))
	e.publish()
}

// Feedback handles a transport-wide congestion control report.
func (e *Estimator) Feedback(report *rtcp.TransportLayerCC, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.since(at)
	gap := e.reported != 0 && now-e.reported > silence
	if gap {
		e.back = now
	}
	received, lost := e.read(report, now)
	if received+lost == 0 {
		return
	}
	e.reported, e.unreported = now, 0
	if gap {
		e.renew()
	}
	signal := e.trend.signal
	for _, a := range e.arrived {
		e.throughput.add(a.at, a.size)
		signal = e.trend.add(a, now)
		if signal == overuse {
			e.delay.update(overuse, e.throughput.peak(), e.rtt, now)
		}
	}
	if signal != overuse && e.queue.stands() {
		signal = overuse
		if e.delay.update(overuse, e.throughput.peak(), e.rtt, now) {
			e.queue.cut()
		}
	}
	if signal != overuse {
		e.delay.update(signal, e.throughput.rate, e.rtt, now)
	}
	if signal == overuse {
		e.prober.overused(now)
	}
	e.loss.add(received, lost, path{rate: e.estimate(), throughput: e.throughput.rate, rtt: e.rtt, wait: e.queue.wait()}, now)
	if result, ok := e.prober.evaluate(now, e.loss.usual()); ok {
		e.delay.probed(result)
		e.loss.probed(result)
	}
	e.publish()
}

// renew restarts the measurements after a silence: they are older than the change of the
// path. The interruption says nothing about the path's capacity. Until that is known, the rate
// is the one before the silence, but at most the initial one; e.mu is held.
func (e *Estimator) renew() {
	e.trend.reset()
	e.throughput.reset()
	e.queue = queue{}
	if e.trusted == 0 {
		return
	}
	rate := max(e.delay.rate, min(e.trusted, e.initial))
	e.delay = delayLimit{rate: rate, capacity: capacity{deviation: 0.4}, starting: true}
	e.loss.rate, e.prober, e.trusted = math.Inf(1), prober{id: e.prober.id}, 0
}

// read finds the packets of a report and stores them in e.arrived, in the order of their
// arrival; e.mu is held.
func (e *Estimator) read(report *rtcp.TransportLayerCC, now int64) (received, lost int) {
	e.arrived = e.arrived[:0]
	newest, fastest := int64(0), int64(math.MaxInt64)
	for status := range statuses(report, &e.clock) {
		p := e.history.find(status.seq)
		if p == nil || now-p.at > maxAge {
			continue
		}
		if !status.received {
			if p.state == sent && p.at >= e.back {
				p.state = missing
				lost++
				e.prober.reported(p)
			}
			continue
		}
		switch p.state {
		case missing:
			lost-- // it was only late
		case sent:
			e.prober.reported(p)
		default:
			continue
		}
		p.state = acked
		received++
		newest, fastest = max(newest, p.at), min(fastest, status.at-p.at)
		e.prober.arrived(p, status.at)
		e.arrived = append(e.arrived, arrival{at: status.at, sent: p.at, size: int(p.size)})
	}
	sortArrivals(e.arrived)
	if newest > 0 {
		e.queue.report(fastest, now)
		if sample := float64(now - newest); e.rtt == 0 {
			e.rtt = sample
		} else {
			e.rtt += 0.1 * (sample - e.rtt)
		}
	}
	return received, max(lost, 0)
}

// Loss handles the fraction lost of a receiver report, 0 to 1, for subscribers that send no
// transport-wide reports.
func (e *Estimator) Loss(fraction float64, at time.Time) {
	if !(fraction >= 0 && fraction <= 1) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.since(at)
	if e.reported != 0 && now-e.reported < silence {
		return // transport-wide reports are more precise
	}
	e.loss.sample(fraction, path{rate: e.estimate(), rtt: e.rtt}, now)
	if fraction < fewLost {
		e.delay.rate = clamp(e.delay.rate * 1.08)
	}
	e.publish()
}

// Limit handles a REMB, in bits per second.
func (e *Estimator) Limit(rate int, at time.Time) {
	if rate <= 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.limit, e.limited = float64(rate), e.since(at)
	e.publish()
}

// Rate is the estimated capacity of the path, in bits per second.
func (e *Estimator) Rate() int { return int(e.rate.Load()) }

// Undelayed is the rate up to which no packets queue up on the path, in bits per second: Rate
// without the limit by loss. A burst of losses says little about the path.
func (e *Estimator) Undelayed() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int(max(min(e.delay.rate, e.limit, maxRate), minRate))
}

// Probe returns how many bytes of padding to send now to find out whether the path carries the
// wanted rate, in bits per second; 0 for none. While a higher rate is wanted, call it every few
// ms, since padding is spread over some time.
func (e *Estimator) Probe(wanted int, at time.Time) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.since(at)
	if now-e.limited > staleLimit {
		e.limit = math.Inf(1)
	}
	if e.unreported != 0 && now-e.unreported > 500_000 {
		return 0 // there would be no reports on the padding
	}
	if e.trend.signal == overuse || now-e.delay.decreased < 1_500_000 || now-e.loss.cut < 1_500_000 {
		e.prober.postpone(now)
		return 0
	}
	target := min(float64(wanted), e.limit, maxRate)
	return e.prober.pad(target, e.estimate(), e.delay.starting, now)
}

// estimate returns the lowest of the limits; e.mu is held.
func (e *Estimator) estimate() float64 {
	return max(min(e.delay.rate, e.loss.rate, e.limit, maxRate), minRate)
}

func (e *Estimator) publish() { e.rate.Store(int64(e.estimate())) }
