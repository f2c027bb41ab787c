package sfu

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"
)

const (
	// enterTime is for the gate to decide.
	enterTime = 10 * time.Second
	// goodbyeTime is for a client to answer a good-bye: a server that stops waits no
	// longer for those who are silent.
	goodbyeTime = 2 * time.Second
	// maxToken and maxRoomID are the longest that are looked at, in bytes.
	maxToken, maxRoomID = 8 << 10, 128
)

// socket is a WebSocket of a client.
type socket struct {
	server *Server
	conn   *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc
	// wrote closes when nothing will be written any more.
	wrote chan struct{}
}

// Handler serves the signalling socket, on whatever path it is mounted. Connections that are
// too many are refused with 429 before the upgrade; all others are told by a bye.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			http.Error(w, "the server is stopping", http.StatusServiceUnavailable)
			return
		}
		defer s.wg.Done()
		refusal, ok := s.admit(r)
		release := func() {}
		if ok && refusal == nil {
			release, ok = s.reserve()
		}
		defer release()
		if !ok {
			s.countRefused("flood")
			w.Header().Set("Retry-After", "2")
			http.Error(w, "too many connections; try again", http.StatusTooManyRequests)
			return
		}
		// Any page may connect with a token: browsers add no credentials of their own.
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return // it has been answered
		}
		defer func() { _ = conn.CloseNow() }()
		x := &socket{server: s, conn: conn, wrote: make(chan struct{})}
		x.limit(0)
		x.ctx, x.cancel = context.WithCancel(s.ctx)
		defer x.cancel()
		var p *peer
		if refusal == nil {
			p, refusal = s.enter(r, x)
		}
		// The decision is made: how long the other end takes over the bye is nobody's wait.
		release()
		if refusal != nil {
			x.refuse(refusal)
			return
		}
		x.serve(p)
	})
}

// admit tells whether a connection may be tried. The token is checked first, so that those
// with bad ones, who have a bound of their own, use up nothing that good ones need: a good
// token is charged to its address and to the room that it was issued for. The refusal of a
// bad token is for the client to hear.
func (s *Server) admit(r *http.Request) (refusal *Refusal, ok bool) {
	query, from := r.URL.Query(), address(s.config.ClientIP(r))
	token, roomID := query.Get("token"), query.Get("room")
	if s.resumable(query.Get("resume"), roomID) != nil {
		return nil, s.addressJoins.allow(from)
	}
	if len(token) > maxToken || len(roomID) > maxRoomID {
		return &Refusal{Code: CodeUnauthenticated}, s.badTokens.allow(from)
	}
	ctx, cancel := context.WithTimeout(s.ctx, enterTime)
	defer cancel()
	issuedFor, err := s.config.Gate.Identify(ctx, token)
	if err != nil {
		return s.refusal(err), s.badTokens.allow(from)
	}
	return nil, s.addressJoins.allow(from) && s.roomJoins.allow(issuedFor)
}

// reserve takes one of the places of those who are on their way in, until release.
func (s *Server) reserve() (release func(), ok bool) {
	select {
	case s.handshakes <- struct{}{}:
		return sync.OnceFunc(func() { <-s.handshakes }), true
	default:
		return func() {}, false
	}
}

