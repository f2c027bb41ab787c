package bandwidth

import "math"

// throughput is the rate at which packets arrive, smoothed by the reliability of its samples.
type throughput struct {
	rate     float64 // bits per second, 0 for unknown
	variance float64
	previous int64
	window   int64
	bits     float64

	slots [slots]struct {
		number int64
		bits   float64
	}
}

const (
	// slot is a time span in µs, and slots is how many of them are kept.
	slot  = 50_000
	slots = 16
)

func (t *throughput) reset() { *t = throughput{rate: t.rate, variance: 50} }

// add adds a packet that arrived at a time in µs.
func (t *throughput) add(at int64, size int) {
	now := &t.slots[uint64(at/slot)%slots]
	if now.number != at/slot {
		now.number, now.bits = at/slot, 0
	}
	now.bits += float64(size) * 8
	length := int64(150_000)
	if t.rate == 0 {
		length = 500_000
	}
	if t.previous != 0 {
		elapsed := at - t.previous
		if elapsed < 0 || elapsed > 2_000_000 {
			// The clock has changed, or nothing was sent.
			t.window, t.bits = 0, 0
		} else {
			t.window += elapsed
			if elapsed > length {
				t.bits = 0
				t.window %= length
			}
		}
	}
	t.previous = at
	if t.window >= length {
		t.take(t.bits / float64(length) * 1e6)
		t.window -= length
		t.bits = 0
	}
	t.bits += float64(size) * 8
}

// take adds a sample. The further it is off, the lower its weight.
func (t *throughput) take(sample float64) {
	if t.rate == 0 {
		t.rate, t.variance = sample, 50
		return
	}
	doubt := 10 * math.Abs(t.rate-sample) / t.rate
	doubt *= doubt
	predicted := t.variance + 5
	t.rate = max((doubt*t.rate+predicted*sample)/(doubt+predicted), 1)
	t.variance = doubt * predicted / (doubt + predicted)
}

// peak is the highest rate at which packets arrived over 150 ms within the last half second.
// While a queue grows, that is the capacity of the path.
func (t *throughput) peak() float64 {
	last := t.previous / slot
	bits := func(number int64) float64 {
		if s := &t.slots[uint64(number)%slots]; s.number == number {
			return s.bits
		}
		return 0
	}
	highest := 0.0
	for n := last - 10; n <= last-2; n++ {
		highest = max(highest, bits(n)+bits(n+1)+bits(n+2))
	}
	return max(highest/(3*slot)*1e6, t.rate)
}
