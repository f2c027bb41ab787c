// Package handlers has the operations of the API: each reads its request, calls one use case and converts the result.
// The rules are in internal/<group>/<area>. The steps before the operation are in handlers/pipeline.
package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"showfloor/gen/api"
	"showfloor/handlers/pipeline"
	"showfloor/internal/areas"
	"showfloor/internal/base/fairshare"
	"showfloor/internal/base/netaddr"
	"showfloor/internal/tenancy/account"
)

// Config of the HTTP server.
type Config struct {
	// Pipeline has the settings and the steps before an operation.
	Pipeline pipeline.Config
	// Areas are the use cases that operations call.
	Areas *areas.Areas
	// Checks are the checks of GET /v1/health/ready.
	Checks []Check
	// Live serves playlists and media below /live/.
	Live http.Handler
	// Recordings serves playlists and media below /vod/; nil for none.
	Recordings http.Handler
	// Realtime takes over connections that become WebSockets; nil for none.
	Realtime Realtime
	// Pages serves the embedded web pages at PagePaths.
	Pages     http.Handler
	PagePaths []string
	// MissingPage answers a browser with a page when nothing has the requested path (404). nil answers it with a problem.
	MissingPage http.HandlerFunc
	// Metrics is served at /metrics.
	Metrics http.Handler
}

// Check checks whether one part works.
type Check struct {
	Name string
	// Engine returns the software that the part runs on. It is called after Run.
	Engine func() string
	// Deferred: its work waits in the queue while it fails, so the server stays ready.
	Deferred bool
	Run      func(ctx context.Context) error
}

// Server has the operations that are built.
type Server struct {
	areas     *areas.Areas
	checks    []Check
	ready     readiness
	health    health
	publicURL string
	// realtime is the realtime channel; nil for none.
	realtime Realtime
	// uploads are the files that are received at the same time, by tenant.
	uploads *fairshare.Places[string]
	log     *slog.Logger
}

// New builds the router: the API, its document, the pages and the live media.
func New(c Config) (http.Handler, error) {
	settings := c.Pipeline.Settings
	server := &Server{
		areas: c.Areas, checks: c.Checks, publicURL: settings.PublicURL, realtime: c.Realtime, uploads: newUploads(), log: c.Pipeline.Log,
	}
	steps, err := newPipeline(c)
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	api.RegisterHandlers(e, api.NewStrictHandler(complete{server, unbuilt{}}, nil))
	server.addCaptures(e)
	addDocument(e)
	for _, path := range c.PagePaths {
		e.Match([]string{http.MethodGet, http.MethodHead}, path, echo.WrapHandler(c.Pages))
	}
	e.GET("/metrics", func(ec echo.Context) error {
		if !settings.TrustLoopback || !netaddr.FromLoopback(ec.Request()) {
			return echo.ErrNotFound
		}
		c.Metrics.ServeHTTP(ec.Response(), ec.Request())
		return nil
	})
	mailbox{c.Areas.Mails, settings.TrustLoopback}.mount(e, c.Pages)
	e.Any("/live/*", echo.WrapHandler(c.Live))
	if c.Recordings != nil {
		e.Any("/vod/*", echo.WrapHandler(c.Recordings))
	}
	wrapped := deleteByAnyMethod(steps.Wrap(e))
	e.HTTPErrorHandler = orPage(c.MissingPage, e.HTTPErrorHandler)
	return wrapped, nil
}

// orPage answers a path at which there is nothing: people get a page, programs a problem.
func orPage(page http.HandlerFunc, problems echo.HTTPErrorHandler) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		r := c.Request()
		missing := errors.Is(err, echo.ErrNotFound) && !strings.HasPrefix(r.URL.Path, "/v1/")
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !missing || !reads || c.Response().Committed {
			problems(err, c)
			return
		}
		c.Response().Header().Add(echo.HeaderVary, echo.HeaderAccept)
		if page == nil || !strings.Contains(r.Header.Get(echo.HeaderAccept), echo.MIMETextHTML) {
			problems(err, c)
			return
		}
		page(c.Response(), r)
	}
}

// Layers returns the steps that a request passes before its operation, outermost first, for benchmarks.
func Layers(c Config) ([]pipeline.Layer, error) {
	steps, err := newPipeline(c)
	if err != nil {
		return nil, err
	}
	return steps.Layers(), nil
}

func newPipeline(c Config) (*pipeline.Pipeline, error) {
	limits := c.Pipeline.Limits
	return pipeline.New(c.Pipeline, pipeline.Services{
		Credentials: credentials{c.Areas}, Captures: captureURLs{c.Areas.Tester}, WebSockets: webSockets{c.Realtime},
		Networks: c.Areas.Settings,
		Emails: account.NewAttemptLimits(c.Areas.Accounts, limits.Limiter, account.AttemptRates{
			Attempts: limits.Email, Mails: limits.Mails, Failures: limits.Failures,
		}, c.Pipeline.Log),
		Quotas: c.Areas.Quotas, Idempotency: c.Areas.Idempotency, Unbuilt: Unbuilt(),
		Calls: c.Areas.APICalls,
	})
}
