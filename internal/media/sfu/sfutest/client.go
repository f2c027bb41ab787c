// Package sfutest is a participant for tests: a pion client that speaks the
// protocol of docs/signalling.md over a real WebSocket, publishes made-up media and
// counts what arrives.
//
//	ada := sfutest.Join(t, sfutest.Options{URL: url, Token: token, Room: room})
//	camera := ada.Publish(t, sfutest.Camera())
//	bob := sfutest.Join(t, …)
//	bob.Hears(t, camera.ID)
package sfutest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// patience bounds every wait.
const patience = 60 * time.Second

// Options say who joins, and how.
type Options struct {
	// URL is the WebSocket address of the SFU, without query.
	URL         string
	Token, Room string
	// TCPOnly finds no way over UDP, RelayOnly only through the server's TURN relay.
	TCPOnly, RelayOnly bool
	// AESCMFirst prefers AES-CM to encrypt media, as browsers do.
	AESCMFirst bool
	// Codecs are the MIME types that it decodes; all by default.
	Codecs []string
	// RED has it take sound with redundancy (RFC 2198), and offer it where Media says so.
	RED bool
	// Deaf doesn't answer offers.
	Deaf bool
	// Through is a relay that all media goes through; nil for none.
	Through *Relay
	// Packet hears of each RTP packet that arrives of a track; nil for nobody.
	Packet func(trackID string, p *rtp.Packet, at time.Time)
	// Check hears of each message either way, as sent; nil for nobody.
	Check func(fromServer bool, data []byte)
}

