// Package bandwidth estimates how much a subscriber's path carries, from what the
// subscriber reports about the packets that it was sent.
//
// Three limits are kept, and the lowest counts: what the packets' delays allow
// (a queue that grows is noticed before it overflows, as in Google Congestion
// Control), what their loss allows, and what the subscriber asks for. A publisher
// sends no more than it has, so a rate above what is sent is only believed once
// it was tried: Probe asks for padding.
//
// All is computed from the times that are handed in.
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
	// staleLimit is after how many µs without another one a REMB is forgotten.
	staleLimit = 15_000_000
	// silence is after how many µs without a report on what was sent the path is
	// no longer taken for what it was; then the rate falls each second.
	silence = 3_000_000
)

// Estimator follows one subscriber's path. All methods may be called from any
// goroutine; Sent allocates nothing.
type Estimator struct {
	rate atomic.Int64

	mu      sync.Mutex
	epoch   time.Time
	history history
	clock   arrivalClock
	arrived []arrival // those of one report, kept for the next one's

	throughput throughput
	trend      trend
	queue      queue
	delay      delayLimit
	loss       lossLimit
	prober     prober

	rtt      float64 // µs, 0 for unknown
	reported int64   // when the last report came, 0 for never
	unheard  int64   // when the first packet was sent after it, 0 for none
	lowered  int64   // when silence lowered the rate last
	trusted  float64 // what delays allowed before it did, 0 while it doesn't
	back     int64   // when the last silence ended: what was lost before says nothing
	initial  float64
	limit    float64 // what was asked for, +Inf for nothing
	limited  int64
}

// New makes an Estimator that begins at a rate, in bits per second.
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

// since is a time in µs from the first one that was handed in, 1 at least; e.mu
// is held.
func (e *Estimator) since(at time.Time) int64 {
	if e.epoch.IsZero() {
		e.epoch = at.Add(-time.Microsecond)
	}
	return max(at.Sub(e.epoch).Microseconds(), 1)
}

// Sent notes a packet of so many bytes on the wire with its transport-wide
// sequence number. Padding tells as much of a higher rate as media does.
func (e *Estimator) Sent(seq uint16, size int, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.since(at)
	cluster := e.prober.sent(size, now)
	e.history.add(packet{at: now, size: uint16(min(max(size, 0), math.MaxUint16)), seq: seq, state: sent, cluster: cluster})
	e.listen(now)
}

// listen lowers the rate while nothing is heard of what is sent; e.mu is held.
func (e *Estimator) listen(now int64) {
	if e.unheard == 0 {
		e.unheard = now
	}
	if e.reported == 0 || now-e.unheard < silence {
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

// Feedback takes a transport-wide report.
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
	e.reported, e.unheard = now, 0
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

// renew begins to measure again after a silence: what was measured is older than what
// has happened to the path. That it was gone says nothing of how much it carries;
// until that is known it is taken for what it was, or for what a new one is; e.mu is held.
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

// read finds the packets that a report tells of, in the order of their arrival
// in e.arrived; e.mu is held.
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

// Loss takes the fraction lost of a receiver report, 0 to 1, for subscribers that
// send no transport-wide reports.
func (e *Estimator) Loss(fraction float64, at time.Time) {
	if !(fraction >= 0 && fraction <= 1) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.since(at)
	if e.reported != 0 && now-e.reported < silence {
		return // the same, but known better
	}
	e.loss.sample(fraction, path{rate: e.estimate(), rtt: e.rtt}, now)
	if fraction < fewLost {
		e.delay.rate = clamp(e.delay.rate * 1.08)
	}
	e.publish()
}

// Limit takes a REMB in bits per second.
func (e *Estimator) Limit(rate int, at time.Time) {
	if rate <= 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.limit, e.limited = float64(rate), e.since(at)
	e.publish()
}

// Rate is what the path carries, in bits per second.
func (e *Estimator) Rate() int { return int(e.rate.Load()) }

// Undelayed is the rate up to which nothing waits on the path, in bits per second:
// Rate, but for what follows from loss. A burst of that says little of the path.
func (e *Estimator) Undelayed() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int(max(min(e.delay.rate, e.limit, maxRate), minRate))
}

// Probe is how many bytes of padding to send now so as to find out whether the
// path carries the wanted rate, in bits per second; 0 for none. While something
// is wanted it is asked anew every few ms, since padding is spread over a while.
func (e *Estimator) Probe(wanted int, at time.Time) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.since(at)
	if now-e.limited > staleLimit {
		e.limit = math.Inf(1)
	}
	if e.unheard != 0 && now-e.unheard > 500_000 {
		return 0 // nobody would tell how it went
	}
	if e.trend.signal == overuse || now-e.delay.decreased < 1_500_000 || now-e.loss.cut < 1_500_000 {
		e.prober.postpone(now)
		return 0
	}
	target := min(float64(wanted), e.limit, maxRate)
	return e.prober.pad(target, e.estimate(), e.delay.starting, now)
}

// estimate is the lowest of the limits; e.mu is held.
func (e *Estimator) estimate() float64 {
	return max(min(e.delay.rate, e.loss.rate, e.limit, maxRate), minRate)
}

func (e *Estimator) publish() { e.rate.Store(int64(e.estimate())) }
