package realtime

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge"

	"showfloor/internal/base/problem"
)

// Limits of one connection, and of one holder's connections to this process.
const (
	// All commands of a client, except pongs.
	commandsPerSecond, commandsBurst = 20, 100
	// Publications of a client.
	publicationsPerSecond, publicationsBurst = 10, 20
	// Hearts of a client that are counted; more are discarded.
	heartsPerSecond, heartsBurst = 50, 100

	// From mergedFrom subscribers of a room on this node, publications for further viewers are merged over mergedOver.
	mergedFrom = 100
	mergedOver = 60 * time.Millisecond
	// allMessages puts all waiting messages into one write.
	allMessages = -1

	connsPerParticipant = 10
	connsPerHolder      = 1000
	// pendingPerNetwork is the maximum number of unauthenticated connections of one
	// network.
	pendingPerNetwork = 200
)

// viewerRole is the role of a participant who only watches.
const viewerRole = "viewer"

type connKey struct{}

// connOf is the client's connection; nil before its token was accepted.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// connecting answers a connect command, whose token identifies the client.
func (s *Server) connecting(ctx context.Context, e centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
	if s.ctx.Err() != nil {
		return centrifuge.ConnectReply{}, centrifuge.DisconnectShutdown
	}
	token := e.Token
	if token == "" {
		token = arrivalOf(ctx).visitor.PageToken()
	}
	who, err := s.authenticate(ctx, token, roomIn(e.Data))
	if err != nil {
		s.note("connect", err)
		return centrifuge.ConnectReply{}, refusal(err)
	}
	var st Participant
	if who.participant() {
		if st, err = s.participant(ctx, who); err != nil {
			s.note("connect", err)
			return centrifuge.ConnectReply{}, refusal(err)
		}
		if d, out := st.out(); out {
			return centrifuge.ConnectReply{}, d
		}
	}
	arrivalOf(ctx).known()
	return centrifuge.ConnectReply{
		Data:        dataFor(who),
		Context:     context.WithValue(ctx, connKey{}, newConn(token, who, st, arrivalOf(ctx).visitor)),
		Credentials: &centrifuge.Credentials{UserID: who.UserID + who.Holder},
		WriteDelay:  s.writeDelay(who, st), WriteWithTimer: true, MaxMessagesInFrame: allMessages,
	}, nil
}

// dataFor is the data of the answer to a connect command: a tenant's credential gets the tenant's id, which names the channel of its
// events.
func dataFor(who Identity) []byte {
	if who.participant() {
		return nil
	}
	raw, err := json.Marshal(map[string]string{"tenantId": who.TenantID})
	if err != nil {
		return nil // a string always encodes
	}
	return raw
}

// writeDelay is the time over which publications for a client are merged into one write; 0 for none. In a room with many
// viewers, most of the CPU goes into writes.
func (s *Server) writeDelay(who Identity, st Participant) time.Duration {
	if !who.participant() || st.Role != viewerRole {
		return 0
	}
	if s.engine.Load().node.Hub().NumSubscribers(channelPrefix+who.Room) < mergedFrom {
		return 0
	}
	return mergedOver
}

// roomIn is the room in a connect command's data, {"room": id}; empty for none.
func roomIn(data []byte) string {
	var in struct {
		Room string `json:"room"`
	}
	if json.Unmarshal(data, &in) != nil || !isID(in.Room) {
		return ""
	}
	return in.Room
}

// authenticate asks the gate, unless too many bad tokens came from the client's
// network.
func (s *Server) authenticate(ctx context.Context, token, room string) (Identity, error) {
	visitor := arrivalOf(ctx).visitor
	if err := visitor.MayGuess(ctx, token); err != nil {
		return Identity{}, err
	}
	who, err := s.gate.Authenticate(ctx, token, room)
	if p, ok := problem.As(err); ok && p.Kind == problem.Unauthenticated && token != "" {
		visitor.Guessed(ctx, token)
	}
	if err == nil && who.Impersonated {
		err = visitor.MayImpersonate(ctx)
	}
	return who, err
}

// participant returns a participant's current state in its room.
func (s *Server) participant(ctx context.Context, who Identity) (Participant, error) {
	found, err := s.gate.Participants(ctx, who.TenantID, who.Room, []string{who.UserID})
	return found[who.UserID], err
}

