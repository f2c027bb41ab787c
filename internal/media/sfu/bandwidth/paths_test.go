package bandwidth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const s = time.Second

// layers are the rates of a publisher's simulcast layers, in bits per second.
func layers() []float64 { return []float64{150e3, 500e3, 2500e3} }

// within asserts that the mean rate between two times is in a range, in Mbit/s.
func (s *simulation) within(from, to time.Duration, low, high float64) {
	s.t.Helper()
	mean := s.mean(from, to)
	assert.GreaterOrEqual(s.t, mean, low, "from %v to %v", from, to)
	assert.LessOrEqual(s.t, mean, high, "from %v to %v", from, to)
}

// above is the share of the time between two times in which that layer or a higher one is sent.
func (s *simulation) above(layer int, from, to time.Duration) float64 {
	n := 0
	for _, l := range s.layers[from/time.Millisecond : to/time.Millisecond] {
		if l >= layer {
			n++
		}
	}
	return float64(n) / float64((to-from)/time.Millisecond)
}

// wait is the median queueing delay at the bottleneck.
func (s *simulation) wait() time.Duration { return s.delays[len(s.delays)/2] }

func TestConstantLinksAreFilled(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.3e6, 0.5e6, 1e6, 3e6, 8e6, 20e6} {
		sim := simulate(t, 300_000, link{capacity: constant(rate)}, source{greedy: 40e6}).run(40 * s)
		sim.show()
		sim.within(10*s, 40*s, 0.75*rate/1e6, 1.02*rate/1e6)
		assert.Less(t, sim.dropped, 150)
		assert.Less(t, sim.wait(), 150*time.Millisecond)
	}
}

func TestTheBestLayerIsSoonSent(t *testing.T) {
	t.Parallel()
	wide := simulate(t, 300_000, link{capacity: constant(10e6)}, source{layers: layers()}).run(30 * s)
	wide.show()
	assert.InDelta(t, 1, wide.above(2, 4*s, 30*s), 0)
	assert.Less(t, wide.padded*50, wide.sent, "padding is for finding out only")
	narrow := simulate(t, 300_000, link{capacity: constant(1e6)}, source{layers: layers()}).run(60 * s)
	narrow.show()
	assert.Greater(t, narrow.above(1, 5*s, 60*s), 0.95)
	assert.Less(t, narrow.above(2, 5*s, 60*s), 0.02)
	assert.Less(t, narrow.padded*20, narrow.sent)
	assert.Less(t, narrow.wait(), 50*time.Millisecond)
}

func TestLossAloneIsNoFullPath(t *testing.T) {
	t.Parallel()
	for share, from := range map[float64]time.Duration{0.01: 5 * s, 0.05: 5 * s, 0.2: 15 * s} {
		sim := simulate(t, 300_000, link{capacity: constant(10e6), loss: constant(share)}, source{layers: layers()}).run(60 * s)
		sim.show()
		assert.Greater(t, sim.above(2, from, 60*s), 0.9, "%v lost", share)
		sim = simulate(t, 300_000, link{capacity: constant(3e6), loss: constant(share)}, source{greedy: 20e6}).run(60 * s)
		sim.show()
		sim.within(from, 60*s, 2.1, 3.1)
	}
}

func TestLossThatComesAndGoes(t *testing.T) {
	t.Parallel()
	sim := simulate(t, 300_000, link{capacity: constant(3e6), loss: steps(0, 20*s, 0.2, 40*s, 0.0)}, source{greedy: 20e6}).run(60 * s)
	sim.show()
	sim.within(30*s, 40*s, 1.2, 3.1)
	sim.within(50*s, 60*s, 2.3, 3.05)
}

// TestAPolicer: it drops packets above its rate at once, without a queue that delays would
// show.
func TestAPolicer(t *testing.T) {
	t.Parallel()
	sim := simulate(t, 300_000, link{capacity: constant(1e6), queue: 40 * time.Millisecond}, source{greedy: 20e6}).run(60 * s)
	sim.show()
	sim.within(15*s, 60*s, 0.5, 1.15)
}

