package rtmp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"showfloor/internal/media/hub"
)

const (
	readBuffer = 32 << 10
	minWindow  = 16 << 10
	// gateTime bounds the reports to the gate after a connection's end.
	gateTime = 10 * time.Second
	// lingerTime and lingerBytes bound how long a client may take to read why its connection
	// ends.
	lingerTime  = 2 * time.Second
	lingerBytes = 1 << 20
)

// session is one client's connection. Its goroutine owns its state, except for ending.
type session struct {
	server *Server
	conn   net.Conn
	id     string
	ip     netip.Addr
	secure bool
	place  *place

	in        source
	chunks    *chunkReader
	feed      feed
	publisher *hub.Publisher // nil before the stream is on air

	connected bool
	app, path string
	query     url.Values
	published bool // the gate has accepted, so Unpublish must be called

	window, acked uint32
	rests         rests

	mu     sync.Mutex
	ending error         // set once by end
	woken  chan struct{} // closed when ending is set
}

// end makes the session stop for a reason. It is safe for concurrent use and doesn't wait.
func (s *session) end(reason error) {
	s.setEnding(reason)
	// This wakes a blocked read. The session checks ending after it sets a deadline, so that a
	// new deadline can't undo this one.
	_ = s.conn.SetReadDeadline(time.Unix(1, 0))
}

// evict closes the connection at once, to free its file descriptor. conn is the connection
// below TLS, whose own Close could wait for the client.
func (s *session) evict(conn net.Conn, reason string) {
	s.setEnding(&crowdedError{reason: reason})
	_ = conn.Close()
}

func (s *session) setEnding(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending == nil {
		s.ending = reason
		close(s.woken)
	}
}

func (s *session) endReason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// extend moves the read deadline.
func (s *session) extend(until time.Time) error {
	if err := s.conn.SetReadDeadline(until); err != nil {
		return err
	}
	return s.endReason()
}

// run serves the connection to its end and releases its resources.
func (s *session) run(ctx context.Context) {
	err := s.guard(func() error { return s.runInner(ctx) })
	if reason := s.endReason(); reason != nil {
		err = reason
	}
	s.server.ended(err, s.ip)
	notified := s.farewell(err)
	if failure := s.guard(func() error { s.unpublish(err); return nil }); failure != nil {
		s.server.ended(failure, s.ip)
	}
	if notified {
		s.linger(errors.Is(err, errFinished))
	}
	_ = s.conn.Close()
}

// guard converts a panic to an error: a bug in one session must not end the others.
func (s *session) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.server.config.Log.Error("rtmp session panicked", "conn", s.id, "panic", p, "stack", string(debug.Stack()))
			err = &panicError{p}
		}
	}()
	return f()
}

func (s *session) runInner(ctx context.Context) error {
	limits := s.server.config.Limits
	if err := s.extend(time.Now().Add(limits.HandshakeTime)); err != nil {
		return err
	}
	if err := s.handshake(ctx); err != nil {
		return &handshakeError{err}
	}
	s.in.allowed = s.in.total + int64(limits.PublishBytes)
	if err := s.extend(time.Now().Add(limits.PublishTime)); err != nil {
		return err
	}
	for {
		m, err := s.chunks.next()
		if err != nil {
			return err
		}
		if err := s.handle(ctx, m); err != nil {
			return err
		}
		if s.published {
			if err := s.alive(); err != nil {
				return err
			}
		}
	}
}

// alive sends acknowledgements and moves the read deadline. Only complete messages count, so
// that single bytes don't keep a connection open.
func (s *session) alive() error {
	if uint32(s.in.total)-s.acked >= s.window {
		s.acked = uint32(s.in.total)
		var r replies
		r.number(typeAck, s.acked)
		if err := s.send(r); err != nil {
			return err
		}
	}
	// Setting a deadline costs as much as a small message, so it is moved in steps.
	if idle := s.server.config.Limits.IdleTime; s.in.last.Sub(s.in.extended) > idle/16 {
		s.in.extended = s.in.last
		return s.extend(s.in.last.Add(idle))
	}
	return nil
}

// send writes all replies at once. It fails when a client doesn't read.
func (s *session) send(r replies) error {
	if len(r) == 0 {
		return nil
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.server.config.Limits.WriteTime)); err != nil {
		return err
	}
	_, err := s.conn.Write(r)
	return err
}

// farewell sends the client the reason for the end, if possible.
func (s *session) farewell(err error) bool {
	if !s.connected && !isAppError(err) {
		return false
	}
	var r replies
	if !r.farewell(err) {
		return false
	}
	return s.send(r) == nil
}

// unpublish reports the end of the publisher and releases the stream. The hub is notified
// before the gate, so that no media of this publisher arrives after the report.
func (s *session) unpublish(err error) {
	log, gate := s.server.config.Log, s.server.config.Gate
	if !s.published {
		log.Debug("rtmp connection ended before publishing", "conn", s.id, "ip", s.ip, "reason", err)
		return
	}
	log.Info("rtmp publisher gone", "conn", s.id, "reason", err, "bytes", s.in.total, "dropped", s.feed.dropped)
	ctx, cancel := context.WithTimeout(context.Background(), gateTime)
	defer cancel()
	defer gate.Unpublish(ctx, s.id)
	if s.publisher == nil {
		return
	}
	defer s.publisher.Close()
	s.server.publishing(-1)
	if m, ok := errors.AsType[*mediaError](err); ok {
		gate.Rejected(ctx, s.id, m.reason)
	}
}

// linger lets the client read the farewell and close first: closing with unread input would
// reset the connection and lose the farewell. A client that finished closes by itself, and
// GStreamer reports an error if the server closes first; other clients may wait for the server.
func (s *session) linger(finished bool) {
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok && !finished {
		_ = c.CloseWrite()
	}
	limit := lingerTime
	if s.server.stopping() {
		limit /= 8
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(limit))
	_, _ = io.CopyN(io.Discard, s.conn, lingerBytes)
}