// enter finds the participant whom the client is, as it left it or anew.
func (s *Server) enter(r *http.Request, x *socket) (*peer, *Refusal) {
	query := r.URL.Query()
	roomID := query.Get("room")
	if secret := query.Get("resume"); secret != "" {
		after, err := strconv.ParseUint(query.Get("after"), 10, 64)
		if p := s.resumable(secret, roomID); p != nil && err == nil && p.attach(x, after) {
			return p, nil
		}
	}
	ctx, cancel := context.WithTimeout(x.ctx, enterTime)
	defer cancel()
	p := newPeer(s, query.Get("token"))
	g, err := s.config.Gate.Enter(ctx, Entry{Token: p.token, RoomID: roomID, ConnID: p.connID})
	if err != nil {
		if g.UserID != "" {
			s.wg.Go(func() {
				s.leave(Connection{TenantID: g.TenantID, RoomID: g.RoomID, UserID: g.UserID, ConnID: p.connID})
			})
		}
		return nil, s.refusal(err)
	}
	p.connection = Connection{TenantID: g.TenantID, RoomID: g.RoomID, UserID: g.UserID, ConnID: p.connID}
	p.grant, p.ip = g, s.config.ClientIP(r).String()
	p.socket = x
	if !s.join(p, g) {
		s.leave(p.connection)
		return nil, &Refusal{Code: CodeShutdown}
	}
	s.wg.Go(func() {
		defer s.recovered("a look at who has entered")
		s.config.Gate.Entered(s.ctx, p.connection)
	})
	return p, nil
}

// refusal is what a client is told of an error of the gate's.
func (s *Server) refusal(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	if s.ctx.Err() != nil {
		return &Refusal{Code: CodeShutdown}
	}
	s.config.Log.Error("sfu: nobody could decide on a participant", "error", err)
	return &Refusal{Code: CodeInternal}
}

// refuse says bye to a client who didn't come in.
func (x *socket) refuse(r *Refusal) {
	x.server.countRefused(r.Code)
	box := newOutbox(x.server.config.Now, 0)
	box.end(encode(byeFor(r)))
	x.write(box)
}

// limit bounds the client's messages, from the next one on, so that a description of so many
// bytes fits: JSON makes two bytes of each end of a line.
func (x *socket) limit(description int) {
	x.conn.SetReadLimit(int64(max(x.server.config.Limits.MessageBytes, description+description/4+1<<10)))
}

// serve reads what the client says until its socket is dead, and writes what it
// is told.
func (x *socket) serve(p *peer) {
	go func() {
		defer x.server.recovered("a socket")
		x.write(p.out)
	}()
	x.read(p)
	p.detach(x)
	// A bye that is still on its way gets the time to arrive; without one there is
	// nothing that the writer would wait for.
	if !p.out.last() {
		x.cancel()
	}
	<-x.wrote
}

func (x *socket) read(p *peer) {
	defer x.server.recovered("a socket")
	limits := x.server.config.Limits
	pace := rate.NewLimiter(rate.Limit(limits.Messages), 4*limits.Messages)
	for {
		ctx, cancel := context.WithTimeout(x.ctx, limits.DeadAfter)
		kind, data, err := x.conn.Read(ctx)
		cancel()
		if err != nil {
			return // also after a message that was too long, which closes the socket with 1009
		}
		if !pace.Allow() {
			p.end(&Refusal{Code: CodeRateLimited})
			return
		}
		if kind != websocket.MessageText {
			p.end(&Refusal{Code: CodeBadMessage, Message: "messages are text"})
			return
		}
		m, err := parseMessage(data)
		if err != nil {
			p.fail(m.re(), CodeBadMessage, err.Error())
			continue
		}
		select {
		case p.inbox <- m:
		case <-p.ending:
			return
		case <-x.ctx.Done():
			return
		}
	}
}

// write sends what is in the box until the last message, then closes the socket.
func (x *socket) write(box *outbox) {
	defer close(x.wrote)
	defer x.cancel()
	for {
		batch, last := box.take()
		for _, data := range batch {
			ctx, cancel := context.WithTimeout(x.ctx, x.server.config.Limits.WriteTime)
			err := x.conn.Write(ctx, websocket.MessageText, data)
			cancel()
			if err != nil {
				return
			}
		}
		if last {
			defer time.AfterFunc(goodbyeTime, x.cancel).Stop()
			_ = x.conn.Close(websocket.StatusNormalClosure, "")
			return
		}
		select {
		case <-box.wake:
		case <-x.ctx.Done():
			return
		}
	}
}