func TestCapacityThatFallsAndRises(t *testing.T) {
	t.Parallel()
	capacity := steps(4e6, 20*s, 1e6, 40*s, 4e6)
	sim := simulate(t, 300_000, link{capacity: capacity}, source{greedy: 20e6}).run(80 * s)
	sim.show()
	sim.within(10*s, 20*s, 3, 4.1)
	sim.within(22*s, 40*s, 0.7, 1.05)
	sim.within(60*s, 80*s, 2.9, 4.1)
	sim = simulate(t, 300_000, link{capacity: capacity}, source{layers: layers()}).run(80 * s)
	sim.show()
	assert.Greater(t, sim.above(2, 5*s, 20*s), 0.95)
	assert.Less(t, sim.above(2, 21500*time.Millisecond, 40*s), 0.02)
	assert.Greater(t, sim.above(1, 25*s, 40*s), 0.8)
	assert.InDelta(t, 1, sim.above(2, 65*s, 80*s), 0)
}

func TestJitterIsNoQueue(t *testing.T) {
	t.Parallel()
	for _, jitter := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond} {
		sim := simulate(t, 300_000, link{capacity: constant(3e6), jitter: jitter}, source{greedy: 20e6}).run(40 * s)
		sim.show()
		sim.within(10*s, 40*s, 2, 3.1)
		sim = simulate(t, 300_000, link{capacity: constant(10e6), jitter: jitter}, source{layers: layers()}).run(40 * s)
		assert.Greater(t, sim.above(2, 8*s, 40*s), 0.95)
	}
}

func TestOtherTrafficIsLeftItsShare(t *testing.T) {
	t.Parallel()
	sim := simulate(t, 300_000, link{capacity: constant(3e6), cross: steps(0, 20*s, 1.5e6, 40*s, 0.0)}, source{greedy: 20e6}).run(70 * s)
	sim.show()
	sim.within(22*s, 40*s, 1, 1.8)
	sim.within(58*s, 70*s, 2.3, 3.1)
}

func TestReportsThatAreMissingAreNoFullPath(t *testing.T) {
	t.Parallel()
	silent := func(at time.Duration) bool {
		return at > 20*s && at < 22500*time.Millisecond || at > 40*s && at < 55*s
	}
	sim := simulate(t, 300_000, link{capacity: constant(3e6), silent: silent}, source{greedy: 20e6}).run(70 * s)
	sim.show()
	assert.Greater(t, sim.low(20*s, 30*s), 2.0)
	assert.Less(t, sim.mean(53*s, 55*s), 0.4, "a path without feedback is not filled forever")
	assert.GreaterOrEqual(t, sim.low(40*s, 56*s), 0.09)
	sim.within(60*s, 70*s, 2.2, 3.1)
}

// TestALongerPath: a higher delay of the path looks like a queue that can't be emptied.
func TestALongerPath(t *testing.T) {
	t.Parallel()
	sim := simulate(t, 300_000, link{capacity: constant(3e6)}, source{greedy: 20e6}).run(20 * s)
	sim.link.delay += 150 * time.Millisecond
	sim.run(30 * s).show()
	assert.Greater(t, sim.low(20*s, 30*s), 0.3)
	sim.within(35*s, 50*s, 2.2, 3.1)
}

func TestMutedForAWhile(t *testing.T) {
	t.Parallel()
	sim := simulate(t, 300_000, link{capacity: constant(3e6)}, source{greedy: 2e6}).run(20 * s)
	before := sim.e.Rate()
	sim.now += 60 * s
	sim.rates = append(sim.rates, make([]float64, 60_000)...)
	sim.nextReport = sim.now
	sim.run(s)
	assert.InDelta(t, before, sim.e.Rate(), float64(before)/4)
}
