package realtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// redisPrefix begins our keys and channels in Redis, which other programs may
	// share.
	redisPrefix = "showfloor:realtime"
	// redisConnectTime and redisAnswerTime bound connecting to Redis and one call.
	redisConnectTime = time.Second
	redisAnswerTime  = 3 * time.Second
	// queueSize is how many bytes may wait for one client. A client with more is too
	// slow and is disconnected.
	queueSize = 4 << 20
	// recoverySize is how many bytes of missed publications a reconnecting client may
	// receive. It must fit into the queue, or the client would be too slow at once.
	recoverySize = queueSize / 4
	// historySize and historyTime bound the number and the age of a room's
	// publications that are kept for reconnecting clients.
	historySize = 2000
	// eventHistorySize is the same number for a tenant's events, which are larger.
	eventHistorySize = 500
	historyTime      = time.Minute
	// historyMetaTime is how long a room without activity keeps its numbering of
	// publications.
	historyMetaTime = 6 * time.Hour
	// historyPage is the maximum number of publications per history command.
	historyPage = 300
	// messageSize is the maximum size of a client's message in bytes.
	messageSize = 64 << 10
	// writeTime is the deadline of one write to a socket.
	writeTime = 5 * time.Second
	// authenticationTime is how long a connection may stay unauthenticated.
	authenticationTime = 5 * time.Second
	// maxRooms is the maximum number of rooms that one connection may subscribe to.
	maxRooms = 128
)

// engine is a running Centrifuge node and its broker for publications.
type engine struct {
	node     *centrifuge.Node
	presence centrifuge.PresenceManager
	sockets  http.Handler
	// shard is nil in memory.
	shard *centrifuge.RedisShard
}

// openEngine makes and runs a node, in memory or on the Redis of the URL.
func (s *Server) openEngine() (_ *engine, err error) {
	node, err := centrifuge.New(s.nodeConfig())
	if err != nil {
		return nil, fmt.Errorf("make realtime node: %w", err)
	}
	e := &engine{node: node}
	defer func() {
		if err != nil {
			e.close(context.Background())
		}
	}()
	if s.config.RedisURL == "" {
		err = e.useMemory(s)
	} else {
		err = e.useRedis(s)
	}
	if err != nil {
		return nil, err
	}
	node.OnConnecting(s.connecting)
	node.OnConnect(s.connected)
	node.OnCommandRead(s.command)
	if err := node.Run(); err != nil {
		return nil, fmt.Errorf("run realtime node: %w", err)
	}
	e.sockets = centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		// Pages of any origin may connect: a client's permissions come from its token. Visitor.PageToken, the only use of a
		// cookie, is empty for pages of other origins.
		CheckOrigin:        func(*http.Request) bool { return true },
		ReadBufferSize:     1 << 10,
		UseWriteBufferPool: true,
		MessageSizeLimit:   messageSize,
		WriteTimeout:       writeTime,
	})
	return e, nil
}

func (s *Server) nodeConfig() centrifuge.Config {
	level := centrifuge.LogLevelWarn
	if s.config.Log.Enabled(context.Background(), slog.LevelDebug) {
		level = centrifuge.LogLevelDebug
	}
	return centrifuge.Config{
		Name:     "showfloor",
		LogLevel: level, LogHandler: s.logLibrary,
		ClientStaleCloseDelay: authenticationTime,
		ClientQueueMaxSize:    queueSize,
		ClientChannelLimit:    maxRooms,
		HistoryMetaTTL:        historyMetaTime, HistoryMaxPublicationLimit: historyPage,
		UseSingleFlight: !s.config.SeparateReads,
		// We neither export the library's metrics nor send them to other nodes.
		NodeInfoMetricsAggregateInterval: 24 * time.Hour,
		Metrics:                          centrifuge.MetricsConfig{RegistererGatherer: prometheus.NewRegistry()},
	}
}

func (e *engine) useMemory(s *Server) error {
	broker, err := centrifuge.NewMemoryBroker(e.node, centrifuge.MemoryBrokerConfig{})
	if err != nil {
		return fmt.Errorf("make realtime broker: %w", err)
	}
	presence, err := centrifuge.NewMemoryPresenceManager(e.node, centrifuge.MemoryPresenceManagerConfig{})
	if err != nil {
		return fmt.Errorf("make realtime presence: %w", err)
	}
	e.presence = presence
	e.node.SetBroker(memoryBroker{broker, s})
	e.node.SetPresenceManager(presence)
	return nil
}

