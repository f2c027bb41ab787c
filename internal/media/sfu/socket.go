package sfu

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"
)

const (
	// goodbyeTime is how long a client may take to answer the WebSocket close. A server that stops
	// waits no longer for silent clients.
	goodbyeTime = 2 * time.Second
)

// socket is a WebSocket of a client.
type socket struct {
	server *Server
	conn   *websocket.Conn
	below  net.Conn // carries conn
	ctx    context.Context
	cancel context.CancelFunc
	// wrote is closed when no more is written.
	wrote chan struct{}
}

// Handler serves the signalling socket, on any path. Connections beyond the rate limits are refused
// with 429 before the upgrade; later refusals are a bye.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			http.Error(w, "the server is stopping", http.StatusServiceUnavailable)
			return
		}
		defer s.wg.Done()
		e := s.newEntrance(r)
		refusal, ok := s.admit(&e)
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
		below := &hijacked{ResponseWriter: w}
		conn, err := websocket.Accept(below, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return // Accept has answered the request
		}
		defer func() { _ = conn.CloseNow() }()
		x := &socket{server: s, conn: conn, below: below.conn, wrote: make(chan struct{})}
		x.limit(0)
		x.ctx, x.cancel = context.WithCancel(s.ctx)
		defer x.cancel()
		var p *peer
		if refusal == nil {
			p, refusal = s.enter(e, x)
		}
		// The decision is made: a client that is slow to take the bye must hold no place.
		release()
		if refusal != nil {
			x.refuse(refusal)
			return
		}
		x.serve(p)
	})
}

// refuse sends a bye to a client that was not admitted.
func (x *socket) refuse(r *ClientError) {
	x.server.countRefused(r.Code)
	box := newOutbox(x.server.config.Now, 0)
	box.end(encode(byeFor(r)))
	x.write(box)
}

// limit sets the longest message of the client, from the next one on, so that a description of so
// many bytes fits: JSON encodes each line end in two bytes.
func (x *socket) limit(description int) {
	x.conn.SetReadLimit(int64(max(x.server.config.Limits.MessageBytes, description+description/4+1<<10)))
}

// serve reads the client's messages until its socket is dead, and writes those of the server.
func (x *socket) serve(p *peer) {
	go func() {
		defer x.server.recovered("a socket")
		x.write(p.out)
	}()
	x.read(p)
	p.detach(x)
	// A bye that is still queued gets the time to arrive. Without one, the writer has nothing to
	// wait for.
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
			return // also after a message that was too long: Read closes the socket with 1009
		}
		if !pace.Allow() {
			p.end(&ClientError{Code: CodeRateLimited})
			return
		}
		if kind != websocket.MessageText {
			p.end(&ClientError{Code: CodeBadMessage, Message: "messages are text"})
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

// write sends the queued messages up to the last one, then closes the socket.
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
			// Close has a time limit of its own, of 5 s, which it reaches if the client doesn't answer.
			defer time.AfterFunc(goodbyeTime, func() { _ = x.below.Close() }).Stop()
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
