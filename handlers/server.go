// Package handlers is the HTTP door: it checks each request against the API
// document, finds out who calls, hands over to one use case and converts the
// result. Rules live in internal/<area>.
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
	// Areas are what operations call.
	Areas *areas.Areas
	// Checks are what GET /v1/health/ready asks.
	Checks []Check
	// Live serves playlists and media below /live/.
	Live http.Handler
	// Realtime takes over connections that become WebSockets; nil for none.
	Realtime Realtime
	// Pages serves the embedded pages for people, at PagePaths.
	Pages     http.Handler
	PagePaths []string
	// PublicURL is this server as clients see it, without a slash at the end.
	PublicURL string
	// Origins are those whose scripts may call the API, "*" for all.
	Origins []string
	// IngestSecret lets SRS servers in; empty for loopback callers only.
	IngestSecret string
	// TrustLoopback lets callers on this machine see /metrics and the development
	// mailbox and, while there is no IngestSecret, send ingest callbacks. It must be off where a proxy on this
	// machine speaks for others.
	TrustLoopback bool
	// RequestTime is the time in which operations have to answer [DefaultRequestTime];
	// one with an x-timeout has proportionally more.
	RequestTime time.Duration
	// Unfinished counts the handlers that still run after that; may be nil.
	Unfinished *Unfinished
	// Limits says how often callers may come; nothing is limited by default.
	Limits Limits
	// RefuseStorage says why nothing that can wait may be stored at the moment, such as
	// products and chat messages; it returns nil for no reason. nil refuses nothing.
	RefuseStorage func() error
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Metrics is served at /metrics.
	Metrics http.Handler
	Log     *slog.Logger
	// Observe hears of each request, for metrics; nil for none.
	Observe func(method, route string, status int, took time.Duration)
}

// Check asks one part whether it works.
type Check struct {
	Name string
	// Engine says what the part runs on, once Run has asked it.
	Engine func() string
	// Deferred: its work waits in the queue while it fails, so the server stays ready.
	Deferred bool
	Run      func(ctx context.Context) error
}

// Server implements the generated interface. What it leaves out of the embedded
// one answers 501.
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