func (e *engine) useRedis(s *Server) error {
	var err error
	e.shard, err = centrifuge.NewRedisShard(e.node, centrifuge.RedisShardConfig{
		Address: s.config.RedisURL, ClientName: "showfloor-realtime",
		ConnectTimeout: redisConnectTime, IOTimeout: redisAnswerTime,
	})
	if err != nil {
		return fmt.Errorf("connect to Redis: %w", err)
	}
	shards := []*centrifuge.RedisShard{e.shard}
	broker, err := centrifuge.NewRedisBroker(e.node, centrifuge.RedisBrokerConfig{Prefix: redisPrefix, Shards: shards})
	if err != nil {
		return fmt.Errorf("make realtime broker: %w", err)
	}
	presence, err := centrifuge.NewRedisPresenceManager(e.node, centrifuge.RedisPresenceManagerConfig{
		Prefix: redisPrefix, Shards: shards,
		// So a room's users are counted without loading its members.
		EnableUserMapping: func(string) bool { return true },
	})
	if err != nil {
		return fmt.Errorf("make realtime presence: %w", err)
	}
	e.presence = presence
	e.node.SetBroker(redisBroker{broker, s})
	e.node.SetPresenceManager(presence)
	return nil
}

// check reports whether the engine works.
func (e *engine) check(ctx context.Context) error {
	if e.shard == nil {
		return nil
	}
	// The library's calls take no context, but they end by themselves.
	answer := make(chan error, 1)
	go func() {
		_, err := e.presence.PresenceStats(channelPrefix + "check")
		answer <- err
	}()
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("ask Redis: %w", err)
		}
		return nil
	case <-ctx.Done():
		return errors.New("no answer from Redis in time")
	}
}

// close disconnects all clients and asks them to reconnect.
func (e *engine) close(ctx context.Context) {
	_ = e.node.Shutdown(ctx) // it fails if ctx ends before all clients have closed
	if e.shard != nil {
		e.shard.Close()
	}
}

// memoryBroker and redisBroker are the library's brokers. They also report each
// delivery to the server, and limit the size of a recovery.
type memoryBroker struct {
	*centrifuge.MemoryBroker

	server *Server
}

// RegisterBrokerEventHandler implements centrifuge.Broker.
func (b memoryBroker) RegisterBrokerEventHandler(h centrifuge.BrokerEventHandler) error {
	return b.MemoryBroker.RegisterBrokerEventHandler(ear{h, b.server})
}

// History implements centrifuge.Broker.
func (b memoryBroker) History(room string, o centrifuge.HistoryOptions) ([]*centrifuge.Publication, centrifuge.StreamPosition, error) {
	list, at, err := b.MemoryBroker.History(room, o)
	return bounded(list, o), at, err
}

type redisBroker struct {
	*centrifuge.RedisBroker

	server *Server
}

// RegisterBrokerEventHandler implements centrifuge.Broker.
func (b redisBroker) RegisterBrokerEventHandler(h centrifuge.BrokerEventHandler) error {
	return b.RedisBroker.RegisterBrokerEventHandler(ear{h, b.server})
}

// History implements centrifuge.Broker.
func (b redisBroker) History(room string, o centrifuge.HistoryOptions) ([]*centrifuge.Publication, centrifuge.StreamPosition, error) {
	list, at, err := b.RedisBroker.History(room, o)
	return bounded(list, o), at, err
}

// bounded limits what a reconnecting client receives: all that it missed, or
// nothing if that is more than recoverySize. After nothing the client knows that
// it hasn't recovered.
func bounded(list []*centrifuge.Publication, o centrifuge.HistoryOptions) []*centrifuge.Publication {
	if o.Filter.Since == nil || o.Filter.Limit >= 0 {
		return list
	}
	size := 0
	for _, p := range list {
		size += len(p.Data)
	}
	if size > recoverySize {
		return nil
	}
	return list
}

// ear reports each publication that arrives at this node to the server, after it
// was queued for the node's clients.
type ear struct {
	centrifuge.BrokerEventHandler

	server *Server
}

// HandlePublication implements centrifuge.BrokerEventHandler.
func (e ear) HandlePublication(
	channel string, p *centrifuge.Publication, at centrifuge.StreamPosition, delta bool, before *centrifuge.Publication,
) error {
	room, ok := strings.CutPrefix(channel, channelPrefix)
	if ok {
		e.server.states.note(room, p.Data, e.server.config.Now()) // before a client can react to it
	}
	err := e.BrokerEventHandler.HandlePublication(channel, p, at, delta, before)
	e.server.delivered(channel, room, p.Data)
	return err
}

// lastOfRoom begins the last publication of a session's room, as envelope writes
// it.
const lastOfRoom = `{"type":"` + SessionEnded + `"`

// delivered counts a publication, and ends a room after its last one. room is empty for a channel that is no room.
func (s *Server) delivered(channel, room string, data []byte) {
	if e := s.engine.Load(); e != nil {
		s.counts.messages.Add(uint64(e.node.Hub().NumSubscribers(channel)))
	}
	if room != "" && bytes.HasPrefix(data, []byte(lastOfRoom)) {
		s.spawn(func() { s.endRoom(room) })
	}
}
