package bandwidth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/rtcp"
	"github.com/stretchr/testify/require"
)

// link is a simulated path: a bottleneck with a queue, and impairments.
type link struct {
	capacity func(at time.Duration) float64 // bits per second
	queue    time.Duration                  // how long it may get before packets are dropped // 300 ms by default
	delay    time.Duration                  // one way
	jitter   time.Duration                  // additional random delay, without reordering
	loss     func(at time.Duration) float64
	cross    func(at time.Duration) float64 // other traffic, bits per second
	silent   func(at time.Duration) bool    // reports are lost
}

func constant(v float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return v }
}

// steps returns a value that changes at given times.
func steps(first float64, then ...any) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		v := first
		for i := 0; i < len(then); i += 2 {
			if at >= then[i].(time.Duration) {
				v = then[i+1].(float64)
			}
		}
		return v
	}
}

// source describes how fast to send: as fast as the estimate allows, or one of several layers,
// like a simulcast server.
type source struct {
	greedy float64   // maximum rate, bits per second
	layers []float64 // if set, the layers to choose from
}

// simulation runs an Estimator over a link.
type simulation struct {
	t      *testing.T
	link   link
	source source
	e      *Estimator
	random *rand.Rand
	start  time.Time

	now        time.Duration
	seq        uint16
	free       time.Duration // when the bottleneck has sent all queued packets
	lastCame   time.Duration
	inFlight   []flight
	recorder   *twcc.Recorder
	reports    []late
	nextReport time.Duration

	layer   int
	rates   []float64 // one for each ms
	layers  []int
	padded  int
	sent    int
	delays  []time.Duration
	dropped int
}

type flight struct {
	seq uint16
	at  time.Duration
}

type late struct {
	packet *rtcp.TransportLayerCC
	at     time.Duration
}

func simulate(t *testing.T, initial int, l link, s source) *simulation {
	t.Helper()
	if l.queue == 0 {
		l.queue = 300 * time.Millisecond
	}
	if l.delay == 0 {
		l.delay = 25 * time.Millisecond
	}
	for _, f := range []*func(time.Duration) float64{&l.loss, &l.cross} {
		if *f == nil {
			*f = constant(0)
		}
	}
	if l.silent == nil {
		l.silent = func(time.Duration) bool { return false }
	}
	return &simulation{
		t: t, link: l, source: s, e: New(initial), random: rand.New(rand.NewPCG(7, 9)),
		start: time.Unix(1_700_000_000, 0), seq: 65_000, recorder: twcc.NewRecorder(1),
	}
}

func (s *simulation) clock() time.Time { return s.start.Add(s.now) }

// send puts a packet on the link.
func (s *simulation) send(size int) {
	s.e.Sent(s.seq, size, s.clock())
	s.sent += size
	seq := s.seq
	s.seq++
	if s.random.Float64() < s.link.loss(s.now) {
		return
	}
	if s.pass(size) {
		came := max(s.free+s.link.delay+time.Duration(s.random.Float64()*float64(s.link.jitter)), s.lastCame)
		s.lastCame = came
		s.delays = append(s.delays, s.free-s.now)
		s.inFlight = append(s.inFlight, flight{seq, came})
	}
}

// pass sends a packet through the bottleneck; false when its queue is full.
func (s *simulation) pass(size int) bool {
	if s.free-s.now > s.link.queue {
		s.dropped++
		return false
	}
	s.free = max(s.free, s.now) + time.Duration(float64(size)*8/s.link.capacity(s.now)*float64(time.Second))
	return true
}

// run simulates a time, in steps of 1 ms.
func (s *simulation) run(d time.Duration) *simulation {
	for end := s.now + d; s.now < end; s.now += time.Millisecond {
		ms := int(s.now / time.Millisecond)
		if cross := s.link.cross(s.now); cross > 0 && ms%4 == 0 {
			s.pass(int(cross / 8 / 250))
		}
		s.choose()
		if ms%33 == 0 {
			s.frame(ms / 33)
		}
		if ms%20 == 0 {
			s.send(120) // sound
		}
		if ms%10 == 5 {
			s.probe()
		}
		s.deliver()
		s.rates = append(s.rates, float64(s.e.Rate()))
		s.layers = append(s.layers, s.layer)
	}
	return s
}

