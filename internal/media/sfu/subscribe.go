package sfu

import (
	"errors"
	"time"

	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
)

const (
	// debounceTime is how long the server collects changes before it sends an offer.
	debounceTime = 20 * time.Millisecond
	// answerTime is how long a client may take to answer an offer.
	answerTime = 30 * time.Second
)

// subscriber holds the tracks that a participant receives. The peer's goroutine owns it.
type subscriber struct {
	p      *peer
	pc     *webrtc.PeerConnection
	egress *forward.Egress
	// fingerprint is that of the client's end of pc; "" before its first answer.
	fingerprint string
	// subs are the subscriptions to the tracks in the room, by track id, also those that the client
	// can't decode.
	subs map[string]*subscription
	// leaving are media sections whose track has ended; the next offer removes their tracks.
	// said and free count sections by kind: those removed in the unanswered offer, and those
	// that an answer has freed for reuse.
	leaving []ending
	said    map[string]int
	free    map[string]int

	offers, pending  int64 // ids; pending is 0 without an unanswered offer
	asked            time.Time
	last             []byte // the last offer, encoded
	changed, restart bool
	connected        bool
	pictures         bool // whether video codecs have been negotiated
	debounce         *time.Timer
}

// ending is a media section whose track has ended. It stores the kind, because a sender that pion
// has stopped has no track from which to read it.
type ending struct {
	sender *webrtc.RTPSender
	kind   string
}

// subscription is a participant's subscription to a track.
type subscription struct {
	track       *track
	local       *localTrack
	transceiver *webrtc.RTPTransceiver
	// offered is the id of the first offer with it; accepted: the client has accepted it.
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
	if sub.track.source == sourceStreamVideo {
		s.p.fallback.wait(false)
	}
}

// release frees a subscription's media section.
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

// change schedules an offer: after a millisecond when there was none for a while.
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

// restartICE schedules an offer with an ICE restart.
func (s *subscriber) restartICE() {
	if s.pc == nil {
		return
	}
	s.restart = true
	s.change()
}

// offer sends an offer of all subscriptions.
func (s *subscriber) offer() {
	if s.pending != 0 {
		if s.p.socket == nil {
			s.debounce.Reset(answerTime) // the client receives the offer again when it resumes
		} else if time.Since(s.asked) > answerTime {
			s.p.end(&ClientError{Code: CodeBadMessage, Message: "an offer was not answered"})
		}
		return
	}
	if !s.changed {
		return
	}
	s.changed = false
	if err := s.tryOffer(); err != nil {
		if closed(s.pc) || errors.Is(err, webrtc.ErrConnectionClosed) {
			s.renew()
			return
		}
		s.p.server.config.Log.Warn("sfu: no offer could be made", "room", s.p.room.id, "error", err)
		s.p.end(&ClientError{Code: CodeInternal})
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

// again repeats an unanswered offer to a client that has resumed: the answer may have been lost
// with its socket.
func (s *subscriber) again() {
	if s.pending != 0 {
		s.asked = time.Now()
		s.p.send(s.last)
	}
}

// setViews stores how the client shows tracks.
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
