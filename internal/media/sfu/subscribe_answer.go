package sfu

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
)

// handleAnswer applies an answer of the client.
func (s *subscriber) handleAnswer(m message) {
	if m.ID <= s.offers && m.ID != s.pending {
		return // answered twice, which happens when an offer is repeated
	}
	if m.ID != s.pending || s.pc == nil {
		s.p.fail(m.ID, CodeBadMessage, "no such offer waits for an answer")
		return
	}
	limits := s.p.server.config.Limits
	limits.Sections = len(s.pc.GetTransceivers())
	if most := s.longestAnswer(); len(m.SDP) > most {
		s.p.end(&ClientError{Code: CodeBadMessage, Message: fmt.Sprintf("the answer has more than %d bytes", most)})
		return
	}
	d, err := readDescription(m.SDP, limits)
	if err == nil && d.differs(s.fingerprint) {
		s.renew() // the client has closed its connection, and its close_notify is late or lost
		return
	}
	if err == nil {
		var text string
		if text, err = d.text(); err == nil {
			err = s.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: text})
		}
	}
	if closed(s.pc) || errors.Is(err, webrtc.ErrConnectionClosed) {
		s.renew()
		return
	}
	if err != nil {
		s.p.server.config.Log.Debug("sfu: answer not understood", "error", err)
		s.p.end(&ClientError{Code: CodeBadMessage, Message: "the answer could not be applied"})
		return
	}
	s.fingerprint = cmp.Or(d.fingerprint(), s.fingerprint)
	s.settle(d)
	s.debounce.Stop()
	if s.changed {
		s.debounce.Reset(debounceTime)
	}
}

// longestAnswer returns how many bytes the answer to the last offer may have.
func (s *subscriber) longestAnswer() int {
	return max(s.p.server.config.Limits.AnswerBytes, 2*len(s.last))
}

// settle stores which tracks an answer accepts, and starts to send them.
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

// start starts to send the accepted tracks. The connection is established.
func (s *subscriber) start() {
	s.connected = true
	for _, sub := range s.subs {
		if sub.accepted && sub.sink == nil {
			sub.sink = s.egress.Add(sub.track.fwd, s.watched(sub))
			sub.sink.View(sub.view)
		}
	}
}

// watched returns the settings by which a track is sent. The client is notified when the picture of
// a stream has to wait for a key frame.
func (s *subscriber) watched(sub *subscription) forward.SinkConfig {
	config := sub.local.sink()
	if sub.track.source != sourceStreamVideo {
		return config
	}
	config.Changed = func(state forward.SinkState) {
		s.p.box.post(func() {
			if s.subs[sub.track.id] == sub {
				s.p.fallback.wait(state.Waiting)
			}
		})
	}
	return config
}
