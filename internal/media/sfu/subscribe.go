package sfu

import (
	"fmt"
	"slices"
	"time"

	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
)

const (
	// debounceTime is how long further changes are waited for before an offer.
	debounceTime = 20 * time.Millisecond
	// answerTime is for the client to answer one.
	answerTime = 30 * time.Second
)

// subscriber is what a participant is sent. The peer's goroutine owns it.
type subscriber struct {
	p      *peer
	pc     *webrtc.PeerConnection
	egress *forward.Egress
	// subs are those of the tracks in the room, by track, also of those that the
	// client can't decode.
	subs map[string]*subscription
	// leaving are media sections whose track has ended, which the next offer says; said and
	// free count by kind those of the unanswered offer and those that an answer has freed.
	leaving []ending
	said    map[string]int
	free    map[string]int

	offers, pending  int64 // ids; pending is 0 without an unanswered offer
	asked            time.Time
	last             []byte // the last offer, as it was said
	changed, restart bool
	connected        bool
	pictures         bool // whether video codecs have been agreed on
	debounce         *time.Timer
}

// ending is a media section whose track has ended. Its kind is kept, because a sender that
// pion has stopped has no track to ask.
type ending struct {
	sender *webrtc.RTPSender
	kind   string
}

// subscription is a participant's place for a track.
type subscription struct {
	track       *track
	local       *localTrack
	transceiver *webrtc.RTPTransceiver
	// offered with the id of an offer; accepted once the client has.
	offered  int64
	accepted bool
	refused  bool
	sink     *forward.Sink
	view     forward.View
}

func newSubscriber(p *peer) *subscriber {
	s := &subscriber{
		p: p, subs: map[string]*subscription{}, said: map[string]int{}, free: map[string]int{}, debounce: time.NewTimer(time.Hour),
	}
	s.debounce.Stop()
	return s
}

// add subscribes to a track.
func (s *subscriber) add(t *track) {
	if s.subs[t.id] != nil || t.owner == s.p {
		return
	}
	s.subs[t.id] = &subscription{track: t}
	s.change()
}

// remove ends the subscription to a track.
func (s *subscriber) remove(id string) {
	sub := s.subs[id]
	if sub == nil {
		return
	}
	delete(s.subs, id)
	s.release(sub)
}

// release gives up a subscription's media section.
func (s *subscriber) release(sub *subscription) {
	if sub.sink != nil {
		sub.sink.Close()
		sub.sink = nil
	}
	if sub.transceiver != nil {
		s.leaving = append(s.leaving, ending{sub.transceiver.Sender(), sub.track.kind})
		sub.transceiver = nil
		s.change()
	}
}

// change makes an offer soon: at once when nothing was offered for a while.
func (s *subscriber) change() {
	s.changed = true
	if s.pending == 0 {
		s.debounce.Reset(s.pause())
	}
}

func (s *subscriber) pause() time.Duration {
	if time.Since(s.asked) > 10*debounceTime {
		return time.Millisecond
	}
	return debounceTime
}

// restartICE looks for a new path to the client.
func (s *subscriber) restartICE() {
	if s.pc == nil {
		return
	}
	s.restart = true
	s.change()
}

// offer says what the client is to be sent from now on.
func (s *subscriber) offer() {
	if s.pending != 0 {
		if s.p.socket == nil {
			s.debounce.Reset(answerTime) // it hears the offer when it is back
		} else if time.Since(s.asked) > answerTime {
			s.p.end(&Refusal{Code: CodeBadMessage, Message: "an offer was not answered"})
		}
		return
	}
	if !s.changed {
		return
	}
	s.changed = false
	if err := s.tryOffer(); err != nil {
		if closed(s.pc) {
			s.renew(s.pc)
			return
		}
		s.p.server.config.Log.Warn("sfu: no offer could be made", "room", s.p.room.id, "error", err)
		s.p.end(&Refusal{Code: CodeInternal})
	}
}

