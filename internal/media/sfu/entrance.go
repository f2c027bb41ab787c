package sfu

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"showfloor/internal/base/netaddr"
)

const (
	// enterTime is how long the gate may take to decide.
	enterTime = 10 * time.Second
	// maxToken and maxRoomID are the longest accepted token and room id, in bytes.
	maxToken, maxRoomID = 8 << 10, 128
)

// entrance is a request to join a room.
type entrance struct {
	token, roomID string
	ip, from      netip.Addr // from is the part of ip that rate limits count
	watches       bool       // see Config.MaxWatchers
	tenantID      string     // of the token, once it is identified
	// back is the peer that the client resumes after a message, nil for a new join.
	back  *peer
	after uint64
}

func (s *Server) newEntrance(r *http.Request) entrance {
	query := r.URL.Query()
	e := entrance{token: query.Get("token"), roomID: query.Get("room"), ip: s.config.ClientIP(r), watches: query.Get("watch") == "1"}
	e.from = netaddr.Network(e.ip)
	if after, err := strconv.ParseUint(query.Get("after"), 10, 64); err == nil {
		e.back, e.after = s.resumable(query.Get("resume"), e.roomID), after
	}
	return e
}

// admit reports whether a client may try to join. The token is checked first, so that bad tokens,
// which have their own limit, use up nothing that good ones need. A good token is charged to its
// address and to the room that it was issued for. A client that resumes is charged to its address
// only. The refusal of a bad token is sent to the client.
func (s *Server) admit(e *entrance) (refusal *ClientError, ok bool) {
	if e.back != nil {
		return nil, s.addressJoins.allow(e.from)
	}
	issuedFor, refusal, ok := s.identify(e)
	if refusal != nil {
		return refusal, ok
	}
	return nil, s.addressJoins.allow(e.from) && s.roomJoins.allow(issuedFor)
}

// identify checks a token, notes its tenant, and returns the room that it was issued for. A bad token is charged to
// its address; ok reports whether the address may try more of them.
func (s *Server) identify(e *entrance) (issuedFor string, refusal *ClientError, ok bool) {
	if len(e.token) > maxToken || len(e.roomID) > maxRoomID {
		return "", &ClientError{Code: CodeUnauthenticated}, s.badTokens.allow(e.from)
	}
	ctx, cancel := context.WithTimeout(s.ctx, enterTime)
	defer cancel()
	tenantID, issuedFor, err := s.config.Gate.Identify(ctx, e.token)
	if err != nil {
		return "", s.clientError(err), s.badTokens.allow(e.from)
	}
	e.tenantID = tenantID
	return issuedFor, nil, true
}

// reserve takes one of the places for connections that are joining, until release is called.
func (s *Server) reserve() (release func(), ok bool) {
	select {
	case s.handshakes <- struct{}{}:
		return sync.OnceFunc(func() { <-s.handshakes }), true
	default:
		return func() {}, false
	}
}

// enter returns the client's peer: the resumed one, or a new one.
func (s *Server) enter(e entrance, x *socket) (*peer, *ClientError) {
	if e.back != nil {
		if e.back.attach(x, e.after) {
			return e.back, nil
		}
		if refusal := s.joinInstead(&e); refusal != nil {
			return nil, refusal
		}
	}
	ctx, cancel := context.WithTimeout(x.ctx, enterTime)
	defer cancel()
	p := newPeer(s, e.token)
	p.watches, p.since, p.tenantID = e.watches, s.config.Now(), e.tenantID
	// Before the gate is asked: a full server must not cost a transaction for each refusal.
	if !s.addWatcher(p) {
		return nil, &ClientError{
			Code: CodeSessionFull, Message: "no place for a further viewer by WebRTC on this server, or for this tenant; play HLS",
		}
	}
	g, err := s.config.Gate.Enter(ctx, Entry{Token: p.token, RoomID: e.roomID, ConnID: p.connID, Watches: e.watches})
	if err != nil {
		s.removeWatcher(p)
		if g.UserID != "" {
			s.wg.Go(func() {
				s.leave(Connection{TenantID: g.TenantID, RoomID: g.RoomID, UserID: g.UserID, ConnID: p.connID})
			})
		}
		return nil, s.clientError(err)
	}
	p.connection = Connection{TenantID: g.TenantID, RoomID: g.RoomID, UserID: g.UserID, ConnID: p.connID}
	p.grant, p.ip, p.from = g, e.ip.String(), e.from
	if p.watches && (g.Room.Kind != StreamRoom || g.moderates() || g.Perms.any()) {
		// It doesn't watch only, so all others must see it.
		s.removeWatcher(p)
		p.watches = false
	}
	p.socket = x
	if !s.join(p, g) {
		s.removeWatcher(p)
		s.leave(p.connection)
		return nil, &ClientError{Code: CodeShutdown}
	}
	s.wg.Go(func() {
		defer s.recovered("a look at who has entered")
		s.config.Gate.Entered(s.running, p.connection)
	})
	return p, nil
}

// joinInstead checks and charges the token of a client that could not resume. Its address has been
// charged by admit.
func (s *Server) joinInstead(e *entrance) *ClientError {
	issuedFor, refusal, ok := s.identify(e)
	if ok && refusal == nil {
		ok = s.roomJoins.allow(issuedFor)
	}
	if !ok {
		return &ClientError{Code: CodeRateLimited, Message: "too many joins; try again"}
	}
	return refusal
}

// clientError returns the bye for an error of the gate.
func (s *Server) clientError(err error) *ClientError {
	if r, ok := errors.AsType[*ClientError](err); ok {
		return r
	}
	if s.ctx.Err() != nil {
		return &ClientError{Code: CodeShutdown}
	}
	s.config.Log.Error("sfu: the decision on a participant failed", "error", err)
	return &ClientError{Code: CodeInternal}
}
