package forward

import (
	"math"
	"sync/atomic"

	"github.com/pion/rtp"
)

// SinkConfig is a subscriber's place for one track, as negotiated.
type SinkConfig struct {
	// Write sends one packet. It doesn't keep header or payload.
	Write          func(header *rtp.Header, payload []byte) (int, error)
	SSRC           uint32
	PayloadType    uint8
	RTXSSRC        uint32 // 0 when repair by RTX was not negotiated
	RTXPayloadType uint8
	// REDPayloadType is that of RED around PayloadType; who has none is sent what RED
	// carries.
	REDPayloadType uint8
	Extensions     Extensions
	// Changed hears what the subscriber is sent, whenever that changes; nil for
	// nobody. It must not block.
	Changed func(state SinkState)
}

// SinkState is what a subscriber is sent of a track.
type SinkState struct {
	// Layer is the simulcast layer; -1 while nothing is sent.
	Layer int
	// Starved: nothing is sent because the subscriber's path doesn't carry it.
	Starved bool
	// Waiting: nothing is sent before the next key picture of a publisher that can't be
	// asked for one.
	Waiting bool
}

// View is how a subscriber shows a picture.
type View struct {
	// Width and Height in pixels of the screen; 0 for unknown.
	Width, Height int
	// Hidden: nothing is to be sent.
	Hidden bool
}

// Sink sends one track to one subscriber.
type Sink struct {
	config SinkConfig
	track  *Track
	egress *Egress
	view   atomic.Pointer[View]
	closed atomic.Bool
	state  atomic.Pointer[SinkState]

	// The rest is the worker's.
	feed     *feed
	fresh    bool    // it has been sent nothing yet
	replay   *replay // nil but while a new subscriber catches up
	bend     uint32  // what is added to timestamps meanwhile
	audio    bool
	rewriter rewriter
	repairer *repairer // nil when repair was not negotiated
	reporter reporter
	choice   choice
	header   rtp.Header
	fixed    int // how many header extensions each packet has
	wide     bool
	twcc     [2]byte
	packets  uint64
	octets   uint64
	reported uint64 // octets at the last report of the receiver
}

// Add begins to send a track.
func (e *Egress) Add(t *Track, c SinkConfig) *Sink {
	s := &Sink{config: c, track: t, egress: e, audio: t.config.Kind == Audio}
	s.view.Store(&View{})
	s.state.Store(&SinkState{Layer: -1})
	s.header, s.fixed = newHeader(c.SSRC, c.PayloadType, &c.Extensions, s.twcc[:])
	s.wide = max(c.Extensions.AudioLevel, c.Extensions.DependencyDescriptor,
		c.Extensions.PlayoutDelay, c.Extensions.TransportCC) > 14
	if c.RTXSSRC != 0 {
		s.repairer = newRepairer(s)
	}
	s.choice.reset()
	e.worker.do(func() { s.enter() })
	return s
}

// newHeader is the header that is used for all packets of one SSRC. The transport-
// wide number in it is written through the slice.
func newHeader(ssrc uint32, payloadType uint8, ids *Extensions, twcc []byte) (h rtp.Header, fixed int) {
	h = rtp.Header{Version: 2, SSRC: ssrc, PayloadType: payloadType, Extensions: make([]rtp.Extension, 0, 4)}
	if ids.TransportCC == 0 {
		return h, 0
	}
	h.Extension, h.ExtensionProfile = true, rtp.ExtensionProfileTwoByte
	if err := h.SetExtension(ids.TransportCC, twcc); err != nil {
		h.Extension = false
		return h, 0
	}
	return h, 1
}

// enter gives the sink its place.
func (s *Sink) enter() {
	e := s.egress
	if s.closed.Load() || e.gone || !e.worker.join(s.track, s) {
		return
	}
	e.sinks = append(e.sinks, s)
	s.fresh, e.fresh = true, true
	e.limited = e.limited || s.config.Extensions.TransportCC != 0
	e.changed.Store(true)
	e.worker.touch(e)
}

