// Package sfu connects browsers in rooms: it forwards the audio and video that each participant
// publishes to all others. A Gate decides who may enter a room and publish. docs/signalling.md
// describes the messages of the protocol.
//
// Each room and each participant has a goroutine that alone touches its state. They post work to
// each other's mailboxes and never wait for each other. Packets don't pass through these
// goroutines: package forward carries them.
package sfu

import (
	"context"
	"crypto/rand"
	"maps"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/media/sfu/forward"
)

// Server holds rooms and the connections in them.
type Server struct {
	config Config
	run    string // makes connection ids unique over restarts
	// roomJoins and addressJoins limit the connections with a good token, by the room that it was
	// issued for and by address; badTokens limits those with a bad token, by address.
	roomJoins               *limiter[string]
	addressJoins, badTokens *limiter[netip.Addr]
	// handshakes has a token for each connection that is joining.
	handshakes chan struct{}

	ctx    context.Context // ends with the server
	cancel context.CancelFunc
	// running ends when Stop is called.
	running    context.Context
	endRunning context.CancelFunc
	wg         sync.WaitGroup

	net     *network
	relay   *relay
	workers *forward.Workers

	packets, bytes, dropped, malformed, nacks, keyFrames atomic.Uint64
	faults                                               *faults
	// castIDs maps room ids to the publisher ids of the rooms' own broadcasts.
	castIDs sync.Map

	mu       sync.Mutex
	open     map[string]*room
	resumes  map[string]*peer
	serial   uint64
	accepted uint64
	refused  map[string]uint64
	// fallbacks counts fallbacks to HLS, by code.
	fallbacks map[string]uint64
	stopping  bool
	tracks    int
	watchers  int
	// watchersOf counts the watchers of each tenant.
	watchersOf map[string]int
}

// New returns a server that doesn't listen yet.
func New(c Config) (*Server, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, run: rand.Text()[:10],
		roomJoins:    newLimiter[string](c.Now, c.Limits.RoomJoins, joinBurst),
		addressJoins: newLimiter[netip.Addr](c.Now, c.Limits.AddressJoins, joinBurst),
		badTokens:    newLimiter[netip.Addr](c.Now, c.Limits.BadTokens, joinBurst),
		handshakes:   make(chan struct{}, c.Limits.Handshakes),
		faults:       newFaults(c.Log),
		open:         map[string]*room{}, resumes: map[string]*peer{}, refused: map[string]uint64{}, fallbacks: map[string]uint64{},
		watchersOf: map[string]int{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.running, s.endRunning = context.WithCancel(s.ctx)
	return s, nil
}

// Start opens the media ports and returns. Call it once, and Stop after it.
func (s *Server) Start() error {
	var err error
	if s.net, err = openNetwork(s.config); err != nil {
		return err
	}
	if s.relay, err = openRelay(s.config, s.net); err != nil {
		_ = s.net.close()
		return err
	}
	s.workers = forward.NewWorkers(0)
	return nil
}

// Addr is the address at which media arrives, over UDP and TCP; nil before Start.
func (s *Server) Addr() net.Addr {
	if s.net == nil {
		return nil
	}
	return s.net.udp.LocalAddr()
}

// TURNAddr is the address at which the relay listens; nil without a relay.
func (s *Server) TURNAddr() net.Addr {
	if s.relay == nil {
		return nil
	}
	return s.relay.udp.LocalAddr()
}

// Stop sends all clients a bye that lets them reconnect. It returns when everything has stopped and
// the gate knows of all leaves, or when ctx ends. It is idempotent.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	rooms := make([]*room, 0, len(s.open))
	for _, r := range s.open {
		rooms = append(rooms, r)
	}
	s.mu.Unlock()
	s.endRunning()
	for _, r := range rooms {
		r.box.post(func() { r.endAll(&ClientError{Code: CodeShutdown}) })
	}
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	// Cancel the calls to the gate that are still running.
	s.cancel()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	s.closeNetwork()
	return err
}

func (s *Server) closeNetwork() {
	s.mu.Lock()
	workers, relay, network := s.workers, s.relay, s.net
	s.workers, s.relay = nil, nil
	s.mu.Unlock()
	if workers == nil {
		return
	}
	workers.Close()
	relay.close()
	if err := network.close(); err != nil {
		s.config.Log.Warn("sfu: sockets not closed", "error", err)
	}
}

