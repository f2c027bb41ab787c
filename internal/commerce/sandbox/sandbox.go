// Package sandbox is a stand-in for the payment processor: an HTTP server that
// speaks the part of the processor's API (2023-10-16) that internal/commerce/processor
// calls, with hosted pages to click through and signed callbacks. With it, the
// same client code runs on an empty machine, and tests can make the processor
// slow, lose answers or be away. It moves no money and refuses to run in production.
// For the platform's own account it has Billing too: customers, subscriptions and
// invoices, with a clock that Advance moves.
//
//	box, err := sandbox.Open(sandbox.Config{URL: url, Key: "sk_test_x", Secret: "whsec_a", ConnectSecret: "whsec_b"})
//	http.Serve(listener, box) // its API is at "/api", its dashboard at "/"
//
// The state is in memory. With Config.Dir each change is in a journal before it is
// answered, so that a killed server continues with the same state.
package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Config of a Server.
type Config struct {
	// URL is where browsers reach the server, without a slash at the end; hosted
	// pages are below it.
	URL string
	// CallbackURL is the URL for events; empty for none until SendTo.
	CallbackURL string
	// Key is the secret key that the API accepts.
	Key string
	// Secret signs the platform's own events, ConnectSecret events about sellers' accounts.
	Secret, ConnectSecret string
	// Dir is the folder of the journal; empty for memory only.
	Dir string
	// Automatic delivers events in the background and retries until they are accepted. Otherwise only Deliver sends
	// them.
	Automatic bool
	// Production makes Open fail.
	Production bool
	// Now is the clock, time.Now by default. Signatures always use the real clock. Advance moves Billing ahead of it.
	Now func() time.Time
	// DunningEnd is the status of a subscription whose last retry failed: Unpaid, by default, or Canceled.
	DunningEnd string
	Log        *slog.Logger
}

// Server is the sandbox. It is an http.Handler. To serve it below a path, remove the path first (http.StripPrefix).
type Server struct {
	config Config
	// base is the path of Config.URL, the prefix of the pages' links.
	base   string
	router *http.ServeMux
	client *http.Client
	faults faults

	mu          sync.Mutex
	state       state
	holding     bool
	refundsWait bool
	usageDelay  time.Duration
	callback    string

	journal *journal
	// sending allows one delivery at a time.
	sending sync.Mutex
	kick    chan struct{}
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// callbackTime is the time limit of a callback.
const callbackTime = 10 * time.Second

// Open opens a server with the content of its journal.
func Open(c Config) (*Server, error) {
	if c.Production {
		return nil, errors.New("the sandbox doesn't run in production: no money moves there")
	}
	if c.Key == "" || c.Secret == "" || c.ConnectSecret == "" {
		return nil, errors.New("the sandbox needs a key and two signing secrets")
	}
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" {
		return nil, errors.New("the sandbox needs the URL at which it is reached")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	switch c.DunningEnd {
	case "":
		c.DunningEnd = Unpaid
	case Unpaid, Canceled:
	default:
		return nil, errors.New("dunning of the sandbox ends with unpaid or canceled")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		config: c, base: strings.TrimSuffix(base.Path, "/"), callback: c.CallbackURL,
		client: &http.Client{Timeout: callbackTime}, state: newState(), kick: make(chan struct{}, 1), stop: stop,
	}
	if c.Dir != "" {
		if s.journal, err = openJournal(c.Dir, &s.state, c.Now()); err != nil {
			stop()
			return nil, err
		}
	}
	s.routes()
	if c.Automatic {
		s.work.Go(func() { s.deliverAlways(ctx) })
	}
	return s, nil
}

// Close stops deliveries and closes the journal.
func (s *Server) Close() error {
	s.stop()
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return nil
	}
	return s.journal.close()
}

// APIURL returns the URL of the processor's API for a client that reaches the server at url.
func APIURL(url string) string { return url + "/api" }

// SendTo sets the URL for events from now on.
func (s *Server) SendTo(callbackURL string) {
	s.mu.Lock()
	s.callback = callbackURL
	s.mu.Unlock()
	s.wake()
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

func (s *Server) routes() {
	s.router = http.NewServeMux()
	s.routeAPI()
	s.routePages()
}
