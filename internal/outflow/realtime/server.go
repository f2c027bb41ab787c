package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/centrifugal/centrifuge"
)

const (
	// channelPrefix begins the name of every room's channel, and tenantPrefix of the channel with all events of a tenant.
	channelPrefix = "room:"
	tenantPrefix  = "tenant:"
	// eventTag is the tag of a publication in a tenant's channel that holds the event's id.
	eventTag = "eventId"
	// heartWindow is the time over which hearts are merged.
	heartWindow = 250 * time.Millisecond
	// lanes is the number of queues of rooms' publications; each room's go through one queue
	// in order. eventLanes is the number of queues of tenants' events, so that a tenant's events delay no room.
	// laneSize is how many publications one queue holds; more are dropped.
	lanes      = 16
	eventLanes = 4
	laneSize   = 4096
	// maxEnginePause is the longest pause between attempts to connect to Redis after
	// the start.
	maxEnginePause = 5 * time.Second
	// farewellTime bounds how long Stop waits for queued publications and for clients
	// to close.
	farewellTime = 3 * time.Second
)

// Config of a Server.
type Config struct {
	// RedisURL connects several processes, so that each delivers the others'
	// publications. If it is empty, publications stay in this process's memory.
	RedisURL string
	Log      *slog.Logger
	// Now is the clock for the expiry of tokens, time.Now by default.
	Now func() time.Time
	// CheckEvery is the interval at which each connection's credential is checked
	// again, 5 s by default.
	CheckEvery time.Duration
	// SeparateReads turns off the merging of concurrent reads of a room's state. The library merges
	// them across all servers of a process by the room's name, so tests with several servers need
	// this. In production there is one server.
	SeparateReads bool
}

// Server holds the connections.
type Server struct {
	config Config
	gate   Gate

	engine   atomic.Pointer[engine]
	conns    *registry
	hearts   *hearts
	counts   counts
	pending  pending
	states   states
	queues   [lanes + eventLanes]chan *message
	queueMu  sync.RWMutex
	closed   bool
	roomSeed maphash.Seed

	stop context.CancelFunc
	ctx  context.Context //nolint:containedctx // ends the work outside of requests
	// work counts the goroutines outside of requests; carriers are the goroutines that empty
	// queues.
	work, carriers sync.WaitGroup
	spawning       sync.Mutex
}

// errNotReached means that Redis has not been reached since the server started.
var errNotReached = errors.New("not connected to Redis yet")

// message is an encoded publication.
type message struct {
	channel string
	data    []byte
	options []centrifuge.PublishOption
}

// counts are event counters for metrics.
type counts struct {
	publications, messages, dropped atomic.Uint64
}

// Stats are this process's metrics.
type Stats struct {
	// Connections with an accepted token, and their subscriptions to rooms.
	Connections, Subscriptions int
	// Publications that this process made; Messages that it sent to clients for its
	// own and other processes' publications; publications that it had to drop.
	Publications, Messages, Dropped uint64
}

// New makes a server. Publications from before Start are queued.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.CheckEvery <= 0 {
		c.CheckEvery = 5 * time.Second
	}
	s := &Server{config: c, conns: newRegistry(), roomSeed: maphash.MakeSeed()}
	s.hearts = newHearts(heartWindow, func(room string, count int) {
		s.enqueue(room, Heart, heartData{count}, false)
	})
	for i := range s.queues {
		s.queues[i] = make(chan *message, laneSize)
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Start lets clients connect. If Redis can't be reached, Start returns nil and
// attempts continue; until one succeeds, clients are asked to try again.
func (s *Server) Start(gate Gate) error {
	s.gate = gate
	e, err := s.openEngine()
	switch {
	case err == nil:
		s.engine.Store(e)
	case s.config.RedisURL == "":
		return err
	default:
		s.config.Log.Warn("realtime: Redis can't be reached, trying again", "error", err)
		s.work.Go(s.awaitEngine)
	}
	for _, queue := range s.queues {
		s.carriers.Go(func() { s.carry(queue) })
	}
	s.work.Go(s.patrol)
	return nil
}

// awaitEngine tries to connect to Redis until it succeeds.
func (s *Server) awaitEngine() {
	for pause := time.Second / 4; ; pause = min(2*pause, maxEnginePause) {
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
			return
		}
		e, err := s.openEngine()
		if err != nil {
			s.config.Log.Warn("realtime: Redis can't be reached, trying again", "error", err)
			continue
		}
		s.engine.Store(e)
		s.config.Log.Info("realtime: Redis is reached")
		return
	}
}

