package forward

import (
	"math"
	"sync/atomic"

	"github.com/pion/rtp"
)

// SinkConfig holds the negotiated parameters of one track for one subscriber.
type SinkConfig struct {
	// Write sends one packet. It must not keep header or payload.
	Write          func(header *rtp.Header, payload []byte) (int, error)
	SSRC           uint32
	PayloadType    uint8
	RTXSSRC        uint32 // 0 when repair by RTX was not negotiated
	RTXPayloadType uint8
	// REDPayloadType is the payload type of RED around PayloadType. A subscriber without it gets
	// the primary block of RED packets.
	REDPayloadType uint8
	Extensions     Extensions
	// Changed is called when the state changes; nil for no calls. It must not block.
	Changed func(state SinkState)
}

// SinkState is the part of a track that a subscriber currently gets.
type SinkState struct {
	// Layer is the simulcast layer; -1 while nothing is sent.
	Layer int
	// Starved: nothing is sent because the subscriber's bandwidth is too low.
	Starved bool
	// Waiting: nothing is sent until the next key picture of a publisher that can't be asked for
	// one.
	Waiting bool
}

// View is how a subscriber shows a picture.
type View struct {
	// Width and Height in pixels of the screen; 0 for unknown.
	Width, Height int
	// Hidden: nothing is sent.
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

	// Only the worker touches the following.
	feed     *feed
	fresh    bool    // nothing has been sent yet
	replay   *replay // set while a new subscriber catches up
	bend     uint32  // added to timestamps during a replay
	audio    bool
	rewriter rewriter
	repairer *repairer // nil when repair was not negotiated
	reporter reporter
	choice   choice
	header   rtp.Header
	fixed    int // number of header extensions that each packet has
	wide     bool
	twcc     [2]byte
	packets  uint64
	octets   uint64
	reported uint64 // octets at the receiver's last report
}

// Add starts to send a track.
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

// newHeader returns the header for all packets of one SSRC. The transport-wide sequence number is
// updated through the slice twcc.
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

// enter adds the sink to its egress and to the track's feed.
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

// leave removes it again.
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

// View sets how the subscriber shows the picture from now on.
func (s *Sink) View(v View) {
	old := s.view.Swap(&v)
	if *old != v {
		s.egress.reconsider()
	}
}

// State returns the current state.
func (s *Sink) State() SinkState { return *s.state.Load() }

// Close ends the sink. Writes that have begun may end after it returns.
func (s *Sink) Close() {
	if !s.closed.Swap(true) {
		s.egress.worker.do(s.leave)
	}
}

// take sends the packets of a batch that the subscriber is to get.
func (s *Sink) take(batch []*packet, lagged bool, now instant) {
	if s.closed.Load() || s.replay != nil {
		return // a replay reads the batch from the history
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
			s.reportState()
			continue
		}
		s.forward(p)
	}
}

// begins reports whether a packet that doesn't continue the current run starts a new run, and
// prepares for that.
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
	s.reportState()
	return true
}

// interrupt ends the current run because packets are missing. Video continues with the next key
// picture, audio at once.
func (s *Sink) interrupt(now instant) {
	s.rewriter.stop()
	if !s.audio {
		s.track.askKeyFrame(s.choice.target, now)
	}
}

// elapsed returns the time from the last sent packet to p, in ticks: by the publisher's clock if
// there are reports on both, otherwise by arrival.
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
		return byArrival // the reports are wrong
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

// extend adds the extensions of the publisher's packet to the header.
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

// set adds an extension; it is left out if its form doesn't allow it.
func set(h *rtp.Header, id uint8, b []byte) {
	h.Extension = true
	_ = h.SetExtension(id, b)
}

// write sends a packet with the next transport-wide sequence number, and returns its size on the
// wire in bytes. If the write fails, the packet is lost like one that the network drops.
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

// waits reports whether nothing is sent before the next key picture. A subscriber that waited and
// then hides the picture, because it shows another one instead, still waits.
func (s *Sink) waits() bool {
	if s.audio || s.replay != nil || s.track.config.RequestKeyFrame != nil {
		return false
	}
	return s.choice.target >= 0 || !s.choice.starved && s.state.Load().Waiting
}

// reportState reports the current state, if it has changed.
func (s *Sink) reportState() {
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
