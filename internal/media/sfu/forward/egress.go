package forward

import (
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"

	"showfloor/internal/media/sfu/bandwidth"
)

// EgressConfig describes a subscriber.
type EgressConfig struct {
	// WriteRTCP sends RTCP packets to the subscriber.
	WriteRTCP func(packets []rtcp.Packet) error
	// Flush sends the packets that the writers of the sinks have collected; nil when they collect
	// none.
	Flush func()
	// Sent is called with the number of bytes that the writers have sent since the last flush; nil
	// for no calls. It must not block.
	Sent func(bytes int)
	// InitialRate is the first estimate of the path's capacity, in bits per second; 0 for 1.5
	// Mbit/s.
	InitialRate int
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

const (
	initialRate = 1_500_000
	// roundTrip is assumed until the subscriber's reports have measured it.
	roundTrip = 100 * time.Millisecond
	// maxReports is how many reports of a subscriber may be queued for its worker.
	maxReports = 64
	// refreshEvery is the shortest interval between key frames that one subscriber can trigger,
	// since all other subscribers of the layer receive them too.
	refreshEvery = time.Second
	// chooseEvery is the interval at which layers are chosen again without a particular reason.
	chooseEvery = 200 * time.Millisecond
	// overhead is the size of a packet on the wire without its payload, in bytes: IP, UDP, RTP with
	// an extension, and encryption.
	overhead = 28 + 20 + 16
)

// Egress is everything that is sent to one subscriber; it distributes the bandwidth. Its methods
// are safe for concurrent use.
type Egress struct {
	config    EgressConfig
	worker    *worker
	estimator *bandwidth.Estimator
	closed    atomic.Bool
	changed   atomic.Bool  // layers must be chosen again
	reports   atomic.Int64 // how many are queued

	// Only the worker touches the following.
	gone      bool
	touched   bool
	fresh     bool // there is a new sink
	replaying bool // a sink is replaying
	sinks     []*Sink
	news      []*Sink // sinks whose tracks have new packets
	now       time.Time
	twcc      uint16
	limited   bool    // the subscriber reports on its path, so the estimate applies
	begun     instant // when the first picture was sent; 0 for not yet
	ticked    instant // time of the last periodic work
	chosen    instant // time of the last choice of layers
	used      int     // bits per second that were allocated to video
	wanted    int     // bits per second that one more step would need, audio included; 0 for none
	roundTrip time.Duration
	window    instant // start of the current second, for the limit of repairs
	spent     int     // bytes of repairs in the window
	volume    int     // bytes sent in the window, without repairs and padding
	before    int     // the same for the previous window
	sent      int     // bytes not yet reported to Sent
}

// NewEgress returns the egress of a new subscriber.
func NewEgress(w *Workers, c EgressConfig) *Egress {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.InitialRate <= 0 {
		c.InitialRate = initialRate
	}
	e := &Egress{
		config: c, worker: w.idlest(), estimator: bandwidth.New(c.InitialRate),
		roundTrip: roundTrip,
	}
	e.worker.do(func() { e.worker.egresses = append(e.worker.egresses, e) })
	return e
}

// Close ends the egress and its sinks.
func (e *Egress) Close() {
	if e.closed.Swap(true) {
		return
	}
	e.worker.load.Add(-1)
	e.worker.do(func() {
		for len(e.sinks) > 0 {
			e.sinks[0].leave()
		}
		e.gone = true
		e.worker.egresses = without(e.worker.egresses, e)
	})
}

// reconsider schedules a new choice of layers.
func (e *Egress) reconsider() {
	if !e.changed.Swap(true) {
		e.worker.do(func() { e.worker.touch(e) })
	}
}

// send sends the new packets, audio first.
func (e *Egress) send() {
	e.touched = false
	e.now = e.config.Now()
	now := at(e.now)
	if e.changed.Swap(false) {
		e.choose(now)
	}
	if e.fresh {
		e.fresh = false
		for _, s := range e.sinks {
			if s.fresh {
				s.catchUp(now)
			}
		}
	}
	if e.closed.Load() {
		clear(e.news)
		e.news = e.news[:0]
		return
	}
	for _, s := range e.news {
		if s.audio && s.feed != nil {
			s.take(s.feed.batch, s.feed.lagged, now)
		}
	}
	for _, s := range e.news {
		if !s.audio && s.feed != nil {
			s.take(s.feed.batch, s.feed.lagged, now)
		}
	}
	clear(e.news)
	e.news = e.news[:0]
	if e.replaying {
		e.pump(now)
	}
	e.flush()
}

// pump continues the replays.
func (e *Egress) pump(now instant) {
	e.replaying = false
	for _, s := range e.sinks {
		s.pump(now)
		e.replaying = e.replaying || s.replay != nil
	}
}

func (e *Egress) flush() {
	if e.sent > 0 && e.config.Sent != nil {
		e.config.Sent(e.sent)
		e.sent = 0
	}
	if e.config.Flush != nil {
		e.config.Flush()
	}
}

// roll starts a new second for the limit of repairs, when it is time.
func (e *Egress) roll(now instant) {
	if now.since(e.window) >= time.Second {
		e.window, e.spent = now, 0
		e.before, e.volume = e.volume, 0
	}
}

// mayRepair reports whether size bytes may be sent again, and counts them: repairs must not fill a
// path that loses packets because it is full.
func (e *Egress) mayRepair(size int, now instant) bool {
	e.roll(now)
	if e.spent+size > max(repairAtLeast, max(e.before, e.volume)/2) {
		return false
	}
	e.spent += size
	return true
}

// tick does the periodic work.
func (e *Egress) tick(now time.Time) {
	if e.closed.Load() {
		return
	}
	e.now = now
	if e.wanted > 0 || e.replaying {
		defer e.flush()
	}
	if e.replaying {
		e.pump(at(now))
	}
	if e.wanted > 0 {
		e.probe()
	}
	if at(now).since(e.ticked) < tickEvery-probeEvery/2 {
		return
	}
	e.ticked = at(now)
	e.roll(at(now))
	if at(now).since(e.chosen) >= chooseEvery {
		e.choose(at(now))
	} else {
		for _, s := range e.sinks {
			s.demand(at(now))
		}
	}
	e.report(at(now))
}

// report sends the sender reports that are due.
func (e *Egress) report(now instant) {
	if e.config.WriteRTCP == nil {
		return
	}
	var out []rtcp.Packet
	var names []rtcp.SourceDescriptionChunk
	send := func() {
		if len(names) > 0 {
			out = append(out, &rtcp.SourceDescription{Chunks: names})
		}
		_ = e.config.WriteRTCP(out) // reports are lost like other packets
		out, names = nil, nil
	}
	for _, s := range e.sinks {
		sr := s.reporter.make(s, now)
		if sr == nil {
			continue
		}
		out = append(out, sr)
		if name := s.track.config.CNAME; name != "" {
			names = append(names, rtcp.SourceDescriptionChunk{
				Source: s.config.SSRC,
				Items:  []rtcp.SourceDescriptionItem{{Type: rtcp.SDESCNAME, Text: name}},
			})
		}
		if len(out) == reportsPerPacket {
			send()
		}
	}
	if len(out) > 0 {
		send()
	}
}

// HandleRTCP takes the subscriber's reports about any of its sinks. It keeps a reference to the
// packets.
func (e *Egress) HandleRTCP(packets []rtcp.Packet) {
	if e.closed.Load() {
		return
	}
	if e.reports.Add(1) > maxReports {
		e.reports.Add(-1)
		return
	}
	now := e.config.Now()
	handle := func() {
		e.reports.Add(-1)
		if e.gone {
			return
		}
		if now.After(e.now) {
			e.now = now
		}
		for _, p := range packets {
			e.handle(p, at(e.now))
		}
	}
	if onlyMeasurements(packets) {
		e.worker.doLater(handle)
		return
	}
	e.worker.do(func() {
		handle()
		e.worker.touch(e) // it flushes the repairs
	})
}

// onlyMeasurements reports whether all packets are measurements, of which subscribers send most. They trigger
// no sending, so they need not wake the worker.
func onlyMeasurements(packets []rtcp.Packet) bool {
	for _, p := range packets {
		switch p.(type) {
		case *rtcp.TransportLayerCC, *rtcp.ReceiverReport, *rtcp.SourceDescription:
		default:
			return false
		}
	}
	return true
}

func (e *Egress) handle(p rtcp.Packet, now instant) {
	switch p := p.(type) {
	case *rtcp.TransportLayerNack:
		if s := e.sinkOf(p.MediaSSRC); s != nil && s.repairer != nil {
			s.repairer.nack(p, now)
		}
	case *rtcp.PictureLossIndication:
		e.refresh(p.MediaSSRC, now)
	case *rtcp.FullIntraRequest:
		for _, x := range p.FIR {
			e.refresh(x.SSRC, now)
		}
	case *rtcp.TransportLayerCC:
		e.limited = true
		e.estimator.Feedback(p, e.now)
	case *rtcp.ReceiverEstimatedMaximumBitrate:
		e.limited = true
		e.estimator.Limit(int(min(max(p.Bitrate, 0), 1e9)), e.now)
	case *rtcp.ReceiverReport:
		e.received(p.Reports, now)
	case *rtcp.SenderReport:
		e.received(p.Reports, now)
	}
}

func (e *Egress) sinkOf(ssrc uint32) *Sink {
	for _, s := range e.sinks {
		if s.config.SSRC == ssrc {
			return s
		}
	}
	return nil
}

// refresh records that the subscriber can't continue to decode without a key picture.
func (e *Egress) refresh(ssrc uint32, now instant) {
	s := e.sinkOf(ssrc)
	if s == nil || s.audio || s.choice.refresh || s.choice.target < 0 {
		return
	}
	if last := s.choice.refreshed; last != 0 && now.since(last) < refreshEvery {
		return
	}
	s.choice.refresh, s.choice.refreshed = true, now
	s.demand(now)
}

// received handles reception reports.
func (e *Egress) received(reports []rtcp.ReceptionReport, now instant) {
	lost, weight := 0.0, 0.0
	for i := range reports {
		x := &reports[i]
		s := e.sinkOf(x.SSRC)
		if s == nil {
			continue
		}
		if rtt, ok := s.reporter.roundTrip(x, now); ok {
			e.roundTrip += (rtt - e.roundTrip) / 4
		}
		w := float64(s.octets-s.reported) + 1
		s.reported = s.octets
		lost += float64(x.FractionLost) / 256 * w
		weight += w
	}
	if weight > 0 {
		e.estimator.Loss(lost/weight, e.now)
	}
}
