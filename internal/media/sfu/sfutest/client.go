// Package sfutest is a participant for tests: a pion client that speaks the protocol of
// docs/signalling.md over a real WebSocket, publishes synthetic media and counts the media that
// it receives.
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

// Options are the token and room to join with, and the client's behavior.
type Options struct {
	// URL is the WebSocket address of the SFU, without query.
	URL         string
	Token, Room string
	// TCPOnly uses no UDP candidates, RelayOnly only the server's TURN relay.
	TCPOnly, RelayOnly bool
	// AESCMFirst prefers AES-CM for the encryption of media, as browsers do.
	AESCMFirst bool
	// Codecs are the MIME types that it decodes; all by default.
	Codecs []string
	// RED makes the client accept audio with redundancy (RFC 2198), and offer it where Media
	// says so.
	RED bool
	// Watch makes it a watcher, see sfu.Config.
	Watch bool
	// Deaf means that the client doesn't answer offers.
	Deaf bool
	// Through is a relay for all media; nil for none.
	Through *Relay
	// Packet is called for each received RTP packet of a track; nil for no calls.
	Packet func(trackID string, p *rtp.Packet, at time.Time)
	// Check is called for each message in both directions, as sent; nil for no calls.
	Check func(fromServer bool, data []byte)
}

// Participant, Track and Message are as in the protocol.
type (
	// Participant is a participant in the room.
	Participant struct {
		UserID      string          `json:"userId"`
		DisplayName string          `json:"displayName"`
		Role        string          `json:"role"`
		Perms       map[string]bool `json:"perms"`
		State       string          `json:"state"`
		Muted       bool            `json:"muted"`
		HandRaised  bool            `json:"handRaised"`
	}
	// Track is a published track.
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
	// Message is a message of the server, with the fields of all types.
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
	// ICEServer is a TURN relay.
	ICEServer struct {
		URLs       []string `json:"urls"`
		Username   string   `json:"username"`
		Credential string   `json:"credential"`
	}
	// Refused is a media section that the server refused.
	Refused struct {
		MID     string `json:"mid"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// Fallback is the reason to play a stream by HLS, and the URL.
	Fallback struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		URL     string `json:"url"`
	}
	// Speaker is an active speaker.
	Speaker struct {
		UserID string  `json:"userId"`
		Level  float64 `json:"level"`
	}
)

// Client is a participant. The test's goroutine may call its methods.
type Client struct {
	options Options
	api     *webrtc.API
	work    sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
	deaf    atomic.Bool

	mu       sync.Mutex
	changed  chan struct{} // closed at each change, and replaced
	conn     *websocket.Conn
	lost     bool
	closed   bool
	messages []Message
	received map[string]*Received
	pub, sub *webrtc.PeerConnection
	offers   int
	outputs  []*Output
}

// Received counts the received packets of a track. Plain counts packets with one synthetic
// audio frame, RED those with that frame and the previous one, as Media.RED sends them.
type Received struct {
	Packets, Bytes int
	Plain, RED     int
	Frames         Frames
}

// Join joins and waits for the welcome.
func Join(t testing.TB, o Options) *Client {
	t.Helper()
	c := Connect(t, o)
	c.Expect(t, "welcome", func(m Message) bool { return m.Type == "welcome" })
	return c
}

// Connect opens the socket and waits for nothing.
func Connect(t testing.TB, o Options) *Client {
	t.Helper()
	c := &Client{options: o, changed: make(chan struct{}), received: map[string]*Received{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.api = newAPI(t, o)
	c.deaf.Store(o.Deaf)
	query := url.Values{"token": {o.Token}, "room": {o.Room}}
	if o.Watch {
		query.Set("watch", "1")
	}
	c.dial(t, query)
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

// Undeafen makes the client answer offers from now on.
func (c *Client) Undeafen() { c.deaf.Store(false) }

// Cut ends the socket without a close frame, like a lost network.
func (c *Client) Cut() {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	_ = conn.CloseNow()
}

// Resume opens a new socket for the participant of the last welcome, and continues after the
// last message that was received.
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

// Send sends a message to the server.
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

// SendBinary sends a binary message, which the protocol doesn't allow.
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

// note makes a change and wakes waiting goroutines.
func (c *Client) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change != nil {
		change()
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// Wait waits until condition is true; it is called with the client's lock held.
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
			t.Fatalf("timed out waiting for %s; received: %s", what, c.heard())
		}
	}
}

// heard is a summary of the server's messages.
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

// Expect waits for a message that matches. Messages that have arrived already count.
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

// ExpectAfter is like Expect, but ignores the first n messages.
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

// Messages returns all messages that the server has sent.
func (c *Client) Messages() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Message(nil), c.messages...)
}

// ExpectBye waits for a bye with a code, and for the end of the socket.
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

// ExpectTrack waits until a user's track with a source is announced.
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

// Ping sends a ping.
func (c *Client) Ping() error { return c.write([]byte(`{"type":"ping","time":1}`)) }