// Stats returns counters and current numbers.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{
		Rooms: len(s.open), Tracks: s.tracks, Watchers: s.watchers,
		Accepted: s.accepted, Refused: maps.Clone(s.refused), Fallbacks: maps.Clone(s.fallbacks),
		PacketsIn: s.packets.Load(), BytesIn: s.bytes.Load(), Dropped: s.dropped.Load(),
		Malformed: s.malformed.Load(), Nacks: s.nacks.Load(), KeyFrames: s.keyFrames.Load(), Panics: s.faults.count.Load(),
	}
	if s.net != nil {
		out := s.net.udp.Stats()
		st.PacketsOut, st.SendCalls, st.PacketsLost = out.Packets, out.Calls, out.Failed
		st.Dropped += out.Overrun
	}
	if s.relay != nil {
		st.RelaySockets = s.relay.openSockets()
	}
	for _, r := range s.open {
		st.Participants += r.peers
	}
	return st
}

// Users are the users that are connected to a room here, or may resume.
func (s *Server) Users(roomID string) []string {
	r := s.room(roomID)
	if r == nil {
		return nil
	}
	users := make(chan []string, 1)
	if !r.box.post(func() { users <- r.users() }) {
		return nil
	}
	select {
	case list := <-users:
		return list
	case <-r.done:
		return nil
	}
}

// Rooms are the rooms that have connections.
func (s *Server) Rooms() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]string, 0, len(s.open))
	for roomID := range s.open {
		list = append(list, roomID)
	}
	return list
}

func (s *Server) room(roomID string) *room {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[roomID]
}

// begin counts a socket, for which Stop waits; false when the server is stopping.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.wg.Add(1)
	return true
}

// join adds a peer to its room, which is made for the first one; false when the server is stopping.
func (s *Server) join(p *peer, g Grant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	r := s.open[g.RoomID]
	if r == nil {
		r = newRoom(s, g)
		s.open[g.RoomID] = r
		s.wg.Go(r.run)
	}
	r.peers++
	s.accepted++
	s.resumes[p.resume] = p
	s.relay.enter(p.connID, p.from)
	p.room = r
	s.wg.Go(p.run)
	r.box.post(func() { r.join(p, g) })
	return true
}

// left removes a peer that has ended. The room ends with its last peer.
func (s *Server) left(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.resumes, p.resume)
	s.watcherLeft(p)
	if p.room.peers--; p.room.peers == 0 {
		delete(s.open, p.room.id)
		close(p.room.ended)
	}
}

// unrelay ends a connection's access to the relay.
func (s *Server) unrelay(connID string) {
	s.mu.Lock()
	relay := s.relay
	s.mu.Unlock()
	relay.leave(connID)
}

// resumable returns the peer with a resume secret; nil without one in that room.
func (s *Server) resumable(secret, roomID string) *peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.resumes[secret]; p != nil && p.room.id == roomID {
		return p
	}
	return nil
}

// newConnID returns a new connection id.
func (s *Server) newConnID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	return "sfu-" + s.run + "-" + strconv.FormatUint(s.serial, 10)
}

// countFallback counts a participant that got a `fallback` message, by its code.
func (s *Server) countFallback(code string) {
	s.mu.Lock()
	s.fallbacks[code]++
	s.mu.Unlock()
}

func (s *Server) countRefused(code string) {
	s.mu.Lock()
	s.refused[code]++
	s.mu.Unlock()
}

func (s *Server) countTracks(delta int) {
	s.mu.Lock()
	s.tracks += delta
	s.mu.Unlock()
}

// leave reports a leave to the gate. It retries until that succeeds, at most 8 times, or until the
// server has stopped.
func (s *Server) leave(c Connection) {
	pause := 100 * time.Millisecond
	for try := range 8 {
		ctx, cancel := s.leaveTry()
		err := s.config.Gate.Leave(ctx, c)
		cancel()
		if err == nil || s.ctx.Err() != nil {
			return
		}
		s.config.Log.Warn("sfu: a participant's leave was not stored", "room", c.RoomID, "try", try, "error", err)
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
			return
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// leaveTry returns the context of one report of a leave. It ends sooner when the server stops: a
// report that waits for a broken connection must leave time for another one.
func (s *Server) leaveTry() (context.Context, context.CancelFunc) {
	const usual, stopping = 5 * time.Second, time.Second
	ctx, cancel := context.WithTimeout(s.ctx, usual)
	stop := context.AfterFunc(s.running, func() { time.AfterFunc(stopping, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}

// setMuted stores whether a microphone is muted.
func (s *Server) setMuted(c Connection, muted bool) error {
	ctx, cancel := context.WithTimeout(s.ctx, enterTime)
	defer cancel()
	return s.config.Gate.SetMuted(ctx, c, muted)
}

// recovered is deferred where a panic must end one room, connection or packet reader rather than
// the process. Stats counts the panics.
func (s *Server) recovered(what string) {
	if value := recover(); value != nil {
		s.faults.note(what, value)
	}
}
