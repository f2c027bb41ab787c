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

	"showfloor/internal/problem"
)

// Limits of one connection, and of those of one holder on this process.
const (
	// Whatever a client asks for, pongs excepted.
	commandsPerSecond, commandsBurst = 20, 100
	// What it publishes.
	publicationsPerSecond, publicationsBurst = 10, 20
	// Of the hearts that it publishes, those that count.
	heartsPerSecond, heartsBurst = 50, 100

	connsPerParticipant = 10
	connsPerHolder      = 1000
	// pendingPerNetwork is how many connections may be nobody's yet.
	pendingPerNetwork = 200
)

type connKey struct{}

// connOf is the client's connection; nil before its token was found good.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// connecting answers a connect command: the token says who it is.
func (s *Server) connecting(ctx context.Context, e centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
	if s.ctx.Err() != nil {
		return centrifuge.ConnectReply{}, centrifuge.DisconnectShutdown
	}
	who, err := s.authenticate(ctx, e.Token, roomIn(e.Data))
	if err != nil {
		s.note("connect", err)
		return centrifuge.ConnectReply{}, refusal(err)
	}
	var st Standing
	if who.participant() {
		if st, err = s.standing(ctx, who); err != nil {
			s.note("connect", err)
			return centrifuge.ConnectReply{}, refusal(err)
		}
		if d, out := st.out(); out {
			return centrifuge.ConnectReply{}, d
		}
	}
	arrivalOf(ctx).known()
	return centrifuge.ConnectReply{
		Context:     context.WithValue(ctx, connKey{}, newConn(e.Token, who, st)),
		Credentials: &centrifuge.Credentials{UserID: who.UserID + who.Holder},
	}, nil
}

// roomIn is the room that a connect command's data names, {"room": id}; empty for
// none.
func roomIn(data []byte) string {
	var in struct {
		Room string `json:"room"`
	}
	if json.Unmarshal(data, &in) != nil || !isID(in.Room) {
		return ""
	}
	return in.Room
}

// authenticate asks the gate, unless too many bad tokens came from there.
func (s *Server) authenticate(ctx context.Context, token, room string) (Identity, error) {
	visitor := arrivalOf(ctx).visitor
	if err := visitor.MayGuess(ctx, token); err != nil {
		return Identity{}, err
	}
	who, err := s.gate.Authenticate(ctx, token, room)
	if p, ok := problem.As(err); ok && p.Kind == problem.Unauthenticated {
		visitor.Guessed(ctx, token)
	}
	return who, err
}

// standing is how a participant stands in its room.
func (s *Server) standing(ctx context.Context, who Identity) (Standing, error) {
	found, err := s.gate.Standings(ctx, who.TenantID, who.Room, []string{who.UserID})
	return found[who.UserID], err
}

// note logs what isn't the caller's fault.
func (s *Server) note(what string, err error) {
	if _, refused := problem.As(err); !refused && !errors.Is(err, context.Canceled) {
		s.config.Log.Warn("realtime: "+what+" failed", "error", err)
	}
}

// connected is called once a client's token was found good.
func (s *Server) connected(client *centrifuge.Client) {
	c := connOf(client.Context())
	c.client = client
	client.OnSubscribe(func(e centrifuge.SubscribeEvent, answer centrifuge.SubscribeCallback) { s.subscribe(c, e, answer) })
	client.OnPublish(func(e centrifuge.PublishEvent, answer centrifuge.PublishCallback) {
		// What the handler took needs no publishing by the library.
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

// command bounds what a client may ask for in a second.
func (s *Server) command(client *centrifuge.Client, _ centrifuge.CommandReadEvent) error {
	c := connOf(client.Context())
	if c == nil || c.commands.take(time.Now(), 1) == 1 {
		return nil // before the connect command there is none but that one
	}
	return centrifuge.DisconnectTooManyRequests
}

// pending counts the connections of each network that are nobody's yet.
type pending struct {
	mu     sync.Mutex
	counts map[string]int
}

// admit counts one in, unless there are too many; leave counts it out.
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

// arrival is what is known of a connection from its request.
type arrival struct {
	visitor Visitor
	// known ends its being nobody's.
	known func()
}

type arrivalKey struct{}

func arrivalOf(ctx context.Context) arrival {
	a, _ := ctx.Value(arrivalKey{}).(arrival)
	return a
}

// IsUpgrade tells whether the request asks for a WebSocket.
func IsUpgrade(r *http.Request) bool {
	return has(r.Header, "Connection", "upgrade") && has(r.Header, "Upgrade", "websocket")
}

// has tells whether a header that is a list holds the word.
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

// Serve makes a WebSocket of the request and returns. Its errors are problems,
// and nothing was written then.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, v Visitor) error {
	if key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key")); err != nil || len(key) != 16 ||
		r.Header.Get("Sec-WebSocket-Version") != "13" {
		return problem.New(problem.Invalid, "invalid_input", "this is no handshake of version 13 of the WebSocket protocol")
	}
	e := s.engine.Load()
	if e == nil || s.ctx.Err() != nil {
		return problem.New(problem.Unavailable, "realtime_unavailable", "the realtime channel is not available now; try again")
	}
	leave, ok := s.pending.admit(v.Network())
	if !ok {
		return problem.Limited(strangerTime, "too many connections from this address that haven't sent their token yet")
	}
	// One that never sends it is closed by then.
	time.AfterFunc(strangerTime, leave)
	e.sockets.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), arrivalKey{}, arrival{v, leave})))
	return nil
}
