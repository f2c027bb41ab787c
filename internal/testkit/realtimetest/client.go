// Package realtimetest provides the official Go client of the realtime channel for
// tests. It records all of the client's events and can cut its connection.
package realtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/centrifugal/centrifuge-go"
)

// Path is the path of the channel.
const Path = "/v1/realtime/websocket"

// patience is the longest wait for an event.
const patience = time.Minute

// Kinds of events.
const (
	Connected    = "connected"
	Connecting   = "connecting"
	Disconnected = "disconnected"
	Failed       = "error"
	Subscribing  = "subscribing"
	Subscribed   = "subscribed"
	Unsubscribed = "unsubscribed"
	Refused      = "subscription error"
	Published    = "publication"
	Joined       = "join"
	Left         = "leave"
)

// Event is an event of the client.
type Event struct {
	Kind string
	// Code and Reason of a disconnect, unsubscription or error.
	Code   uint32
	Reason string
	// Type and Data of a publication.
	Type string
	Data map[string]any
	// EventID of a publication in a tenant's channel.
	EventID string
	// Offset of a publication in its room; 0 if the publication isn't kept.
	Offset uint64
	// Recovered reports whether a subscription has missed no publications.
	Recovered bool
	// User and Info of a user who joined or left.
	User, Info string
}

// Client is a connected client.
type Client struct {
	*centrifuge.Client

	mu      sync.Mutex
	events  []Event
	seen    map[string]int
	changed chan struct{}
	sockets []net.Conn
	ended   bool // the test has ended
	// instead is Options.OnPublication.
	instead func()
}

// Options of a client.
type Options struct {
	Token string
	// Room is the breakout room to open with a token of the main room, if it is set.
	Room string
	// GetToken returns the first and each later token, if it is set.
	GetToken func() (string, error)
	Protobuf bool
	// Header of the handshake.
	Header http.Header
	// OnPublication is called for each publication, if it is set; then publications
	// are not recorded.
	OnPublication func()
	// Dial replaces the function that opens connections.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// New returns a client of the server at the URL (http://…, without the path) and
// begins to connect. The client is closed when the test ends.
func New(t testing.TB, url string, o Options) *Client {
	t.Helper()
	c := &Client{seen: map[string]int{}, changed: make(chan struct{}), instead: o.OnPublication}
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	config := centrifuge.Config{
		Token: o.Token, Name: "test", Header: o.Header,
		HandshakeTimeout: patience, WriteTimeout: patience, ReadTimeout: patience,
		MinReconnectDelay: time.Millisecond, MaxReconnectDelay: 50 * time.Millisecond,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.ended {
				_ = conn.Close()
				return nil, net.ErrClosed
			}
			c.sockets = append(c.sockets, conn)
			return conn, nil
		},
	}
	if o.Room != "" {
		data, err := json.Marshal(map[string]string{"room": o.Room})
		if err != nil {
			t.Fatal(err)
		}
		config.Data = data
	}
	if o.GetToken != nil {
		config.GetToken = func(centrifuge.ConnectionTokenEvent) (string, error) { return o.GetToken() }
	}
	open := centrifuge.NewJsonClient
	if o.Protobuf {
		open = centrifuge.NewProtobufClient
	}
	c.Client = open("ws"+strings.TrimPrefix(url, "http")+Path, config)
	c.OnConnecting(func(e centrifuge.ConnectingEvent) { c.add(Event{Kind: Connecting, Code: e.Code, Reason: e.Reason}) })
	c.OnConnected(func(centrifuge.ConnectedEvent) { c.add(Event{Kind: Connected}) })
	c.OnDisconnected(func(e centrifuge.DisconnectedEvent) { c.add(Event{Kind: Disconnected, Code: e.Code, Reason: e.Reason}) })
	c.OnError(func(e centrifuge.ErrorEvent) { c.add(failure(Failed, e.Error)) })
	t.Cleanup(c.end)
	_ = c.Connect() // the first attempt's error; the client retries by itself
	return c
}

// Watch returns a client that is subscribed to a room.
func Watch(t testing.TB, url, token, room string) (*Client, *centrifuge.Subscription) {
	t.Helper()
	c := New(t, url, Options{Token: token})
	s := c.Hear(t, room)
	c.Next(t, Subscribed)
	return c, s
}

