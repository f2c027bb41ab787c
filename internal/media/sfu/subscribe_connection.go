package sfu

import (
	"slices"

	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
)

// open makes the connection on which media is sent.
func (s *subscriber) open() error {
	p := s.p
	in := &reports{server: p.server, bogus: func() { p.end(&ClientError{Code: CodeBadMessage, Message: "too many SSRCs"}) }}
	pc, flush, err := p.server.net.newConnection(pcSubscribe, webrtc.DTLSRoleServer, in.buffer)
	if err != nil {
		return err
	}
	s.pc = pc
	sent := p.room.account.Sent
	if p.room.kind == StreamRoom {
		sent = p.room.account.SentInRoom
	}
	s.egress = forward.NewEgress(p.server.workers, forward.EgressConfig{
		WriteRTCP: pc.WriteRTCP, Flush: flush, Sent: sent, Now: p.server.config.Now,
	})
	in.handle = s.egress.HandleRTCP
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		p.box.post(func() { s.follow(pc, state) })
	})
	return nil
}

// follow handles a new state of a connection.
func (s *subscriber) follow(pc *webrtc.PeerConnection, state webrtc.PeerConnectionState) {
	switch {
	case s.pc != pc:
	case state == webrtc.PeerConnectionStateConnected:
		s.start()
	case state == webrtc.PeerConnectionStateClosed:
		s.renew()
	}
}

// renew replaces a connection that the client has closed by a new one, and offers all tracks again.
// The server learns of the close by DTLS close_notify, or by an answer from a new connection.
func (s *subscriber) renew() {
	if !s.p.renewals.Allow() {
		s.p.end(&ClientError{Code: CodeRateLimited, Message: "too many connections were closed; wait 10 seconds before the next"})
		return
	}
	s.egress.Close()
	_ = s.pc.GracefulClose()
	s.pc, s.egress, s.leaving, s.fingerprint = nil, nil, nil, ""
	clear(s.said)
	clear(s.free)
	s.pending, s.restart, s.connected, s.pictures = 0, false, false, false
	s.p.expect(0)
	for id, sub := range s.subs {
		s.subs[id] = &subscription{track: sub.track, view: sub.view}
	}
	s.change()
}

// place assigns a media section to a track: a free one, or a new one.
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
	if err != nil && len(list) > 0 { // a client that negotiated no RTX or no RED may still know the codec
		err = sub.transceiver.SetCodecPreferences(list[:1])
	}
	if err != nil {
		s.refuse(sub)
	}
	return nil
}

// codecs returns the codecs that a media section offers: Opus and RED for audio; for video the
// track's own. The first video section offers all, so that the server learns what the client
// decodes.
func (s *subscriber) codecs(sub *subscription) []webrtc.RTPCodecParameters {
	if sub.track.kind == kindAudio {
		list := sounds()
		for i := range list {
			list[i].PayloadType = 0 // the payload type that was negotiated
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

// refuse ends the subscription to a track that the client can't decode.
func (s *subscriber) refuse(sub *subscription) {
	sub.refused = true
	s.release(sub)
	s.p.fail(sub.track.id, codeUnsupported, "the client can't decode "+sub.track.codec.MimeType)
}
