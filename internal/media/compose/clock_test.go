package compose

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sender is a simulated participant: its clock, two tracks, and its network.
type sender struct {
	offset, drift float64 // of its clock, in seconds and as a ratio
	transit       float64 // the smallest, in seconds
	jitter        float64 // mean delay of the network's queues, in seconds
	loss          float64
	joined, left  float64
	sound, image  stream
	reports       bool
	set           float64 // when its clock is set 5 minutes ahead; 0 for never
	rerouted      float64 // the longer delay of the network in the second half, in seconds
}

// stream is a simulated track.
type stream struct {
	rate, drift, every float64
	first              uint32
	o                  *observer
	sent               []packet
	raw                []rawReport
}

// rawReport is a sender report as it arrives.
type rawReport struct {
	arrived time.Duration
	ntp     uint64
	ts      uint32
}

// packet is one that arrived; at is when it was captured.
type packet struct {
	at      float64
	arrived time.Duration
	ts      uint32
}

func (s *sender) clock(at float64) float64 {
	now := 3.9e9 + s.offset + at*(1+s.drift)
	if s.set > 0 && at >= s.set {
		now += 300
	}
	return now
}

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

// run simulates the sender with a random seed.
func (s *sender) run(seed uint64) {
	const base = 3_900_000_000
	random := rand.New(rand.NewPCG(seed, 1))
	for _, x := range []*stream{&s.sound, &s.image} {
		x.o = &observer{rate: x.rate}
		x.first = random.Uint32()
		ts := func(at float64) uint32 { return x.first + uint32(int64((at-s.joined)*x.rate*(1+x.drift))) }
		next, arrived := s.joined+2.5, 0.0 // of the reports
		for at := s.joined; at < s.left; at += x.every {
			transit := s.transit
			if at > (s.joined+s.left)/2 {
				transit += s.rerouted
			}
			arrived = max(arrived, at+transit+random.ExpFloat64()*s.jitter) // packets keep their order
			if s.reports && at >= next {
				next += 3
				whole, fraction := math.Modf(s.clock(at))
				ntp := uint64(whole)<<32 | uint64(fraction*(1<<32))
				x.o.report(seconds(arrived), ntp, base, ts(at))
				x.raw = append(x.raw, rawReport{seconds(arrived), ntp, ts(at)})
			}
			if random.Float64() >= s.loss {
				x.sent = append(x.sent, packet{at, seconds(arrived), ts(at)})
				x.o.packet(seconds(arrived), ts(at))
			}
		}
	}
}

// errors returns the range of the differences between the placed times of a track's packets and their capture, in seconds.
func (x *stream) errors(m *mapping) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, p := range x.sent {
		d := m.place(p.arrived, p.ts).Seconds() - p.at
		least, most = min(least, d), max(most, d)
	}
	return least, most
}

func newSender(joined, left float64) *sender {
	return &sender{
		transit: 0.02, jitter: 0.01, joined: joined, left: left, reports: true,
		sound: stream{rate: 48_000, every: 0.02}, image: stream{rate: 90_000, every: 1. / 15},
	}
}

// TestSynchronize simulates two hours. A sender's sound and pictures must be within 45 ms of each other at any time, and all senders
// within 80 ms.
func TestSynchronize(t *testing.T) {
	t.Parallel()
	const hours = 7200
	for name, change := range map[string]func(a, b *sender){
		"good clocks":  func(_, _ *sender) {},
		"drift apart":  func(a, b *sender) { a.drift, b.drift = 200e-6, -200e-6 },
		"cards drift":  func(a, b *sender) { a.sound.drift, b.sound.drift = 200e-6, -200e-6 },
		"all drift":    func(a, _ *sender) { a.drift, a.sound.drift, a.image.drift = 200e-6, -200e-6, 100e-6 },
		"5 minutes":    func(a, b *sender) { a.offset, b.offset = 300, -300 },
		"set":          func(a, _ *sender) { a.set = 3000 },
		"loss":         func(a, b *sender) { a.loss, b.loss = 0.2, 0.05 },
		"late":         func(a, _ *sender) { a.transit, a.jitter = 0.06, 0.05 },
		"short":        func(a, _ *sender) { a.joined, a.left = 7000, 7020 },
		"rejoined":     func(a, b *sender) { a.left, b.joined, b.offset = 3000, 3010, 300 },
		"no reports":   func(a, _ *sender) { a.reports = false },
		"lossy clocks": func(a, b *sender) { a.drift, a.loss, b.sound.drift, b.loss = -200e-6, 0.1, 200e-6, 0.1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := newSender(0, hours), newSender(100, hours)
			change(a, b)
			from, to := math.Inf(1), math.Inf(-1)
			for i, s := range []*sender{a, b} {
				s.run(uint64(i))
				m := synchronize([]*observer{s.sound.o, s.image.o})
				soundLeast, soundMost := s.sound.errors(m[0])
				imageLeast, imageMost := s.image.errors(m[1])
				require.LessOrEqual(t, max(soundMost, imageMost)-min(soundLeast, imageLeast), 0.045, "sender %d", i)
				from, to = min(from, soundLeast, imageLeast), max(to, soundMost, imageMost)
			}
			require.LessOrEqual(t, to-from, 0.08)
		})
	}
}

// TestGarbage: timestamps and reports without any sense are replaced by the arrival.
func TestGarbage(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	o, again := &observer{rate: 90_000}, []packet{}
	for i := range 20_000 {
		p := packet{arrived: time.Duration(i) * 10 * time.Millisecond, ts: random.Uint32()}
		o.packet(p.arrived, p.ts)
		again = append(again, p)
		if i%10 == 0 {
			o.report(p.arrived, random.Uint64(), 0, random.Uint32())
		}
	}
	m := synchronize([]*observer{o, {rate: 48_000}})
	for _, p := range again {
		at := m[0].place(p.arrived, p.ts)
		require.GreaterOrEqual(t, at, p.arrived-mostEarly)
		require.LessOrEqual(t, at, p.arrived+mostLate)
	}
	require.Equal(t, time.Minute, m[1].place(time.Minute, 5), "a track without packets")
}
