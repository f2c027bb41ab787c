package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge-go"

	"showfloor/gen/api"
	"showfloor/gen/client"
	"showfloor/internal/outflow/webhook"
)

const (
	// listenPage is the number of events per request.
	listenPage = 200
	// listenEvery is the longest pause between requests for new events, also without a notification.
	listenEvery = 15 * time.Second
	// listenAgain is the pause before the next request for an event that was published and isn't listed yet, and before the next
	// attempt after a failure.
	listenAgain = 100 * time.Millisecond
	// listenWait is how long such an event is waited for.
	listenWait = 5 * time.Second
	// listenTimeout is the time limit of a request to the server, forwardTimeout that of a request to the local server.
	listenTimeout, forwardTimeout = 10 * time.Second, 10 * time.Second
)

// listenCommand follows the events of a tenant.
type listenCommand struct {
	URL       string   `help:"The server's address. Default: PUBLIC_URL, else http://localhost:8080." placeholder:"URL"`
	Key       string   `env:"SHOWFLOOR_KEY" help:"An API key with the scope webhooks:read, or a user's token." placeholder:"KEY"`
	Event     []string `help:"Only these events, such as stream.started. All without it." placeholder:"NAME"`
	ForwardTo string   `help:"Send each event to this URL as a signed webhook." placeholder:"URL"`
	Secret    string   `env:"RECEIVE_SECRET" help:"Sign forwarded events with this secret; a new one is printed without it."`
	JSON      bool     `name:"json" help:"Print one event per line, as JSON."`
}

// listenedEvent is an EventRecord of the API whose data is kept as it is.
type listenedEvent struct {
	ID         string          `json:"id"`
	Subject    string          `json:"subject"`
	Sequence   int64           `json:"sequence"`
	Event      string          `json:"event"`
	TenantID   string          `json:"tenantId"`
	OccurredAt string          `json:"occurredAt"`
	Data       json.RawMessage `json:"data"`
}

// body is the body of the event's webhooks.
func (e listenedEvent) body() ([]byte, error) {
	return json.Marshal(struct {
		Event      string          `json:"event"`
		TenantID   string          `json:"tenantId"`
		OccurredAt string          `json:"occurredAt"`
		Data       json.RawMessage `json:"data"`
	}{e.Event, e.TenantID, e.OccurredAt, e.Data})
}

// listener is the state of one run.
type listener struct {
	listenCommand

	base string
	out  io.Writer
	err  io.Writer
	api  *client.Client
	http *http.Client
	// cursor is the last event that was read; "" before the first.
	cursor string
	// published receives the id of each event that the realtime channel reports, or "" after a connection.
	published chan string
}

// Run prints each event of the tenant until the context ends. The realtime channel says when to read the list of events, so that an
// event appears at once and none is lost or repeated when a connection breaks.
func (c listenCommand) Run(ctx context.Context, e environment) error {
	base, err := demoCommand{URL: c.URL}.server(e.environ)
	if err != nil {
		return &usageError{err}
	}
	if c.Key == "" {
		return &usageError{errors.New("--key or SHOWFLOOR_KEY is missing; create one with POST /v1/me/api-keys")}
	}
	if err := c.check(); err != nil {
		return &usageError{err}
	}
	l := &listener{
		listenCommand: c, base: base, out: e.out, err: e.err, http: &http.Client{Timeout: forwardTimeout}, published: make(chan string, 1),
	}
	l.api, err = client.NewClient(base, client.WithHTTPClient(&http.Client{Timeout: listenTimeout}),
		client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+c.Key)
			return nil
		}))
	if err != nil {
		return &usageError{fmt.Errorf("--url: %w", err)}
	}
	newest, err := l.list(ctx, api.EventOrderDesc, 1)
	if err != nil {
		return err
	}
	if len(newest) > 0 {
		l.cursor = newest[0].ID
	}
	if l.ForwardTo != "" && l.Secret == "" {
		l.Secret = webhook.NewForwardingSecret()
		fmt.Fprintf(e.err, "signing secret: %s\n", l.Secret)
	}
	fmt.Fprintf(e.err, "listening for events of %s; press Ctrl-C to stop\n", base)
	stop, err := l.connect()
	if err != nil {
		return err
	}
	defer stop()
	return l.follow(ctx)
}

// check reports a wrong argument.
func (c listenCommand) check() error {
	for _, name := range c.Event {
		if !api.EventName(name).Valid() {
			return fmt.Errorf("--event %s: there is no such event; docs/webhooks.md lists them", name)
		}
	}
	if c.ForwardTo == "" {
		return nil
	}
	return link("--forward-to", c.ForwardTo, "http", "https")
}

