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

// timeout is the deadline of one call. Making a payment page takes the processor 1
// to 2 s; after a longer wait the caller should rather try again.
const timeout = 20 * time.Second

// perPage is how many list entries one call requests: the processor's maximum.
const perPage = 100

// Config of a Client.
type Config struct {
	// Key is the platform's secret key; empty for a server that sells nothing.
	Key string
	// URL is the processor's API, without a slash at the end; DefaultURL when empty.
	URL string
	// Secret and ConnectSecret verify the signatures of reports about the platform's
	// account and about sellers' accounts.
	Secret, ConnectSecret string
	// HTTPClient; by default one with its own timeout. Redirects are not followed.
	HTTPClient *http.Client
}

// Client calls the processor. It doesn't retry by itself.
type Client struct {
	config Config
	api    client.API
	last   atomic.Pointer[ending]
}

// ending is the result of a call.
type ending struct {
	err error
	at  time.Time
}

// endingLife is how long a failed call counts as the processor's state: later it
// may work again without a call that would show it.
const endingLife = 5 * time.Minute

// Check reports the result of the last call, for readiness, and makes no call
// itself: an error if the processor couldn't be reached or failed. It is nil
// without a key.
func (c *Client) Check(context.Context) error {
	last := c.last.Load()
	if !c.Configured() || last == nil || time.Since(last.at) > endingLife {
		return nil
	}
	return last.err
}

// New makes a client. It makes no call.
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

// Configured reports whether there is a key. Without one, every call fails with
// processor_unavailable.
func (c *Client) Configured() bool { return c.config.Key != "" }

// CheckKey returns processor_unavailable without a key. Use it before storing
// something that then can't be requested.
func (c *Client) CheckKey() error {
	if c.Configured() {
		return nil
	}
	return c.unavailable("look for the key", errNoKey)
}

// errNoKey is logged when a server without a key should call.
var errNoKey error = &unsent{errors.New("PROCESSOR_KEY is not set")}

// unsent is why a request was not sent: the processor received no byte of it.
type unsent struct{ cause error }

func (u *unsent) Error() string { return u.cause.Error() }
func (u *unsent) Unwrap() error { return u.cause }

// params are the parameters of every call: its context, the account (empty for the
// platform's), and the idempotency key (empty for none).
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

// listParams are the parameters of list calls.
func listParams(ctx context.Context, accountID string) stripe.ListParams {
	p := stripe.ListParams{Context: ctx, Limit: new(int64(perPage))}
	if accountID != "" {
		p.SetStripeAccount(accountID)
	}
	return p
}

// slack is how far the processor's clock may differ from ours, in either
// direction. Without it a page could be missed, and its units sold twice.
const slack = 10 * time.Minute

// from is a filter for objects created since a time.
func from(since time.Time) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: since.Add(-slack).Unix()}
}

// between is a filter for objects created in a period.
func between(since, until time.Time) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: since.Add(-slack).Unix(), LesserThanOrEqual: until.Add(slack).Unix()}
}

const (
	// idleConnections is how many idle connections to the processor stay open.
	idleConnections = 32
	// connectTimeout bounds the name lookup with the connection, and the TLS
	// handshake, separately. It is below the client's timeout, so that a request that
	// found no connection can be distinguished from one that was sent and not
	// answered.
	connectTimeout = 5 * time.Second
)

// singly returns a client that sends every request at most once; if allowed is
// false, it sends none.
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
	// A redirect would send a payment to another address.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// once prevents Go's transport from retrying requests. The transport considers a
// request with an Idempotency-Key header safe to repeat, and resends it when a
// reused connection breaks. It checks the canonical spelling of the header only.
type once struct {
	next    http.RoundTripper
	allowed bool
}

// RoundTrip returns an *unsent if the request never had a connection. Only the
// standard library's transport reports connections; errors of other transports
// stay as they are.
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
