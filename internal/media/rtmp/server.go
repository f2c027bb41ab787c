// Package rtmp receives streams over RTMP and RTMPS: it checks the stream key before it reads
// any media, and writes audio and video to the hub.
//
// The handshake and the AMF0 encoder come from gortmplib. The chunk reader and the dialogue are
// our own: gortmplib answers a publish before its key can be checked, buffers up to 10 MiB on
// each chunk stream, and determines the tracks only once, so that it loses audio that begins
// later and new sequence headers.
package rtmp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"

	"showfloor/internal/media/hub"
)

// Server accepts RTMP publishers.
type Server struct {
	config Config
	places *places
	noise  []byte // the handshake's random data
	run    string // makes connection ids unique over restarts
	// started is the time from which the ends of rests are counted.
	started time.Time

	ctx       context.Context // ends with the server
	cancel    context.CancelFunc
	listeners []net.Listener
	wg        sync.WaitGroup

	mu       sync.Mutex
	sessions map[*session]struct{}
	serial   uint64
	stats    Stats
	crowded  map[string]crowdNote // by reason
}

// crowdNote limits the log lines about one reason for lack of places.
type crowdNote struct {
	logged time.Time
	since  int // connections since then
}

// crowdLogPause is the shortest time between two log lines about one reason.
const crowdLogPause = time.Minute

// New returns a server that doesn't listen yet.
func New(config Config) (*Server, error) {
	if config.Hub == nil || config.Gate == nil {
		return nil, errors.New("rtmp: a hub and a gate are needed")
	}
	if config.TLSAddr != "" && config.TLS == nil {
		return nil, errors.New("rtmp: RTMPS needs a certificate")
	}
	if config.App == "" {
		config.App = "live"
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	config.Limits = config.Limits.withDefaults()
	s := &Server{
		config: config, places: newPlaces(config.Limits),
		noise: make([]byte, 1528), run: rand.Text()[:10],
		started: time.Now(), sessions: map[*session]struct{}{}, stats: Stats{Refused: map[string]uint64{}}, crowded: map[string]crowdNote{},
	}
	_, _ = rand.Read(s.noise) // never fails
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Start opens the listeners and returns; call it once.
func (s *Server) Start() error {
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 4,
	}}
	addrs := []string{s.config.Addr, s.config.TLSAddr}
	s.listeners = make([]net.Listener, len(addrs))
	for i, addr := range addrs {
		if addr == "" {
			continue
		}
		l, err := lc.Listen(s.ctx, "tcp", addr)
		if err != nil {
			s.closeListeners()
			return fmt.Errorf("rtmp: %w", err)
		}
		s.listeners[i] = l
	}
	for i, l := range s.listeners {
		if l != nil {
			s.wg.Go(func() { s.accept(l, i == 1) })
		}
	}
	return nil
}

// AcceptedKey is a stream key that the gate accepted from an address. Keys are remembered by
// network (see netaddr.Network), so any address of the network will do.
type AcceptedKey struct {
	RemoteIP netip.Addr
	Hash     [sha256.Size]byte // of the key
	UsedAt   time.Time
}

// Recall passes keys to the server that were accepted before its start, the last used first.
// Their encoders don't wait when their address has sent too many bad keys.
func (s *Server) Recall(keys []AcceptedKey) { s.places.attempts.recall(keys) }

// Addr is the address for RTMP and TLSAddr that for RTMPS; nil without one.
func (s *Server) Addr() net.Addr { return s.addr(0) }

// TLSAddr is the address for RTMPS; nil without one. See Addr.
func (s *Server) TLSAddr() net.Addr { return s.addr(1) }

func (s *Server) addr(i int) net.Addr {
	if i >= len(s.listeners) || s.listeners[i] == nil {
		return nil
	}
	return s.listeners[i].Addr()
}

// stopGrace is how long sessions may take to end after their connections were closed.
const stopGrace = time.Second

// Stop ends all publishers and returns when everything has stopped. When ctx ends first, Stop
// closes the connections, and returns the error of ctx at most a second later: a session may
// still be waiting for its Gate. It is idempotent.
func (s *Server) Stop(ctx context.Context) error {
	s.cancel()
	s.closeListeners()
	for _, x := range s.open() {
		x.end(hub.ErrClosed)
	}
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, x := range s.open() {
		_ = x.conn.Close()
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
	}
	return ctx.Err()
}

// Stats returns totals and current numbers.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Connections = len(s.sessions)
	st.Refused = maps.Clone(st.Refused)
	return st
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		if l != nil {
			_ = l.Close()
		}
	}
}

func (s *Server) open() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*session, 0, len(s.sessions))
	for x := range s.sessions {
		list = append(list, x)
	}
	return list
}

func (s *Server) accept(l net.Listener, secure bool) {
	for {
		conn, err := l.Accept()
		if err == nil {
			s.serve(conn, secure)
			continue
		}
		if s.stopping() {
			return
		}
		// Most likely there are no free file descriptors: wait until some are closed.
		s.config.Log.Error("rtmp accept", "err", err)
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// serve starts a session. Without a place for it, it closes the connection at once, before the
// handshakes, since encoders reconnect at once and forever.
func (s *Server) serve(conn net.Conn, secure bool) {
	x := &session{server: s, conn: conn, secure: secure, woken: make(chan struct{})}
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		x.ip = a.AddrPort().Addr().Unmap()
	}
	var reason string
	x.place, reason = s.places.take(x.ip, func(reason string) { x.evict(conn, reason) })
	if x.place == nil {
		_ = conn.Close()
		s.refused(reason, x.ip)
		return
	}
	if secure {
		x.conn = tls.Server(conn, s.config.TLS)
	}
	if !s.add(x) {
		s.places.release(x.place)
		_ = conn.Close()
		return
	}
	s.wg.Go(func() {
		defer s.places.release(x.place)
		defer s.remove(x)
		x.run(s.ctx)
	})
}

// refused counts a connection that was refused or closed. A lack of places is logged, once a
// minute for each reason.
func (s *Server) refused(reason string, ip netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Refused[reason]++
	switch reason {
	case reasonConns, reasonUnproven, reasonPublishers:
	default:
		return
	}
	note := s.crowded[reason]
	note.since++
	if now := time.Now(); now.Sub(note.logged) >= crowdLogPause {
		s.config.Log.Warn("rtmp: too many connections; some are refused or closed",
			"reason", reason, "ip", ip, "since the last such line", note.since, "connections", len(s.sessions), "publishing", s.stats.Publishing)
		note = crowdNote{logged: now}
	}
	s.crowded[reason] = note
}

// add assigns the session's id; false when the server is stopping.
func (s *Server) add(x *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping() {
		return false
	}
	s.serial++
	x.id = fmt.Sprintf("rtmp-%s-%d", s.run, s.serial)
	s.sessions[x] = struct{}{}
	return true
}

func (s *Server) remove(x *session) {
	s.mu.Lock()
	delete(s.sessions, x)
	s.mu.Unlock()
}

func (s *Server) publishing(delta int) {
	s.mu.Lock()
	s.stats.Publishing += delta
	if delta > 0 {
		s.stats.Accepted++
	}
	s.mu.Unlock()
}

func (s *Server) ended(err error, ip netip.Addr) {
	if reason := refusedFor(err); reason != "" && !s.stopping() {
		s.refused(reason, ip)
	}
}

func (s *Server) stopping() bool { return s.ctx.Err() != nil }