// connect opens the realtime channel, which fills published. It reconnects by itself; until then, the list is read each listenEvery.
func (l *listener) connect() (stop func(), err error) {
	channel := centrifuge.NewJsonClient("ws"+strings.TrimPrefix(l.base, "http")+"/v1/realtime/websocket", centrifuge.Config{
		Token: l.Key, Name: "showfloor listen", LogLevel: centrifuge.LogLevelNone,
	})
	channel.OnConnected(func(e centrifuge.ConnectedEvent) {
		var whose struct {
			TenantID string `json:"tenantId"`
		}
		if json.Unmarshal(e.Data, &whose) != nil || whose.TenantID == "" {
			return
		}
		events, err := channel.NewSubscription("tenant:" + whose.TenantID)
		if err != nil {
			return // it exists: this is a reconnect
		}
		events.OnSubscribed(func(centrifuge.SubscribedEvent) { l.wake("") })
		events.OnPublication(func(e centrifuge.PublicationEvent) { l.wake(e.Tags["eventId"]) })
		_ = events.Subscribe() // fails only if the client is closed
	})
	if err := channel.Connect(); err != nil {
		return nil, fmt.Errorf("connect to the realtime channel: %w", err)
	}
	return channel.Close, nil
}

// wake puts an id into published, in place of an older one. A reader of the newest event has read the older ones.
func (l *listener) wake(eventID string) {
	for {
		select {
		case l.published <- eventID:
			return
		default:
		}
		select {
		case <-l.published:
		default:
		}
	}
}

// follow reads the list after each notification.
func (l *listener) follow(ctx context.Context) error {
	wanted, until := "", time.Time{}
	for {
		found, err := l.read(ctx, wanted)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // Ctrl-C ended the request
		}
		switch {
		case errors.Is(err, errRefused):
			return err
		case err != nil:
			fmt.Fprintf(l.err, "%s; trying again\n", err)
		}
		pause := listenEvery
		if err != nil {
			pause = time.Second
		} else if !found && time.Now().Before(until) {
			pause = listenAgain
		}
		select {
		case <-ctx.Done():
			return nil
		case wanted = <-l.published:
			until = time.Now().Add(listenWait)
		case <-time.After(pause):
		}
	}
}

// read prints and forwards the events that are new. It reports whether the wanted one, if any, has been read.
func (l *listener) read(ctx context.Context, wanted string) (found bool, err error) {
	found = wanted == "" || wanted == l.cursor
	for {
		events, err := l.list(ctx, api.EventOrderAsc, listenPage)
		if err != nil {
			return found, err
		}
		for _, e := range events {
			if len(l.Event) == 0 || slices.Contains(l.Event, e.Event) {
				if err := l.show(ctx, e); err != nil {
					return found, err
				}
			}
			l.cursor = e.ID
			found = found || e.ID == wanted
		}
		if len(events) < listenPage {
			return found, nil
		}
	}
}

// errRefused means that the server refuses the key.
var errRefused = errors.New("the server refuses the key")

// list returns a page of the tenant's events.
func (l *listener) list(ctx context.Context, order api.EventOrder, limit int) ([]listenedEvent, error) {
	p := &api.ListEventsParams{Order: &order, Limit: &limit}
	if l.cursor != "" {
		p.Cursor = &l.cursor
	}
	answer, err := l.api.ListEvents(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list events: %w; is the server running?", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("%w: %s", errRefused, body)
	default:
		return nil, fmt.Errorf("list events: %s: %s", answer.Status, body)
	}
	var events []listenedEvent
	if err := json.Unmarshal(body, &events); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return events, nil
}

// show prints an event, and forwards it. A local server that fails isn't asked again: the event is printed with its answer.
func (l *listener) show(ctx context.Context, e listenedEvent) error {
	body, err := e.body()
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	result := ""
	if l.ForwardTo != "" {
		result = "  → " + l.forward(ctx, e, body)
	}
	if l.JSON {
		_, err = fmt.Fprintf(l.out, "%s\n", body)
		return err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		return fmt.Errorf("print event %s: %w", e.ID, err)
	}
	_, err = fmt.Fprintf(l.out, "\n%s  %s  sequence %d%s\n%s\n", e.Event, e.ID, e.Sequence, result, &pretty)
	return err
}

// forward sends an event to the local server, and returns the result in words.
func (l *listener) forward(ctx context.Context, e listenedEvent, body []byte) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.ForwardTo, bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	webhook.SignForwarded(r.Header, webhook.Forwarded{
		EventID: e.ID, Event: e.Event, Sequence: e.Sequence, Secret: l.Secret, Body: body,
	}, time.Now())
	answer, err := l.http.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	return answer.Status
}