// spawn runs a function outside of requests; Stop waits for it.
func (s *Server) spawn(run func()) {
	s.spawning.Lock()
	defer s.spawning.Unlock()
	if s.ctx.Err() == nil {
		s.work.Go(run)
	}
}

// Stop delivers queued publications, then disconnects all clients and asks them to
// reconnect.
func (s *Server) Stop(ctx context.Context) error {
	s.hearts.close()
	s.queueMu.Lock()
	if s.closed {
		s.queueMu.Unlock()
		return nil
	}
	s.closed = true
	for _, queue := range s.queues {
		close(queue)
	}
	s.queueMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	carried := make(chan struct{})
	go func() {
		s.carriers.Wait()
		close(carried)
	}()
	select {
	case <-carried:
	case <-ctx.Done(): // Redis doesn't answer, and the queued publications are lost
	}
	s.spawning.Lock()
	s.stop()
	s.spawning.Unlock()
	if e := s.engine.Load(); e != nil {
		e.close(ctx)
	}
	<-carried
	s.work.Wait()
	return nil
}

// Check reports whether publications can be delivered.
func (s *Server) Check(ctx context.Context) error {
	e := s.engine.Load()
	if e == nil {
		return errNotReached
	}
	return e.check(ctx)
}

// Engine describes what transports publications between processes.
func (s *Server) Engine() string {
	switch {
	case s.config.RedisURL == "":
		return "memory"
	case s.engine.Load() == nil:
		return "Redis at REDIS_URL, not reached yet"
	default:
		return "Redis at REDIS_URL"
	}
}

// Stats returns the metrics.
func (s *Server) Stats() Stats {
	st := Stats{
		Publications: s.counts.publications.Load(), Messages: s.counts.messages.Load(), Dropped: s.counts.dropped.Load(),
	}
	if e := s.engine.Load(); e != nil {
		st.Connections, st.Subscriptions = e.node.Hub().NumClients(), e.node.Hub().NumSubscriptions()
	}
	return st
}

// envelope is the data of every publication in a room.
type envelope struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

// heartData is RealtimeHearts.
type heartData struct {
	Count int `json:"count"`
}

// Publish implements Publisher. Publications of one room are delivered in the
// order of the calls.
func (s *Server) Publish(_ context.Context, p Publication) {
	s.enqueue(p.Room, p.Type, p.Data, p.Type != Heart)
}

func (s *Server) enqueue(room, kind string, data any, kept bool) {
	raw, err := json.Marshal(envelope{kind, data})
	if err != nil {
		s.config.Log.Error("realtime: a publication is not JSON", "type", kind, "error", err)
		return
	}
	m := &message{channel: channelPrefix + room, data: raw}
	if kept {
		m.options = append(m.options, centrifuge.WithHistory(historySize, historyTime))
	}
	s.queue(maphash.String(s.roomSeed, room)%lanes, m)
}

// PublishEvent implements Publisher.
func (s *Server) PublishEvent(tenantID, eventID string, envelope []byte) {
	s.queue(lanes+maphash.String(s.roomSeed, tenantID)%eventLanes, &message{tenantPrefix + tenantID, envelope, []centrifuge.PublishOption{
		centrifuge.WithHistory(eventHistorySize, historyTime), centrifuge.WithTags(map[string]string{eventTag: eventID}),
	}})
}

func (s *Server) queue(lane uint64, m *message) {
	s.queueMu.RLock()
	defer s.queueMu.RUnlock()
	if s.closed {
		return
	}
	select {
	case s.queues[lane] <- m:
	default:
		s.drop(errors.New("too many wait"))
	}
}

// carry publishes a queue's messages until it is closed.
func (s *Server) carry(queue <-chan *message) {
	for m := range queue {
		if err := s.send(m); err != nil {
			s.drop(err)
		}
	}
}

func (s *Server) send(m *message) error {
	e := s.engine.Load()
	if e == nil {
		return errNotReached
	}
	if s.ctx.Err() != nil {
		return errors.New("the server stops")
	}
	if _, err := e.node.Publish(m.channel, m.data, m.options...); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	s.counts.publications.Add(1)
	return nil
}

func (s *Server) drop(err error) {
	s.counts.dropped.Add(1)
	s.config.Log.Warn("realtime: a publication was dropped", "error", err)
}