func (s *subscriber) tryOffer() error {
	if s.pc == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	for _, e := range s.leaving {
		if err := s.pc.RemoveTrack(e.sender); err != nil {
			return err
		}
		s.said[e.kind]++
	}
	s.leaving = nil
	for _, sub := range s.subs {
		if sub.transceiver == nil && !sub.refused {
			if err := s.place(sub); err != nil {
				return err
			}
		}
	}
	var options *webrtc.OfferOptions
	if s.restart {
		s.restart, options = false, &webrtc.OfferOptions{ICERestart: true}
	}
	offer, err := s.pc.CreateOffer(options)
	if err != nil {
		return err
	}
	if err := describe(s.pc, offer); err != nil {
		return err
	}
	s.offers++
	s.pending, s.asked = s.offers, time.Now()
	s.debounce.Reset(answerTime + time.Second)
	m := offerMessage{Type: typeOffer, ID: s.offers, SDP: s.pc.LocalDescription().SDP, Tracks: []binding{}}
	for id, sub := range s.subs {
		if sub.transceiver != nil {
			if sub.offered == 0 {
				sub.offered = s.offers
			}
			m.Tracks = append(m.Tracks, binding{sub.transceiver.Mid(), id})
		}
	}
	s.last = encode(m)
	s.p.expect(s.longestAnswer())
	s.p.send(s.last)
	return nil
}

// again repeats an offer that is not answered to a client that has resumed: the
// answer may have been lost with its socket.
func (s *subscriber) again() {
	if s.pending != 0 {
		s.asked = time.Now()
		s.p.send(s.last)
	}
}

func (s *subscriber) open() error {
	p := s.p
	in := &reports{server: p.server, bogus: func() { p.end(&Refusal{Code: CodeBadMessage, Message: "too many SSRCs"}) }}
	pc, flush, err := p.server.net.newConnection(pcSubscribe, webrtc.DTLSRoleServer, in.buffer)
	if err != nil {
		return err
	}
	s.pc = pc
	s.egress = forward.NewEgress(p.server.workers, forward.EgressConfig{WriteRTCP: pc.WriteRTCP, Flush: flush, Now: p.server.config.Now})
	in.handle = s.egress.HandleRTCP
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		switch state {
		case webrtc.PeerConnectionStateConnected:
			p.box.post(func() {
				if s.pc == pc {
					s.start()
				}
			})
		case webrtc.PeerConnectionStateClosed:
			p.box.post(func() { s.renew(pc) })
		}
	})
	return nil
}

// renew gives up a connection that the client has closed (DTLS close_notify), and offers
// everything anew on another one.
func (s *subscriber) renew(pc *webrtc.PeerConnection) {
	if pc == nil || s.pc != pc {
		return
	}
	s.egress.Close()
	_ = pc.GracefulClose()
	s.pc, s.egress, s.leaving = nil, nil, nil
	clear(s.said)
	clear(s.free)
	s.pending, s.restart, s.connected, s.pictures = 0, false, false, false
	s.p.expect(0)
	for id, sub := range s.subs {
		s.subs[id] = &subscription{track: sub.track, view: sub.view}
	}
	s.change()
}

