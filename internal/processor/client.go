package processor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"
)

// DefaultURL is the processor's API.
const DefaultURL = "https://api.stripe.com"

// timeout of one call. Making a payment page takes the processor a second or two;
// whoever waits longer is better told to try again.
const timeout = 20 * time.Second

// perPage is how many entries of a list one call asks for, the most that there may be.
const perPage = 100

// Config of a Client.
type Config struct {
	// Key is the platform's secret key; empty for a server that sells nothing.
	Key string
	// URL is the processor's API, without a slash at the end; DefaultURL when empty.
	URL string
	// Secret and ConnectSecret sign its reports on the platform's account and on
	// those of sellers.
	Secret, ConnectSecret string
	// HTTPClient; one with a timeout of its own by default. Its redirects aren't
	// followed.
	HTTPClient *http.Client
}

// Client calls the processor. It repeats nothing by itself.
type Client struct {
	config Config
	api    client.API
	last   atomic.Pointer[ending]
}

// ending is how a call ended.
type ending struct {
	err error
	at  time.Time
}

// endingLife is how long a call that failed tells of the processor: nobody may
// have called it since.
const endingLife = 5 * time.Minute

// Check tells how the last call ended, for readiness, and calls nobody: an error
// when the processor couldn't be reached or failed. It is nil without a key.
func (c *Client) Check(context.Context) error {
	last := c.last.Load()
	if !c.Configured() || last == nil || time.Since(last.at) > endingLife {
		return nil
	}
	return last.err
}

// New makes a client. It calls nobody yet.
func New(c Config) *Client {
	if c.URL == "" {
		c.URL = DefaultURL
	}
	made := &Client{config: c}
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL: new(c.URL), MaxNetworkRetries: new(int64(0)), EnableTelemetry: new(false),
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull}, HTTPClient: singly(c.HTTPClient, c.Key != ""),
	})
	made.api.Init(c.Key, &stripe.Backends{API: backend, Connect: backend, Uploads: backend})
	return made
}

// Configured tells whether there is a key, without which every call answers
// processor_unavailable.
func (c *Client) Configured() bool { return c.config.Key != "" }

// CheckKey is processor_unavailable without a key: what can't be asked for need
// not be written down first.
func (c *Client) CheckKey() error {
	if c.Configured() {
		return nil
	}
	return c.unavailable("look for the key", errNoKey)
}

// errNoKey is what the log reads when a server without a key should call.
var errNoKey error = &unsent{errors.New("PROCESSOR_KEY is not set")}

// unsent is why a request was not sent: no byte of it has left.
type unsent struct{ cause error }

func (u *unsent) Error() string { return u.cause.Error() }
func (u *unsent) Unwrap() error { return u.cause }

// params are what every call carries: for how long, on whose account (the
// platform's when empty), and under which key it is done once (none when empty).
func params(ctx context.Context, accountID, key string) stripe.Params {
	p := stripe.Params{Context: ctx}
	if accountID != "" {
		p.SetStripeAccount(accountID)
	}
	if key != "" {
		p.SetIdempotencyKey(key)
	}
	return p
}

// listParams are the same for lists.
func listParams(ctx context.Context, accountID string) stripe.ListParams {
	p := stripe.ListParams{Context: ctx, Limit: new(int64(perPage))}
	if accountID != "" {
		p.SetStripeAccount(accountID)
	}
	return p
}

// slack is how far the processor's clock may be from ours, in either direction: a
// page that was made must not be missed, or its units are sold twice.
const slack = 10 * time.Minute

// from is a filter for what was made since then.
func from(since time.Time) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: since.Add(-slack).Unix()}
}

// between is a filter for what was made in a period.
func between(since, until time.Time) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: since.Add(-slack).Unix(), LesserThanOrEqual: until.Add(slack).Unix()}
}

const (
	// idleConnections to the processor stay open for the next calls.
	idleConnections = 32
	// connectTimeout bounds each of: looking the name up and connecting, and TLS's
	// handshake. It is below the client's timeout, so that a request that found no
	// connection differs from one that was sent and not answered.
	connectTimeout = 5 * time.Second
)

// singly is a client that sends every request once, or none at all.
func singly(given *http.Client, allowed bool) *http.Client {
	c := http.Client{Timeout: timeout}
	if given != nil {
		c = *given
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			t = t.Clone()
			t.MaxIdleConnsPerHost = idleConnections
			t.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
			t.TLSHandshakeTimeout = connectTimeout
			c.Transport = t
		}
	}
	c.Transport = once{c.Transport, allowed}
	// A redirect would carry a payment to another address.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// once keeps Go's transport from repeating a request by itself: it takes one with
// an Idempotency-Key for harmless, and sends it again when a connection that was
// used before breaks off. It looks for the usual spelling only.
type once struct {
	next    http.RoundTripper
	allowed bool
}

// RoundTrip returns an *unsent when the request never had a connection. A transport
// that isn't the standard library's doesn't tell; its errors stay as they are.
func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	if !o.allowed {
		return nil, errNoKey
	}
	_, traces := o.next.(*http.Transport)
	var connected atomic.Bool
	r = r.Clone(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		r.Header.Del("Idempotency-Key")
		r.Header["idempotency-key"] = []string{key}
	}
	resp, err := o.next.RoundTrip(r)
	if err != nil && traces && !connected.Load() {
		return nil, &unsent{err}
	}
	return resp, err
}