// Hear begins to subscribe to a room.
func (c *Client) Hear(t testing.TB, room string) *centrifuge.Subscription {
	t.Helper()
	return c.hear(t, "room:"+room)
}

// HearEvents begins to subscribe to a tenant's events.
func (c *Client) HearEvents(t testing.TB, tenantID string) *centrifuge.Subscription {
	t.Helper()
	return c.hear(t, "tenant:"+tenantID)
}

func (c *Client) hear(t testing.TB, channel string) *centrifuge.Subscription {
	t.Helper()
	s, err := c.NewSubscription(channel, centrifuge.SubscriptionConfig{
		JoinLeave: true, MinResubscribeDelay: time.Millisecond, MaxResubscribeDelay: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.OnSubscribing(func(e centrifuge.SubscribingEvent) { c.add(Event{Kind: Subscribing, Code: e.Code, Reason: e.Reason}) })
	s.OnSubscribed(func(e centrifuge.SubscribedEvent) { c.add(Event{Kind: Subscribed, Recovered: e.Recovered}) })
	s.OnUnsubscribed(func(e centrifuge.UnsubscribedEvent) { c.add(Event{Kind: Unsubscribed, Code: e.Code, Reason: e.Reason}) })
	s.OnError(func(e centrifuge.SubscriptionErrorEvent) { c.add(failure(Refused, e.Error)) })
	s.OnPublication(func(e centrifuge.PublicationEvent) {
		if c.instead != nil {
			c.instead()
			return
		}
		var p struct {
			Type, Event string
			Data        map[string]any
		}
		if err := json.Unmarshal(e.Data, &p); err != nil {
			t.Errorf("a publication is no JSON: %s", e.Data)
		}
		c.add(Event{Kind: Published, Type: p.Type + p.Event, Data: p.Data, Offset: e.Offset, EventID: e.Tags["eventId"]})
	})
	s.OnJoin(func(e centrifuge.JoinEvent) { c.add(Event{Kind: Joined, User: e.User, Info: string(e.ChanInfo)}) })
	s.OnLeave(func(e centrifuge.LeaveEvent) { c.add(Event{Kind: Left, User: e.User, Info: string(e.ChanInfo)}) })
	if err := s.Subscribe(); err != nil {
		t.Fatal(err)
	}
	return s
}

// failure returns the event of an error, with the server's code if there is one.
func failure(kind string, err error) Event {
	e := Event{Kind: kind, Reason: err.Error()}
	if answer, ok := errors.AsType[*centrifuge.Error](err); ok {
		e.Code, e.Reason = answer.Code, answer.Message
	}
	return e
}

func (c *Client) add(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	close(c.changed)
	c.changed = make(chan struct{})
}

// Next waits for the next event of this kind.
func (c *Client) Next(t testing.TB, kind string) Event {
	t.Helper()
	return c.NextOf(t, kind, func(Event) bool { return true })
}

// NextType waits for the next publication of this type and skips others.
func (c *Client) NextType(t testing.TB, kind string) Event {
	t.Helper()
	return c.NextOf(t, Published, func(e Event) bool { return e.Type == kind })
}

// NextOf waits for the next event of this kind for which wanted returns true, and
// skips others.
func (c *Client) NextOf(t testing.TB, kind string, wanted func(Event) bool) Event {
	t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		changed := c.changed
		for c.seen[kind] < len(c.events) {
			e := c.events[c.seen[kind]]
			c.seen[kind]++
			if e.Kind == kind && wanted(e) {
				c.mu.Unlock()
				return e
			}
		}
		all := c.events
		c.mu.Unlock()
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("no %s came; there were %+v", kind, all[max(0, len(all)-20):])
		}
	}
}

// Events returns the events so far.
func (c *Client) Events() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Event(nil), c.events...)
}

// Drop closes the connection without a closing handshake.
func (c *Client) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sockets {
		_ = s.Close() // fails if it is closed already
	}
	c.sockets = nil
}

// end closes the client and its connections. If the library is closed while it connects, it may leave the new
// connection open.
func (c *Client) end() {
	c.Close()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.Drop()
}

// Code returns the server's code in an operation's error; 0 for none.
func Code(err error) uint32 {
	if answer, ok := errors.AsType[*centrifuge.Error](err); ok {
		return answer.Code
	}
	return 0
}