// place finds a media section for a track: one that is free, or a new one.
func (s *subscriber) place(sub *subscription) error {
	sub.local = &localTrack{track: sub.track}
	kind := sub.track.kind
	if s.free[kind] > 0 {
		s.free[kind]--
		sender, err := s.pc.AddTrack(sub.local)
		if err != nil {
			return err
		}
		for _, t := range s.pc.GetTransceivers() {
			if t.Sender() == sender {
				sub.transceiver = t
			}
		}
	} else {
		t, err := s.pc.AddTransceiverFromTrack(sub.local, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		if err != nil {
			return err
		}
		sub.transceiver = t
	}
	list := s.codecs(sub)
	err := sub.transceiver.SetCodecPreferences(list)
	if err != nil && len(list) > 0 { // a client that agreed on no repair, or on no RED, may know the codec still
		err = sub.transceiver.SetCodecPreferences(list[:1])
	}
	if err != nil {
		s.refuse(sub)
	}
	return nil
}

// codecs are those that a media section offers: Opus and RED for sound; for pictures
// the track's own, and the first one all, so that it is known what the client decodes.
func (s *subscriber) codecs(sub *subscription) []webrtc.RTPCodecParameters {
	if sub.track.kind == kindAudio {
		list := sounds()
		for i := range list {
			list[i].PayloadType = 0 // what was agreed on
		}
		return list
	}
	all := pictures()
	var list []webrtc.RTPCodecParameters
	for i, c := range all {
		if sameCodec(c.RTPCodecCapability, sub.track.codec) {
			list = append(list, c, all[i+1])
			break
		}
	}
	if s.pictures {
		return list
	}
	s.pictures = true
	for _, c := range all {
		if !slices.ContainsFunc(list, func(l webrtc.RTPCodecParameters) bool { return l.PayloadType == c.PayloadType }) {
			list = append(list, c)
		}
	}
	return list
}

// refuse gives up a track that the client can't decode.
func (s *subscriber) refuse(sub *subscription) {
	sub.refused = true
	s.release(sub)
	s.p.fail(sub.track.id, codeUnsupported, "the client can't decode "+sub.track.codec.MimeType)
}

// handleAnswer takes in what the client accepts.
func (s *subscriber) handleAnswer(m message) {
	if m.ID <= s.offers && m.ID != s.pending {
		return // answered twice, which an offer that is repeated brings about
	}
	if m.ID != s.pending || s.pc == nil {
		s.p.fail(m.ID, CodeBadMessage, "no such offer waits for an answer")
		return
	}
	limits := s.p.server.config.Limits
	limits.Sections = len(s.pc.GetTransceivers())
	if most := s.longestAnswer(); len(m.SDP) > most {
		s.p.end(&Refusal{Code: CodeBadMessage, Message: fmt.Sprintf("the answer has more than %d bytes", most)})
		return
	}
	d, err := readDescription(m.SDP, limits)
	if err == nil {
		var text string
		if text, err = d.text(); err == nil {
			err = s.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: text})
		}
	}
	if err != nil && closed(s.pc) {
		s.renew(s.pc)
		return
	}
	if err != nil {
		s.p.server.config.Log.Debug("sfu: answer not understood", "error", err)
		s.p.end(&Refusal{Code: CodeBadMessage, Message: "the answer could not be applied"})
		return
	}
	s.settle(d)
	s.debounce.Stop()
	if s.changed {
		s.debounce.Reset(debounceTime)
	}
}

// longestAnswer is how many bytes the answer to the last offer may have.
func (s *subscriber) longestAnswer() int {
	return max(s.p.server.config.Limits.AnswerBytes, 2*len(s.last))
}

// settle notes what an answer accepts, and begins to send it.
func (s *subscriber) settle(d *description) {
	answered := s.pending
	s.pending = 0
	s.p.expect(0)
	for kind, n := range s.said {
		s.free[kind] += n
		delete(s.said, kind)
	}
	takes := map[string]bool{}
	for _, section := range d.sections {
		direction := directionOf(section.media)
		takes[section.mid] = section.media.MediaName.Port.Value != 0 && (direction == recvonly || direction == sendrecv)
	}
	for _, sub := range s.subs {
		if sub.transceiver == nil || sub.accepted || sub.offered > answered {
			continue
		}
		if !takes[sub.transceiver.Mid()] || !sub.local.bound() {
			s.refuse(sub)
			continue
		}
		sub.accepted = true
	}
	if s.connected {
		s.start()
	}
}

// start begins to send what has been accepted; the connection stands.
func (s *subscriber) start() {
	s.connected = true
	for _, sub := range s.subs {
		if sub.accepted && sub.sink == nil {
			sub.sink = s.egress.Add(sub.track.fwd, sub.local.sink())
			sub.sink.View(sub.view)
		}
	}
}

// setViews takes in how the client shows tracks.
func (s *subscriber) setViews(views []view) {
	for _, v := range views {
		sub := s.subs[v.ID]
		if sub == nil {
			continue
		}
		sub.view = forward.View{Width: v.Width, Height: v.Height, Hidden: v.Hidden}
		if sub.sink != nil {
			sub.sink.View(sub.view)
		}
	}
}

func (s *subscriber) close() {
	s.debounce.Stop()
	if s.pc == nil {
		return
	}
	s.egress.Close()
	_ = s.pc.GracefulClose()
}
