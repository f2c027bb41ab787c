package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// meeting simulates participants in rooms of a server that is killed repeatedly.
type meeting struct {
	t    testing.TB
	s    *server
	a    *tenant
	seed uint64
	room string
	stop chan struct{}
	halt func()
	busy sync.WaitGroup

	mu     sync.Mutex
	counts map[string]int
	tokens map[string]string // by user
	kicked map[string]bool
	stays  map[string]*seat
}

// seat is a connection that received "welcome".
type seat struct {
	conn  *websocket.Conn
	muted bool
}

const (
	attendees = 14
	capacity  = 20
)

// heard is a message from the server on the socket.
type heard struct {
	Type   string `json:"type"`
	Code   string `json:"code"`
	SFUURL string `json:"sfuUrl"`
	Self   struct {
		Role  string `json:"role"`
		Muted bool   `json:"muted"`
	} `json:"self"`
	Participant struct {
		UserID string `json:"userId"`
		Role   string `json:"role"`
		Muted  bool   `json:"muted"`
	} `json:"participant"`
}

func newMeeting(t testing.TB, s *server, seed uint64, places int) *meeting {
	t.Helper()
	m := &meeting{
		t: t, s: s, a: signUp(t, s), seed: seed, stop: make(chan struct{}),
		counts: map[string]int{}, tokens: map[string]string{}, kicked: map[string]bool{}, stays: map[string]*seat{},
	}
	m.halt = sync.OnceFunc(func() { close(m.stop) })
	_, session := m.try("POST", "/v1/me/sessions", map[string]any{"type": "conference", "name": "All hands", "hostId": "host", "capacity": places})
	m.room, _ = session["id"].(string)
	require.NotEmpty(t, m.room, "%v", session)
	return m
}

// meet starts all participants. They act until disperse.
func meet(t testing.TB, s *server, seed uint64) *meeting {
	t.Helper()
	m := newMeeting(t, s, seed, capacity)
	for i := range attendees {
		m.run(uint64(i), func(r *rand.Rand, _ int) { m.attend(r, fmt.Sprint("attendee-", i)) })
	}
	m.run(100, func(r *rand.Rand, n int) { m.kick(r, fmt.Sprint("victim-", n)) })
	m.run(200, func(r *rand.Rand, n int) { m.promote(r, fmt.Sprint("riser-", n)) })
	m.run(300, m.breakOut)
	for i := range 2 {
		m.run(400+uint64(i), func(r *rand.Rand, n int) { m.ring(r, fmt.Sprintf("%d-%d", i, n)) })
	}
	m.run(500, func(*rand.Rand, int) { m.beQuiet() })
	return m
}

func (m *meeting) run(id uint64, f func(r *rand.Rand, n int)) {
	r := rand.New(rand.NewPCG(m.seed, id))
	m.busy.Go(func() {
		for n := 0; !m.over(); n++ {
			f(r, n)
		}
	})
}

func (m *meeting) over() bool {
	select {
	case <-m.stop:
		return true
	default:
		return false
	}
}

func (m *meeting) rest(d time.Duration) {
	select {
	case <-m.stop:
	case <-time.After(d):
	}
}

// disperse ends the participants' actions. Participants in the room stay connected.
func (m *meeting) disperse() {
	m.halt()
	m.busy.Wait()
}

func (m *meeting) count(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what]++
}

// hasMet reports whether participants returned, and some were muted, kicked and promoted.
func (m *meeting) hasMet() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, what := range []string{"back with the same token", "muted again", "kicked", "promoted"} {
		if m.counts[what] == 0 {
			return false
		}
	}
	return true
}

// try calls the API once; status is 0 if there was no answer.
func (m *meeting) try(method, path string, body any) (status int, answer map[string]any) {
	raw, err := json.Marshal(body)
	require.NoError(m.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, m.s.url+path, bytes.NewReader(raw))
	require.NoError(m.t, err)
	r.Header.Set("Authorization", "Bearer "+m.a.apiKey)
	r.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Timeout: patience}).Do(r)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	if json.Unmarshal(text, &answer) != nil {
		var list []any // for answers that are a list, such as rooms
		_ = json.Unmarshal(text, &list)
		answer = map[string]any{"data": list}
	}
	return resp.StatusCode, answer
}

// insist repeats a call until a working server answers it.
func (m *meeting) insist(method, path string, body any) (status int, answer map[string]any) {
	for {
		if status, answer = m.try(method, path, body); status != 0 && status < 500 {
			return status, answer
		}
		<-time.After(pollEvery) // until the server runs again
	}
}

func (m *meeting) token(user string) (token string, status int) {
	status, answer := m.insist("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": user})
	token, _ = answer["token"].(string)
	if token != "" {
		m.mu.Lock()
		m.tokens[user] = token
		m.mu.Unlock()
	}
	return token, status
}