// Participant, Track and Message are as in the protocol.
type (
	// Participant is somebody in the room.
	Participant struct {
		UserID      string          `json:"userId"`
		DisplayName string          `json:"displayName"`
		Role        string          `json:"role"`
		Perms       map[string]bool `json:"perms"`
		State       string          `json:"state"`
		Muted       bool            `json:"muted"`
		HandRaised  bool            `json:"handRaised"`
	}
	// Track is what somebody publishes.
	Track struct {
		ID     string `json:"id"`
		UserID string `json:"userId"`
		Source string `json:"source"`
		Kind   string `json:"kind"`
		Muted  bool   `json:"muted"`
		Layers []struct {
			Width  int `json:"width"`
			Height int `json:"height"`
		} `json:"layers"`
	}
	// Message is one of the server's, with the fields of all types.
	Message struct {
		Type         string            `json:"type"`
		Seq          uint64            `json:"seq"`
		Room         string            `json:"room"`
		Kind         string            `json:"kind"`
		Self         Participant       `json:"self"`
		Resume       string            `json:"resume"`
		Resumed      bool              `json:"resumed"`
		ICEServers   []ICEServer       `json:"iceServers"`
		Participants []Participant     `json:"participants"`
		Session      map[string]any    `json:"session"`
		Audience     int               `json:"audience"`
		Participant  Participant       `json:"participant"`
		UserID       string            `json:"userId"`
		Reason       string            `json:"reason"`
		Count        int               `json:"count"`
		Track        Track             `json:"track"`
		Tracks       []json.RawMessage `json:"tracks"`
		ID           any               `json:"id"`
		SDP          string            `json:"sdp"`
		Refused      []Refused         `json:"refused"`
		Active       []bool            `json:"active"`
		Speakers     []Speaker         `json:"speakers"`
		From         string            `json:"from"`
		Topic        string            `json:"topic"`
		Payload      string            `json:"payload"`
		Re           any               `json:"re"`
		Code         string            `json:"code"`
		Message      string            `json:"message"`
		Retry        bool              `json:"retry"`
		SFUURL       string            `json:"sfuUrl"`
		Fallback     *Fallback         `json:"fallback"`
	}
	// ICEServer is a relay.
	ICEServer struct {
		URLs       []string `json:"urls"`
		Username   string   `json:"username"`
		Credential string   `json:"credential"`
	}
	// Refused is a media section that may not be sent.
	Refused struct {
		MID     string `json:"mid"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// Fallback is why, and where, a stream is to be played by HLS.
	Fallback struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		URL     string `json:"url"`
	}
	// Speaker is who speaks.
	Speaker struct {
		UserID string  `json:"userId"`
		Level  float64 `json:"level"`
	}
)

// Client is a participant. Its methods may be called from the test's goroutine.
type Client struct {
	options Options
	api     *webrtc.API
	work    sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
	deaf    atomic.Bool

	mu       sync.Mutex
	changed  chan struct{} // closes with each change, and is made anew
	conn     *websocket.Conn
	lost     bool
	closed   bool
	messages []Message
	received map[string]*Received
	pub, sub *webrtc.PeerConnection
	offers   int
	outputs  []*Output
}

// Received counts what arrived of a track. Plain are packets with nothing but the made-up
// frame of sound, RED those with it and the one before, as Media.RED sends them.
type Received struct {
	Packets, Bytes int
	Plain, RED     int
	Frames         Frames
}

// Join comes in and waits for the welcome.
func Join(t testing.TB, o Options) *Client {
	t.Helper()
	c := Connect(t, o)
	c.Expect(t, "welcome", func(m Message) bool { return m.Type == "welcome" })
	return c
}

// Connect opens the socket, and waits for nothing.
func Connect(t testing.TB, o Options) *Client {
	t.Helper()
	c := &Client{options: o, changed: make(chan struct{}), received: map[string]*Received{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.api = newAPI(t, o)
	c.deaf.Store(o.Deaf)
	c.dial(t, url.Values{"token": {o.Token}, "room": {o.Room}})
	t.Cleanup(c.Close)
	return c
}

func (c *Client) dial(t testing.TB, query url.Values) {
	t.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	conn, response, err := websocket.Dial(ctx, c.options.URL+"/?"+query.Encode(), nil)
	if err != nil {
		t.Fatalf("connect to the SFU: %v", err)
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	conn.SetReadLimit(4 << 20)
	c.mu.Lock()
	c.conn, c.lost = conn, false
	c.mu.Unlock()
	c.work.Go(func() { c.read(conn) })
}

// Undeafen has it answer offers from now on.
func (c *Client) Undeafen() { c.deaf.Store(false) }

// Cut ends the socket without a word, as a network does that is gone.
func (c *Client) Cut() {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	_ = conn.CloseNow()
}

// CloseSubscribe ends the connection that it is sent media on, and tells the server so by
// DTLS. The next offer of the server is answered on a new one.
func (c *Client) CloseSubscribe(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	sub := c.sub
	c.sub = nil
	c.mu.Unlock()
	if err := sub.GracefulClose(); err != nil {
		t.Fatal(err)
	}
}

// ClosePublish ends the connection that it sends media on, and all that it published.
func (c *Client) ClosePublish(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	pub, outputs := c.pub, c.outputs
	c.pub, c.outputs = nil, nil
	c.mu.Unlock()
	for _, o := range outputs {
		o.Stop()
	}
	if err := pub.GracefulClose(); err != nil {
		t.Fatal(err)
	}
}

// Resume opens a new socket for the participant that the last welcome was for,
// and continues after the last message that was heard.
func (c *Client) Resume(t testing.TB) {
	t.Helper()
	c.Wait(t, "the socket's end", func() bool { return c.lost })
	c.mu.Lock()
	var secret string
	for _, m := range c.messages {
		if m.Type == "welcome" {
			secret = m.Resume
		}
	}
	after := c.messages[len(c.messages)-1].Seq
	c.mu.Unlock()
	c.dial(t, url.Values{
		"token": {c.options.Token}, "room": {c.options.Room}, "resume": {secret}, "after": {strconv.FormatUint(after, 10)},
	})
}

// Close ends the client; it is called at the test's end.
func (c *Client) Close() {
	c.cancel()
	c.mu.Lock()
	c.closed = true
	conn, pub, sub, outputs := c.conn, c.pub, c.sub, c.outputs
	c.pub, c.sub, c.outputs = nil, nil, nil
	c.mu.Unlock()
	for _, o := range outputs {
		o.Stop()
	}
	if conn != nil {
		_ = conn.CloseNow()
	}
	for _, pc := range []*webrtc.PeerConnection{pub, sub} {
		if pc != nil {
			_ = pc.GracefulClose()
		}
	}
	c.work.Wait()
}

// Send says something to the server.
func (c *Client) Send(t testing.TB, message any) {
	t.Helper()
	data, ok := message.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(message); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.write(data); err != nil {
		t.Logf("not sent: %v", err)
	}
}

// SendBinary sends what the protocol has no place for.
func (c *Client) SendBinary(t testing.TB, data []byte) {
	t.Helper()
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if err := conn.Write(c.ctx, websocket.MessageBinary, data); err != nil {
		t.Logf("not sent: %v", err)
	}
}

func (c *Client) write(data []byte) error {
	if c.options.Check != nil {
		c.options.Check(false, data)
	}
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, data)
}

func (c *Client) read(conn *websocket.Conn) {
	for {
		_, data, err := conn.Read(c.ctx)
		if err != nil {
			c.mu.Lock()
			c.lost = true
			c.mu.Unlock()
			c.note(nil)
			return
		}
		if c.options.Check != nil {
			c.options.Check(true, data)
		}
		var m Message
		if json.Unmarshal(data, &m) != nil {
			m.Type = "garbage"
		}
		switch m.Type {
		case "offer":
			if !c.deaf.Load() {
				c.answer(m)
			}
		case "answer":
			c.accept(m)
		}
		c.note(func() { c.messages = append(c.messages, m) })
	}
}

// note makes a change, and wakes who waits for one.
func (c *Client) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change != nil {
		change()
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// Wait waits until something is so; condition is called with the client's lock.
func (c *Client) Wait(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		c.mu.Lock()
		ok, changed := condition(), c.changed
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatalf("waited in vain for %s; heard: %s", what, c.heard())
		}
	}
}

// heard is a summary of what the server said.
func (c *Client) heard() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, m := range c.messages {
		fmt.Fprintf(&b, "%s", m.Type)
		if m.Code != "" {
			fmt.Fprintf(&b, "(%s: %s)", m.Code, m.Message)
		}
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "received %v", c.received)
	return b.String()
}

// Expect waits for a message, whenever it came.
func (c *Client) Expect(t testing.TB, what string, match func(Message) bool) Message {
	t.Helper()
	var found Message
	c.Wait(t, what, func() bool {
		for _, m := range c.messages {
			if match(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// ExpectAfter is Expect among what came after so many messages.
func (c *Client) ExpectAfter(t testing.TB, n int, what string, match func(Message) bool) Message {
	t.Helper()
	var found Message
	c.Wait(t, what, func() bool {
		for _, m := range c.messages[min(n, len(c.messages)):] {
			if match(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// Messages is what the server has said.
func (c *Client) Messages() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Message(nil), c.messages...)
}

// ExpectBye waits for a bye with a code and for the end of the socket.
func (c *Client) ExpectBye(t testing.TB, code string) Message {
	t.Helper()
	m := c.Expect(t, "bye "+code, func(m Message) bool { return m.Type == "bye" })
	if m.Code != code {
		t.Fatalf("bye says %s (%s), not %s", m.Code, m.Message, code)
	}
	c.Wait(t, "the socket's end", func() bool { return c.lost })
	return m
}

// ExpectEnd waits for the end of the socket.
func (c *Client) ExpectEnd(t testing.TB) {
	t.Helper()
	c.Wait(t, "the socket's end", func() bool { return c.lost })
}

// ExpectTrackWith waits until a track with an id is announced.
func (c *Client) ExpectTrackWith(t testing.TB, id string) Track {
	t.Helper()
	return c.Expect(t, "track "+id, func(m Message) bool { return m.Type == "track" && m.Track.ID == id }).Track
}

// ExpectTrack waits until a user's track of a source is announced.
func (c *Client) ExpectTrack(t testing.TB, userID, source string) Track {
	t.Helper()
	var found Track
	c.Wait(t, "a track "+source+" of "+userID, func() bool {
		for _, m := range c.messages {
			for _, raw := range m.Tracks {
				var track Track
				if m.Type == "welcome" && json.Unmarshal(raw, &track) == nil && track.UserID == userID && track.Source == source {
					found = track
					return true
				}
			}
			if m.Type == "track" && m.Track.UserID == userID && m.Track.Source == source {
				found = m.Track
				return true
			}
		}
		return false
	})
	return found
}

// Ping says that the client lives.
func (c *Client) Ping() error { return c.write([]byte(`{"type":"ping","time":1}`)) }