// leave takes the place away.
func (s *Sink) leave() {
	if s.feed == nil {
		return
	}
	s.closed.Store(true)
	s.rewriter.stop()
	s.state.Store(&SinkState{Layer: -1})
	s.egress.worker.part(s)
	s.egress.sinks = without(s.egress.sinks, s)
	s.track.wants.change(s.choice.wanted, 0)
	s.choice.wanted = 0
	s.egress.changed.Store(true)
	s.egress.worker.touch(s.egress)
}

// View says how the picture is shown from now on.
func (s *Sink) View(v View) {
	old := s.view.Swap(&v)
	if *old != v {
		s.egress.reconsider()
	}
}

// State tells what is being sent.
func (s *Sink) State() SinkState { return *s.state.Load() }

// Close ends it. Writes that have begun may still end after it.
func (s *Sink) Close() {
	if !s.closed.Swap(true) {
		s.egress.worker.do(s.leave)
	}
}

// take sends what is for it of a batch.
func (s *Sink) take(batch []*packet, lagged bool, now instant) {
	if s.closed.Load() || s.replay != nil {
		return // a replay comes to the batch by itself
	}
	if lagged && s.rewriter.sending {
		s.interrupt(now)
	}
	for _, p := range batch {
		if r := &s.rewriter; !r.sending || int(p.layer) != r.layer || p.run != r.run {
			if !s.begins(p, now) {
				continue
			}
		} else if target := s.choice.target; target < 0 {
			r.stop()
			s.told()
			continue
		}
		s.forward(p)
	}
}

// begins decides whether a packet that doesn't follow upon the last one that was
// sent begins something new, and prepares for it.
func (s *Sink) begins(p *packet, now instant) bool {
	r, layer := &s.rewriter, int(p.layer)
	if s.choice.target < 0 || len(s.content(p)) == 0 {
		return false
	}
	if r.sending && layer == r.layer {
		if int32(p.run-r.run) < 0 {
			return false
		}
		if !p.view.key {
			s.interrupt(now)
			return false
		}
	}
	if !p.view.key || !s.choice.takes(layer, r.sending, r.layer) {
		return false
	}
	r.start(p, p.ts+s.bend, s.elapsed(p))
	s.choice.began()
	s.told()
	return true
}

// interrupt ends what was being sent: packets are missing. Pictures go on with
// the next key picture, sound at once.
func (s *Sink) interrupt(now instant) {
	s.rewriter.stop()
	if !s.audio {
		s.track.askKeyFrame(s.choice.target, now)
	}
}

// elapsed is the time from the last packet that was sent to p, in ticks: by the
// publisher's clock if it has reported on both, by arrival otherwise.
func (s *Sink) elapsed(p *packet) int64 {
	r := &s.rewriter
	if !r.begun {
		return 0
	}
	rate := s.track.config.ClockRate
	byArrival := ticks(p.arrived.since(r.lastAt), rate)
	was, is := s.track.reportOf(r.layer, r.source), s.track.reportOf(int(p.layer), p.source)
	if was.arrived == 0 || is.arrived == 0 {
		return byArrival
	}
	byClock := int64(math.Round(float64(is.when(p.ts, rate)-was.when(r.lastTS, rate)) / 1e9 * float64(rate)))
	if diff := byClock - byArrival; diff > 3*int64(rate) || diff < -3*int64(rate) {
		return byArrival // reports that lie
	}
	return byClock
}

