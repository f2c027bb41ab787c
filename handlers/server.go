// Package handlers is the HTTP layer. It checks each request against the API document, authenticates the
// caller, calls one use case and converts the result. The rules are in internal/<area>.
package handlers

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/labstack/echo/v4"

	"showfloor/gen/api"
	"showfloor/internal/areas"
)

// Config of the HTTP server.
type Config struct {
	// Areas are the use cases that operations call.
	Areas *areas.Areas
	// Checks are the checks of GET /v1/health/ready.
	Checks []Check
	// Live serves playlists and media below /live/.
	Live http.Handler
	// Realtime takes over connections that become WebSockets; nil for none.
	Realtime Realtime
	// Pages serves the embedded web pages at PagePaths.
	Pages     http.Handler
	PagePaths []string
	// PublicURL is this server's URL as clients see it, without a slash at the end.
	PublicURL string
	// Origins are the origins whose scripts may call the API, "*" for all.
	Origins []string
	// IngestSecret authenticates SRS servers. If it is empty, only callers on this machine are accepted.
	IngestSecret string
	// TrustLoopback allows callers on this machine to read /metrics and the development mailbox and, while
	// there is no IngestSecret, to send ingest callbacks. It must be off if a proxy on this machine forwards
	// the requests of others.
	TrustLoopback bool
	// RequestTime is the time within which operations must answer [DefaultRequestTime]. Operations with an
	// x-timeout have proportionally more.
	RequestTime time.Duration
	// Unfinished counts the handlers that still run after that; may be nil.
	Unfinished *Unfinished
	// Limits are the rate limits of callers; by default there are none.
	Limits Limits
	// RefuseStorage returns an error while writes that can wait, such as products and chat messages, must be
	// refused, and nil otherwise. A nil function refuses nothing.
	RefuseStorage func() error
	// TrustedProxies are the networks whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Metrics is served at /metrics.
	Metrics http.Handler
	Log     *slog.Logger
	// Observe is called for each request, for metrics; nil for none.
	Observe func(method, route string, status int, took time.Duration)
}

// Check checks whether one part works.
type Check struct {
	Name string
	// Engine returns what the part runs on. It is called after Run.
	Engine func() string
	// Deferred: its work waits in the queue while it fails, so the server stays ready.
	Deferred bool
	Run      func(ctx context.Context) error
}

// Server implements the generated interface. Operations that it doesn't implement come from the embedded
// interface and answer 501.
type Server struct {
	api.StrictServerInterface

	areas     *areas.Areas
	checks    []Check
	ready     readiness
	publicURL string
	log       *slog.Logger
}

// New builds the router: the API, its document, the pages and the live media.
func New(c Config) (http.Handler, error) {
	server := &Server{areas: c.Areas, checks: c.Checks, publicURL: c.PublicURL, log: c.Log}
	contract, err := newContract()
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = problems{c.Log, newFailureLog(c.Log)}.handle
	for _, layer := range contract.layers(c) {
		e.Use(layer.Func)
	}
	contract.markUnbuilt(Unbuilt())
	api.RegisterHandlers(e, api.NewStrictHandler(server, nil))
	server.addCaptures(e)
	if err := addDocument(e); err != nil {
		return nil, err
	}
	for _, path := range c.PagePaths {
		e.Match([]string{http.MethodGet, http.MethodHead}, path, echo.WrapHandler(c.Pages))
	}
	e.GET("/metrics", func(ec echo.Context) error {
		if !c.TrustLoopback || !fromLoopback(ec.Request()) {
			return echo.ErrNotFound
		}
		c.Metrics.ServeHTTP(ec.Response(), ec.Request())
		return nil
	})
	mailbox{c.Areas.Mails, c.TrustLoopback}.mount(e, c.Pages)
	e.Any("/live/*", echo.WrapHandler(c.Live))
	return contract.headAsGet(e), nil
}