// dial opens a socket and reads the first message. conn is nil if no server answers.
func (m *meeting) dial(room, token string) (*websocket.Conn, heard) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	url := strings.Replace(m.s.url, "http", "ws", 1) + "/sfu/?room=" + room + "&token=" + token
	conn, resp, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, heard{}
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	conn.SetReadLimit(1 << 20)
	first, err := hear(ctx, conn)
	if err != nil {
		_ = conn.CloseNow()
		return nil, heard{}
	}
	return conn, first
}

func hear(ctx context.Context, conn *websocket.Conn) (heard, error) {
	_, data, err := conn.Read(ctx)
	if err != nil {
		return heard{}, err
	}
	var h heard
	return h, json.Unmarshal(data, &h)
}

// come joins with a token and retries while the server is down. If the server
// refuses the token, code is that of its "bye".
func (m *meeting) come(token string) (conn *websocket.Conn, first heard, code string) {
	for again := false; ; again = true {
		conn, first = m.dial(m.room, token)
		switch {
		case conn == nil || first.Type == "bye" && (first.Code == "shutdown" || first.Code == "internal"):
			if m.over() && m.quiet() {
				return nil, first, "over"
			}
			<-time.After(pollEvery)
			continue
		case first.Type == "bye":
			_ = conn.CloseNow()
			return nil, first, first.Code
		case first.Type != "welcome":
			m.t.Errorf("the first word is %q", first.Type)
		case again:
			m.count("back with the same token")
		}
		return conn, first, ""
	}
}

// quiet reports whether no server runs any more.
func (m *meeting) quiet() bool { return m.s.process == nil || !m.s.running() }

// attend joins, leaves and joins again. At the end it stays if there is a seat.
func (m *meeting) attend(r *rand.Rand, user string) {
	token, status := m.token(user)
	if status != 201 {
		m.count(fmt.Sprint("token: ", status))
		m.rest(50 * time.Millisecond)
		return
	}
	for {
		conn, _, code := m.come(token)
		if code != "" {
			m.count("bye " + code)
			return
		}
		m.count("welcome")
		lost := m.listen(conn, time.Duration(50+r.IntN(900))*time.Millisecond)
		switch {
		case m.over() && !lost:
			m.mu.Lock()
			m.stays[user] = &seat{conn: conn}
			m.mu.Unlock()
			go keepAlive(conn)
			return
		case lost:
			m.count("lost")
			_ = conn.CloseNow()
		case oneIn(r, 3): // disconnect without "leave"
			_ = conn.CloseNow()
		default:
			_ = conn.Write(context.Background(), websocket.MessageText, []byte(`{"type":"leave"}`))
			m.listen(conn, 5*time.Second)
			_ = conn.CloseNow()
			return
		}
	}
}

// keepAlive sends pings until the connection is closed: the server ends a socket that is silent for 15 s.
func keepAlive(conn *websocket.Conn) {
	for conn.Write(context.Background(), websocket.MessageText, []byte(`{"type":"ping","time":1}`)) == nil {
		<-time.After(5 * time.Second)
	}
}

// listen reads messages for a while, until the meeting is over or the connection is lost.
func (m *meeting) listen(conn *websocket.Conn, d time.Duration) (lost bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, _, err := conn.Read(context.Background()); err != nil {
				return
			}
		}
	}()
	select {
	case <-ended:
		return true
	case <-time.After(d):
	case <-m.stop:
	}
	return false
}

func (m *meeting) inside() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var users []string
	for user := range m.stays {
		users = append(users, user)
	}
	return users
}

// leave disconnects all participants who stayed.
func (m *meeting) leave() {
	for _, s := range m.stays {
		_ = s.conn.Write(context.Background(), websocket.MessageText, []byte(`{"type":"leave"}`))
	}
}

// bye returns the code with which a token is refused.
func (m *meeting) bye(token string) string {
	conn, first := m.dial(m.room, token)
	if conn != nil {
		_ = conn.CloseNow()
	}
	return first.Code
}

// kick removes a participant who is in the room.
func (m *meeting) kick(r *rand.Rand, user string) {
	m.rest(time.Duration(r.IntN(300)) * time.Millisecond)
	token, status := m.token(user)
	if status != 201 {
		return
	}
	conn, _, _ := m.come(token)
	if status, _ := m.insist("DELETE", "/v1/me/sessions/"+m.room+"/participants/"+user, nil); status != 200 {
		m.t.Errorf("kick: %d", status)
	}
	m.mu.Lock()
	m.kicked[user] = true
	m.mu.Unlock()
	m.count("kicked")
	if conn != nil {
		until(m.t, "the kicked one is out", func() bool { return m.listen(conn, time.Second) })
		_ = conn.CloseNow()
	}
}

