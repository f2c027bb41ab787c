package sfu

import (
	"fmt"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"
)

// gatherTime bounds the wait for the server's own ICE candidates.
const gatherTime = 2 * time.Second

// maxPacket is the longest accepted RTP packet, in bytes.
const maxPacket = 1600

// maxMIDs is how many media sections a connection may have had over time: pion never frees one.
const maxMIDs = 256

// publisher holds the tracks that a participant sends. The peer's goroutine owns it.
type publisher struct {
	p  *peer
	pc *webrtc.PeerConnection
	// fingerprint is that of the client's end of pc.
	fingerprint string
	// sections are those that may send, and lines the incoming media of all sections, by mid.
	sections map[string]*publication
	lines    map[string]*line
	// mids are the mids of all sections that the connection has had.
	mids map[string]bool
	// readers forward packets, and end with the connection.
	readers sync.WaitGroup
}

// publication is a media section that may send.
type publication struct {
	mid, source string
	id          string // of its track, once a packet has arrived
	rids        []string
	track       *track
}

func newPublisher(p *peer) *publisher {
	return &publisher{p: p, sections: map[string]*publication{}, lines: map[string]*line{}, mids: map[string]bool{}}
}

// source returns the source of one of the participant's tracks.
func (u *publisher) source(id string) (string, bool) {
	for _, pub := range u.sections {
		if pub.id == id {
			return pub.source, true
		}
	}
	return "", false
}

// publishes reports whether a section carries a source.
func (u *publisher) publishes(source string) bool {
	for _, pub := range u.sections {
		if pub.source == source {
			return true
		}
	}
	return false
}

// handleOffer applies an offer of the client. A participant without any permission to publish is
// refused before the offer is parsed: enforce has ended its tracks when the permissions were taken
// away, so it has nothing to negotiate.
func (u *publisher) handleOffer(m message) {
	if !u.p.grant.Perms.any() {
		u.p.fail(m.ID, CodeForbidden, "you may not publish anything")
		return
	}
	d, err := u.parse(m.SDP)
	if err != nil {
		u.reset()
		u.p.fail(m.ID, CodeBadMessage, err.Error()+"; publish again")
		return
	}
	carriers := u.carriers(d, m.Sources)
	if n := u.begun(carriers); n > 0 && !u.p.room.publications.allowN(u.p.connection.UserID, n) {
		u.p.fail(m.ID, CodeRateLimited, "too many publications; wait a second before the next offer")
		return
	}
	refused := u.checkSections(d, m.Sources, carriers)
	answer, err := u.negotiate(d)
	if err != nil {
		// pion may have applied a part of it: start again.
		u.p.server.config.Log.Debug("sfu: offer not understood", "error", err)
		u.reset()
		u.p.fail(m.ID, CodeBadMessage, "the description could not be applied; publish again")
		return
	}
	reply := answerMessage{Type: typeAnswer, ID: m.ID, SDP: decline(answer, refused), Tracks: []binding{}, Refused: refused}
	for _, s := range d.sections {
		if pub := u.sections[s.mid]; pub != nil {
			reply.Tracks = append(reply.Tracks, binding{pub.mid, pub.id})
			u.bind(u.lines[s.mid])
		}
	}
	u.p.send(encode(reply))
}

// parse parses an offer. Its error text is sent to the client.
func (u *publisher) parse(sdp string) (*description, error) {
	limits := u.p.server.config.Limits
	if len(sdp) > limits.OfferBytes {
		return nil, fmt.Errorf("the description has more than %d bytes", limits.OfferBytes)
	}
	d, err := readOffer(sdp, limits)
	if err != nil {
		return nil, err
	}
	u.resetIfClosed(d)
	for _, s := range d.sections {
		u.mids[s.mid] = true
	}
	if len(u.mids) > maxMIDs {
		return nil, fmt.Errorf("the connection has had more than %d media sections; use them again", maxMIDs)
	}
	return d, nil
}