// note logs errors that the client didn't cause.
func (s *Server) note(what string, err error) {
	if _, refused := problem.As(err); !refused && !errors.Is(err, context.Canceled) {
		s.config.Log.Warn("realtime: "+what+" failed", "error", err)
	}
}

// connected is called once a client's token was accepted.
func (s *Server) connected(client *centrifuge.Client) {
	c := connOf(client.Context())
	c.client = client
	client.OnSubscribe(func(e centrifuge.SubscribeEvent, answer centrifuge.SubscribeCallback) { s.subscribe(c, e, answer) })
	client.OnPublish(func(e centrifuge.PublishEvent, answer centrifuge.PublishCallback) {
		// The handler has done everything; the library must not publish the message.
		answer(centrifuge.PublishReply{Result: &centrifuge.PublishResult{}}, s.publish(c, e))
	})
	client.OnPresence(func(e centrifuge.PresenceEvent, answer centrifuge.PresenceCallback) { answer(s.presence(c, e.Channel)) })
	client.OnPresenceStats(func(e centrifuge.PresenceStatsEvent, answer centrifuge.PresenceStatsCallback) {
		answer(centrifuge.PresenceStatsReply{}, mayAsk(c, e.Channel))
	})
	client.OnHistory(func(e centrifuge.HistoryEvent, answer centrifuge.HistoryCallback) {
		answer(centrifuge.HistoryReply{}, mayAsk(c, e.Channel))
	})
	client.OnRPC(func(_ centrifuge.RPCEvent, answer centrifuge.RPCCallback) {
		answer(centrifuge.RPCReply{}, clientError(centrifuge.ErrorMethodNotFound, "there are no calls here; use the operations of the API"))
	})
	client.OnDisconnect(func(centrifuge.DisconnectEvent) { s.conns.remove(c) })
	if oldest := s.conns.add(c); oldest != nil {
		oldest.client.Disconnect(disconnection(codeReplaced, "too many connections of this user"))
	}
}

// command enforces the rate limit of a client's commands.
func (s *Server) command(client *centrifuge.Client, _ centrifuge.CommandReadEvent) error {
	c := connOf(client.Context())
	if c == nil || c.commands.take(time.Now(), 1) == 1 {
		return nil // the only command before authentication is the connect command
	}
	return centrifuge.DisconnectTooManyRequests
}

// pending counts the unauthenticated connections of each network.
type pending struct {
	mu     sync.Mutex
	counts map[string]int
}

// admit counts a connection, unless the network has too many. leave uncounts it;
// only its first call has an effect.
func (p *pending) admit(network string) (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	if p.counts[network] >= pendingPerNetwork {
		return nil, false
	}
	p.counts[network]++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.counts[network]--; p.counts[network] == 0 {
			delete(p.counts, network)
		}
	}), true
}

// arrival holds the data of the HTTP request that opened a connection.
type arrival struct {
	visitor Visitor
	// known ends the count of the connection as unauthenticated.
	known func()
}

type arrivalKey struct{}

func arrivalOf(ctx context.Context) arrival {
	a, _ := ctx.Value(arrivalKey{}).(arrival)
	return a
}

// IsUpgrade reports whether the request asks for a WebSocket.
func IsUpgrade(r *http.Request) bool {
	return has(r.Header, "Connection", "upgrade") && has(r.Header, "Upgrade", "websocket")
}

// has reports whether a list header contains the word.
func has(h http.Header, name, word string) bool {
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), word) {
				return true
			}
		}
	}
	return false
}

// Serve upgrades the request to a WebSocket and returns. Its errors are problems;
// if it returns one, it has written nothing.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, v Visitor) error {
	if key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key")); err != nil || len(key) != 16 ||
		r.Header.Get("Sec-WebSocket-Version") != "13" {
		return problem.New(problem.Invalid, "invalid_input", "this is not a WebSocket handshake of version 13")
	}
	e := s.engine.Load()
	if e == nil || s.ctx.Err() != nil {
		return problem.New(problem.Unavailable, "realtime_unavailable", "the realtime channel is not available now; try again")
	}
	leave, ok := s.pending.admit(v.Network())
	if !ok {
		return problem.Limited(authenticationTime, "too many connections from this address that haven't sent their token yet")
	}
	// A client that never sends its token is disconnected by then.
	time.AfterFunc(authenticationTime, leave)
	e.sockets.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), arrivalKey{}, arrival{v, leave})))
	return nil
}