// promote makes a participant a cohost, who then leaves.
func (m *meeting) promote(r *rand.Rand, user string) {
	m.rest(time.Duration(r.IntN(300)) * time.Millisecond)
	token, status := m.token(user)
	if status != 201 {
		return
	}
	conn, _, code := m.come(token)
	if code != "" {
		return
	}
	if status, _ := m.insist("POST", "/v1/me/sessions/"+m.room+"/moderate/promote", map[string]any{"userId": user, "role": "cohost"}); status != 201 {
		m.t.Errorf("promote: %d", status)
	}
	m.count("promoted")
	_ = conn.Write(context.Background(), websocket.MessageText, []byte(`{"type":"leave"}`))
	m.listen(conn, 5*time.Second)
	_ = conn.CloseNow()
}

// breakOut opens breakout rooms, lets a participant join one, and closes them.
func (m *meeting) breakOut(r *rand.Rand, _ int) {
	m.rest(time.Duration(r.IntN(400)) * time.Millisecond)
	user := "walker"
	token, _ := m.token(user)
	status, answer := m.insist("POST", "/v1/me/sessions/"+m.room+"/breakouts", map[string]any{
		"count": 2, "assignments": map[string]any{"1": []string{user}},
	})
	if status != 201 {
		m.t.Errorf("breakouts: %d %v", status, answer)
		return
	}
	m.count("breakouts")
	if data, _ := answer["data"].([]any); len(data) > 0 && token != "" {
		if room, _ := data[0].(map[string]any)["id"].(string); room != "" {
			if conn, first := m.dial(room, token); conn != nil {
				m.count("in a breakout: " + first.Type)
				_ = conn.CloseNow()
			}
		}
	}
	m.rest(time.Duration(r.IntN(200)) * time.Millisecond)
	if status, _ := m.insist("POST", "/v1/me/sessions/"+m.room+"/breakouts/close", nil); status != 201 {
		m.t.Errorf("close breakouts: %d", status)
	}
}

// ring calls a user, who answers, declines or doesn't react.
func (m *meeting) ring(r *rand.Rand, name string) {
	m.rest(time.Duration(r.IntN(300)) * time.Millisecond)
	status, answer := m.insist("POST", "/v1/me/calls/invite", map[string]any{
		"fromUserId": "from-" + name, "toUserId": "to-" + name, "kind": "voice",
	})
	if status != 201 {
		m.t.Errorf("invite: %d %v", status, answer)
		return
	}
	call := "/v1/me/calls/" + fmt.Sprint(answer["sessionId"])
	ok := func(verb string, user string) bool {
		status, _ := m.insist("POST", call+"/"+verb, map[string]any{"userId": user})
		m.count(fmt.Sprint(verb, ": ", status))
		return status == 201
	}
	switch r.IntN(3) {
	case 0:
		if ok("answer", "to-"+name) {
			ok("end", "from-"+name)
		}
	case 1:
		ok("decline", "to-"+name)
	}
}

// isListed reports whether a participant is in a state.
func (m *meeting) isListed(user, state string) bool {
	_, answer := m.insist("GET", "/v1/me/sessions/"+m.room+"/participants?limit=200", nil)
	list, _ := answer["data"].([]any)
	for _, one := range list {
		if p, ok := one.(map[string]any); ok && p["userId"] == user {
			return p["state"] == state
		}
	}
	return false
}

// mayReconnect is half of the time that a participant has to return to its seat, muted as before
// (resumeFor in package session). The server may count it from an earlier moment than the client.
const mayReconnect = 15 * time.Second

// beQuiet simulates a participant whom a moderator has muted. It must stay muted
// however often the server is killed, if it comes back in time.
func (m *meeting) beQuiet() {
	token, status := m.token("quiet")
	if status != 201 {
		m.rest(20 * time.Millisecond)
		return
	}
	muted, lost := false, time.Now()
	for !m.over() {
		conn, first, code := m.come(token)
		if code != "" {
			m.count("quiet: bye " + code)
			return
		}
		if muted && !first.Self.Muted && time.Since(lost) > mayReconnect {
			m.count("quiet: back too late")
			muted = false
		}
		if muted {
			assert.True(m.t, first.Self.Muted, "a moderator's mute holds")
			m.count("muted again")
		} else {
			status, _ := m.insist("POST", "/v1/me/sessions/"+m.room+"/moderate/mute-all", map[string]any{})
			// A participant who was removed while the server was down could not be muted.
			muted = status == 201 && m.isListed("quiet", "joined")
		}
		for !m.listen(conn, time.Hour) {
			if m.over() {
				m.mu.Lock()
				m.stays["quiet"] = &seat{conn: conn, muted: true}
				m.mu.Unlock()
				return
			}
		}
		lost = time.Now()
		_ = conn.CloseNow()
	}
}