// resetIfClosed resets the publisher if the client has closed its connection: the server has noticed
// the close, or the offer is from another connection. A later event of the close then has no effect.
func (u *publisher) resetIfClosed(d *description) {
	if closed(u.pc) || u.pc != nil && d.differs(u.fingerprint) {
		u.reset()
	}
}

// negotiate applies an offer and returns the answer to it.
func (u *publisher) negotiate(d *description) (string, error) {
	if u.pc == nil {
		if err := u.open(d); err != nil {
			return "", err
		}
	}
	offer, err := d.text()
	if err != nil {
		return "", err
	}
	if err := u.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}); err != nil {
		return "", err
	}
	answer, err := u.pc.CreateAnswer(nil)
	if err != nil {
		return "", err
	}
	if err := describe(u.pc, answer); err != nil {
		return "", err
	}
	return u.pc.LocalDescription().SDP, nil
}

// describe sets a local description and waits until it contains the server's addresses, at most
// gatherTime.
func describe(pc *webrtc.PeerConnection, d webrtc.SessionDescription) error {
	gathered := webrtc.GatheringCompletePromise(pc)
	if err := pc.SetLocalDescription(d); err != nil {
		return err
	}
	patience := time.NewTimer(gatherTime)
	defer patience.Stop()
	select {
	case <-gathered:
	case <-patience.C:
	}
	return nil
}

func (u *publisher) open(d *description) error {
	p := u.p
	in := newIntake(p.server, func() { p.end(&ClientError{Code: CodeBadMessage, Message: "too many SSRCs"}) })
	if p.room.kind != StreamRoom { // the hub measures a stream that is on air
		in.account = p.room.account
	}
	// The DTLS server chooses the SRTP profile. Browsers prefer AES-CM, which costs five times as
	// much as what this server prefers.
	role := webrtc.DTLSRoleServer
	if d.passive() {
		role = webrtc.DTLSRoleClient
	}
	pc, _, err := p.server.net.newConnection(pcPublish, role, in.buffer)
	if err != nil {
		return err
	}
	pc.OnTrack(func(remote *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		p.box.post(func() { u.arrived(pc, remote, receiver) })
	})
	pc.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateClosed {
			p.box.post(func() { u.closedByClient(pc) })
		}
	})
	u.pc, u.fingerprint = pc, d.fingerprint()
	return nil
}

// enforce ends the tracks that are no longer permitted. The room has removed them already.
func (u *publisher) enforce() {
	for mid, pub := range u.sections {
		if !u.p.grant.Perms.may(pub.source) {
			u.end(mid)
		}
	}
}

// end ends the publication of a section.
func (u *publisher) end(mid string) {
	pub := u.sections[mid]
	if pub == nil {
		return
	}
	delete(u.sections, mid)
	if l := u.lines[mid]; l != nil {
		l.current.Store(nil)
	}
	if pub.track != nil {
		u.p.room.box.post(func() { u.p.room.unpublish(pub.id) })
	}
}

// reset ends all transceivers, so that the client can publish again.
func (u *publisher) reset() {
	for mid := range u.sections {
		u.end(mid)
	}
	clear(u.mids)
	if u.pc != nil {
		_ = u.pc.GracefulClose()
		u.pc, u.lines = nil, map[string]*line{}
	}
}

// closedByClient ends the tracks of a connection that the client has closed (DTLS close_notify).
func (u *publisher) closedByClient(pc *webrtc.PeerConnection) {
	if u.pc == pc {
		u.reset()
	}
}

// closed reports whether pc exists and is closed or closing. When pion closes a connection, it
// changes the signalling state before it ends the senders, and the connection's state last.
func closed(pc *webrtc.PeerConnection) bool {
	return pc != nil && pc.SignalingState() == webrtc.SignalingStateClosed
}

// close ends the publisher and returns when its readers have ended.
func (u *publisher) close() {
	for _, pub := range u.sections {
		if pub.track != nil {
			pub.track.fwd.Close()
		}
	}
	if u.pc != nil {
		_ = u.pc.GracefulClose()
	}
	u.readers.Wait()
}