// forward sends one packet of the run, or leaves it out.
func (s *Sink) forward(p *packet) {
	r := &s.rewriter
	if len(s.content(p)) == 0 || s.choice.drops(p, p.seq > r.highest) {
		r.skip(p)
		return
	}
	x, ok := r.place(p)
	if !ok {
		return
	}
	if p.view.key {
		s.choice.refresh = false
	}
	x.ts += s.bend
	if !s.audio && s.egress.begun == 0 {
		s.egress.begun = at(s.egress.now)
	}
	if s.repairer != nil {
		s.repairer.note(p, &x)
	}
	h := &s.header
	h.SequenceNumber, h.Timestamp, h.Marker = uint16(x.seq), x.ts, p.marker
	s.extend(h, p, x.numberShift)
	payload := p.payload
	h.PayloadType = s.config.PayloadType
	if p.red {
		h.PayloadType, payload = s.typed(p)
	}
	if x.ids != 0 || x.tl0Shift != 0 {
		payload = s.egress.worker.scratch[:copy(s.egress.worker.scratch[:], payload)]
		rewritePicture(payload, &p.view, x.ids, x.tl0Shift)
	}
	s.packets++
	s.octets += uint64(len(payload))
	s.egress.volume += s.write(h, payload)
}

// extend gives the header the extensions that the publisher's packet had.
func (s *Sink) extend(h *rtp.Header, p *packet, numberShift uint16) {
	h.Extensions, h.Extension = h.Extensions[:s.fixed], s.fixed > 0
	if s.fixed == 0 && len(p.audioLevel)+len(p.dependency)+len(p.playout) == 0 {
		return
	}
	ids := &s.config.Extensions
	h.ExtensionProfile = rtp.ExtensionProfileOneByte
	if s.wide || len(p.dependency) > 16 {
		h.ExtensionProfile = rtp.ExtensionProfileTwoByte
	}
	if ids.AudioLevel != 0 && len(p.audioLevel) > 0 {
		set(h, ids.AudioLevel, p.audioLevel)
	}
	if ids.PlayoutDelay != 0 && len(p.playout) > 0 {
		set(h, ids.PlayoutDelay, p.playout)
	}
	if ids.DependencyDescriptor != 0 && len(p.dependency) > 2 {
		b := p.dependency
		if numberShift != 0 {
			b = s.egress.worker.extension[:copy(s.egress.worker.extension[:], b)]
			number := uint16(b[1])<<8 | uint16(b[2]) - numberShift
			b[1], b[2] = uint8(number>>8), uint8(number)
		}
		set(h, ids.DependencyDescriptor, b)
	}
}

// set adds an extension; one that the form doesn't allow is left out.
func set(h *rtp.Header, id uint8, b []byte) {
	h.Extension = true
	_ = h.SetExtension(id, b)
}

// write sends a packet with the transport-wide number that is next, and tells how many
// bytes it takes on the wire. What the subscriber can't take is lost, as on any other
// part of the way.
func (s *Sink) write(h *rtp.Header, payload []byte) (size int) {
	e := s.egress
	size = len(payload) + int(h.PaddingSize) + overhead
	if s.fixed > 0 {
		s.twcc[0], s.twcc[1] = uint8(e.twcc>>8), uint8(e.twcc)
		e.estimator.Sent(e.twcc, size, e.now)
		e.twcc++
	}
	sent, _ := s.config.Write(h, payload)
	e.sent += sent
	return size
}

// waits tells whether nothing is sent before the next key picture. A subscriber that waited
// and hides the picture, because it shows another one instead, goes on waiting.
func (s *Sink) waits() bool {
	if s.audio || s.replay != nil || s.track.config.RequestKeyFrame != nil {
		return false
	}
	return s.choice.target >= 0 || !s.choice.starved && s.state.Load().Waiting
}

// told tells what is being sent, if that has changed.
func (s *Sink) told() {
	state := SinkState{Layer: -1, Starved: s.choice.starved}
	if s.rewriter.sending {
		state.Layer = s.rewriter.layer
	} else {
		state.Waiting = s.waits()
	}
	if *s.state.Load() == state {
		return
	}
	s.state.Store(&state)
	if s.config.Changed != nil {
		s.config.Changed(state)
	}
}