// choose selects a layer.
func (s *simulation) choose() {
	if len(s.source.layers) == 0 {
		return
	}
	rate := float64(s.e.Rate())
	for s.layer > 0 && s.source.layers[s.layer] > rate {
		s.layer--
	}
	if s.layer+1 < len(s.source.layers) && s.source.layers[s.layer+1] <= rate {
		s.layer++
	}
}

func (s *simulation) frame(n int) {
	rate := min(s.source.greedy, float64(s.e.Rate())) - 48_000 // of sound
	if len(s.source.layers) > 0 {
		rate = s.source.layers[s.layer]
	}
	size := rate / 8 / 30 * (0.8 + 0.4*s.random.Float64())
	if n%90 == 0 {
		size *= 3
	}
	for ; size > 0; size -= 1200 {
		s.send(int(max(min(size, 1200), 60)))
	}
}

func (s *simulation) probe() {
	wanted := s.source.greedy
	if len(s.source.layers) > 0 {
		wanted = s.source.layers[min(s.layer+1, len(s.source.layers)-1)]
	}
	for due := s.e.Probe(int(wanted), s.clock()); due > 0; due -= 255 {
		s.send(255 + 40)
		s.padded += 295
	}
}

func (s *simulation) deliver() {
	for len(s.inFlight) > 0 && s.inFlight[0].at <= s.now {
		p := s.inFlight[0]
		s.inFlight = s.inFlight[1:]
		s.recorder.Record(1, p.seq, p.at.Microseconds())
	}
	if s.now >= s.nextReport {
		s.nextReport = s.now + 100*time.Millisecond
		for _, p := range s.recorder.BuildFeedbackPacket() {
			if s.link.silent(s.now) {
				continue
			}
			raw, err := p.Marshal()
			require.NoError(s.t, err)
			report := new(rtcp.TransportLayerCC)
			require.NoError(s.t, report.Unmarshal(raw))
			s.reports = append(s.reports, late{report, s.now + s.link.delay})
		}
	}
	for len(s.reports) > 0 && s.reports[0].at <= s.now {
		s.e.Feedback(s.reports[0].packet, s.clock())
		s.reports = s.reports[1:]
	}
}

// mean is the mean rate between two times, in Mbit/s.
func (s *simulation) mean(from, to time.Duration) float64 {
	sum := 0.0
	part := s.rates[from/time.Millisecond : to/time.Millisecond]
	for _, r := range part {
		sum += r
	}
	return sum / float64(len(part)) / 1e6
}

// low is the lowest rate between two times, in Mbit/s.
func (s *simulation) low(from, to time.Duration) float64 {
	return slices.Min(s.rates[from/time.Millisecond:to/time.Millisecond]) / 1e6
}

// show logs the rate each second.
func (s *simulation) show() {
	var line strings.Builder
	for at := time.Duration(0); at+time.Second <= s.now; at += time.Second {
		fmt.Fprintf(&line, " %.2f", s.mean(at, at+time.Second))
		if len(s.source.layers) > 0 {
			fmt.Fprintf(&line, "/%d", s.layers[at/time.Millisecond])
		}
	}
	slices.Sort(s.delays)
	s.t.Logf("Mbit/s each second:%s; padding %.1f %% of %d KiB, dropped %d, queue p50 %v p95 %v", line.String(),
		100*float64(s.padded)/float64(s.sent), s.sent>>10, s.dropped,
		s.delays[len(s.delays)/2].Round(time.Millisecond), s.delays[len(s.delays)*95/100].Round(time.Millisecond))
}
