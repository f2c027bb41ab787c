package web_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
)

// message is a message of the signalling protocol.
type message = map[string]any

// script simulates the SFU's WebSocket for cases that are rare with a real SFU: it can refuse,
// move or disconnect clients on command. Video and sound are tested with the real one.
type script struct {
	t testing.TB
	// opened receives each connection of a client.
	opened chan *connection
	// sessions holds the answers to GET /v1/me/sessions/{id}. Once the page is open, change them with sets.
	sessions map[string]message
	// hears receives each subscribed connection to the realtime channel.
	hears chan *websocket.Conn

	mu sync.Mutex
	// chat is the answer to GET /v1/me/channels/{id}/messages.
	chat []message
}

// connection is one WebSocket of a client.
type connection struct {
	t      testing.TB
	query  url.Values
	socket *websocket.Conn
	seq    int
	heard  chan message
	gone   context.Context
	once   sync.Once
	end    func()
}

func newScript(t testing.TB) *script {
	t.Helper()

	return &script{
		t: t, opened: make(chan *connection, 8), sessions: map[string]message{}, hears: make(chan *websocket.Conn, 8), chat: []message{},
	}
}

// handlers returns the handlers for serve.
func (s *script) handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/sfu/": s.accept,
		"/v1/me/sessions/{id}": func(w http.ResponseWriter, r *http.Request) {
			answer(w, s.session(r.PathValue("id")))
		},
		"/v1/me/channels/{id}/messages": func(w http.ResponseWriter, _ *http.Request) { answer(w, s.said()) },
		"/v1/realtime/websocket":        s.realtime,
	}
}

// says sets the messages of the chat.
func (s *script) says(chat ...message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chat = chat
}

// sets replaces a session.
func (s *script) sets(id string, session message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[id] = session
}

func (s *script) session(id string) message {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.sessions[id]
}

func (s *script) said() []message {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.chat
}

func answer(w http.ResponseWriter, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)

		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw) // fails if the browser has disconnected
}

// realtime accepts every client and publishes nothing by itself. It answers clients,
// because a client without answers would reconnect again and again.
func (s *script) realtime(w http.ResponseWriter, r *http.Request) {
	socket, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	for {
		_, commands, err := socket.Read(r.Context())
		if err != nil {
			return
		}
		for line := range bytes.Lines(commands) {
			if !s.obey(r.Context(), socket, line) {
				return
			}
		}
	}
}

// obey answers a command of the realtime channel's client.
func (s *script) obey(ctx context.Context, socket *websocket.Conn, line []byte) bool {
	var command message
	if json.Unmarshal(line, &command) != nil {
		return false
	}
	for kind, result := range map[string]message{"connect": {"client": "one", "version": "test"}, "subscribe": {}} {
		if command[kind] != nil && wsjson.Write(ctx, socket, message{"id": command["id"], kind: result}) != nil {
			return false
		}
	}
	if command["subscribe"] != nil {
		s.hears <- socket
	}

	return true
}

func (s *script) accept(w http.ResponseWriter, r *http.Request) {
	socket, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	c := &connection{t: s.t, query: r.URL.Query(), socket: socket, heard: make(chan message, 64), gone: ctx, end: end}
	s.opened <- c
	for {
		var m message
		if wsjson.Read(ctx, socket, &m) != nil {
			return
		}
		if m["type"] == "ping" {
			continue
		}
		c.heard <- m
	}
}

// next returns the next connection.
func (s *script) next() *connection {
	s.t.Helper()
	select {
	case c := <-s.opened:
		return c
	case <-time.After(20 * time.Second):
		s.t.Fatal("no client came")

		return nil
	}
}

func (c *connection) send(m message) {
	c.t.Helper()
	c.seq++
	m["seq"] = c.seq
	require.NoError(c.t, wsjson.Write(c.gone, c.socket, m))
}

// hear returns the next message of that type.
func (c *connection) hear(kind string) message {
	c.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case m := <-c.heard:
			if m["type"] == kind {
				return m
			}
		case <-deadline:
			c.t.Fatalf("the client said no %s", kind)
		}
	}
}

// cut closes the connection without a closing handshake.
func (c *connection) cut() {
	c.once.Do(func() { _ = c.socket.CloseNow() })
}

// ticketFor returns a participant token for clients to read; the script doesn't check
// it. more replaces its claims.
func ticketFor(t testing.TB, room, user string, more ...message) string {
	t.Helper()
	all := message{"typ": "participant", "room": room, "sub": user, "name": "Ada Okafor", "role": "host", "exp": time.Now().Add(time.Hour).Unix()}
	for _, m := range more {
		maps.Copy(all, m)
	}
	claims, err := json.Marshal(all)
	require.NoError(t, err)
	encode := base64.RawURLEncoding.EncodeToString

	return encode([]byte(`{"alg":"EdDSA"}`)) + "." + encode(claims) + "." + encode([]byte("signature"))
}

func someone(id, name, role string) message {
	may := role != "viewer"

	return message{
		"userId": id, "displayName": name, "role": role, "state": "joined", "muted": false, "handRaised": false,
		"perms": message{"audio": may, "video": may, "screen": role == "host" || role == "cohost"},
	}
}

func aSession(id string) message {
	return message{
		"id": id, "type": "conference", "name": "Weekly planning", "state": "live", "layout": "grid", "locked": false,
		"waitingRoom": false, "spotlightUserId": nil, "hostId": "ada", "parentSessionId": nil, "recordingEnabled": false,
	}
}

// welcome is the message for a client that joins.
func welcome(self message, others ...message) message {
	return message{
		"type": "welcome", "room": "sess_1", "kind": "session", "self": self, "resume": "secret", "resumed": false,
		"iceServers": []any{}, "participants": others, "tracks": []any{}, "session": message{"layout": "grid"}, "audience": 0,
	}
}
