// Package pipeline has the steps that every request passes before its operation: the request gets an id and a deadline, its caller
// is authenticated and counted, its parameters and body are checked against the API document, its answer is stored for
// its Idempotency-Key. Errors of every layer become problems here. The pipeline knows the document and the caller, but
// no operation.
package pipeline

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"showfloor/internal/base/netaddr"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/idempotency"
	"showfloor/internal/tenancy/quota"
)

// Settings are the operator's settings of the HTTP server.
type Settings struct {
	// PublicURL is this server's URL as clients see it, without a slash at the end.
	PublicURL string
	// Origins are the origins whose scripts may call the API, "*" for all.
	Origins []string
	// IngestSecret authenticates SRS servers. If it is empty, only callers on this machine are accepted.
	IngestSecret string
	// RecorderSecret is the key of an outside recorder's signatures. If it is empty, no recorder may call.
	RecorderSecret string
	// TranscoderSecret and PackagerSecret are those of an outside transcoder and packager.
	TranscoderSecret, PackagerSecret string
	// TrustLoopback allows callers on this machine to read /metrics and the development mailbox and, while
	// there is no IngestSecret, to send ingest callbacks. It must be off if a proxy on this machine forwards
	// the requests of others.
	TrustLoopback bool
	// RequestTime is the time within which operations must answer [defaultRequestTime]. Operations with an
	// x-timeout have proportionally more.
	RequestTime time.Duration
	// TrustedProxies are the networks whose X-Forwarded-For is trusted.
	TrustedProxies netaddr.Proxies
	// Limits are the rate limits of callers; by default there are none.
	Limits Limits
}

// Config of the pipeline.
type Config struct {
	Settings

	// Unfinished counts the handlers that still run after their time; may be nil.
	Unfinished *Unfinished
	// RefuseStorage returns an error while writes that can wait, such as products and chat messages, must be
	// refused, and nil otherwise. A nil function refuses nothing.
	RefuseStorage func() error
	// Observe is called for each request, for metrics; nil for none.
	Observe func(method, route string, status int, took time.Duration)
	Log     *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.RequestTime == 0 {
		c.RequestTime = defaultRequestTime
	}
	if c.Unfinished == nil {
		c.Unfinished = new(Unfinished)
	}
	if c.RefuseStorage == nil {
		c.RefuseStorage = func() error { return nil }
	}
	if c.Observe == nil {
		c.Observe = func(string, string, int, time.Duration) {}
	}
	return c
}

// Services are the services that the layers call.
type Services struct {
	Credentials Credentials
	Captures    CaptureURLs
	Emails      EmailLimits
	WebSockets  WebSockets
	// Networks are those from which admins may call; nil for all.
	Networks    AdminNetworks
	Quotas      *quota.Service
	Idempotency *idempotency.Service
	// Calls counts the calls of tenants; nil counts nothing.
	Calls Calls
	// Unbuilt lists the operations that answer 501, by their operationIds in any case.
	Unbuilt []string
}

// Credentials identifies callers.
type Credentials interface {
	// Tenant returns the caller of a user's token or an API key. The caller has no IP and RequestID. The same holds
	// for Admin and Participant.
	Tenant(ctx context.Context, token string) (tenancy.Caller, error)
	Admin(ctx context.Context, token string) (platform.Caller, error)
	// TenantEndingImpersonation does the same as Tenant for the end of an impersonation, which is possible while the tenant is suspended
	// or cancelled.
	TenantEndingImpersonation(ctx context.Context, token string) (tenancy.Caller, error)
	Participant(ctx context.Context, token string) (tenancy.Caller, error)
	// IsParticipant reports whether the text has the form of a participant's token.
	IsParticipant(token string) bool
	// Recognize reports, without a query, whether this server issued a credential, and whether it was valid a moment ago.
	Recognize(token string) (issued, valid bool)
}

// Calls counts calls of the API that were answered with a status.
type Calls interface {
	Count(tenantID, operationID string, status int, took time.Duration)
}

// CaptureURLs classifies requests to capture URLs.
type CaptureURLs interface {
	// Token returns the token in the request's path.
	Token(r *http.Request) string
	// Issued reports, without a query, whether this server made the token.
	Issued(token string) bool
	// IsGone reports whether err is the refusal of a token whose URL doesn't exist or was deleted long ago.
	IsGone(err error) bool
}

// EmailLimits decides which limits an attempt on an e-mail address counts against. ip is the client's address.
type EmailLimits interface {
	// Attempt returns the bucket of every operation that checks a password or a code.
	Attempt(email, ip string) ratelimit.Bucket
	// SignupMail returns the bucket of mails with a sign-up code.
	SignupMail(email, ip string) ratelimit.Bucket
	// CheckLogin returns the limit of failed logins that forbids another attempt, and its state; nil if none does.
	CheckLogin(ctx context.Context, email, ip string) (*ratelimit.Bucket, ratelimit.Result, error)
	// CountLogin counts an attempt. err is its result.
	CountLogin(ctx context.Context, email, ip string, err error)
}

// WebSockets takes over connections that become WebSockets.
type WebSockets interface {
	// Wants reports whether a request to this route becomes a WebSocket.
	Wants(route string, r *http.Request) bool
	Serve(w http.ResponseWriter, r *http.Request, v *Visitor) error
}

// Pipeline is the layers for one router.
type Pipeline struct {
	contract *contract
	layers   []Layer
	problems problems
}

// Layer is one step that every request passes before its handler.
type Layer struct {
	Name string
	Func echo.MiddlewareFunc
}

// New prepares the layers.
func New(config Config, s Services) (*Pipeline, error) {
	c, err := newContract()
	if err != nil {
		return nil, err
	}
	c.markUnbuilt(s.Unbuilt)
	return &Pipeline{
		contract: c, layers: c.layers(config.withDefaults(), s), problems: problems{config.Log, newFailureLog(config.Log)},
	}, nil
}

// Layers returns the steps in order, outermost first, for benchmarks that measure them one by one.
func (p *Pipeline) Layers() []Layer { return p.layers }

// Wrap puts the layers and the error handler around the router's routes.
func (p *Pipeline) Wrap(e *echo.Echo) http.Handler {
	e.HTTPErrorHandler = p.problems.handle
	e.Use(Chain(p.layers))
	return p.contract.headAsGet(e)
}

// Chain returns the layers as one middleware for echo.Echo.Use, outermost first. It builds the chain once: echo would
// build it again for each request, with a closure for each layer. The chain ends with the handler of the matched route.
func Chain(layers []Layer) echo.MiddlewareFunc {
	chain := func(e echo.Context) error { return e.Handler()(e) }
	for _, layer := range slices.Backward(layers) {
		chain = layer.Func(chain)
	}
	return func(echo.HandlerFunc) echo.HandlerFunc { return chain }
}

func (c *contract) layers(config Config, s Services) []Layer {
	limits := newLimits(config.Limits)
	return []Layer{
		{"origin", withOrigin(config.TrustedProxies)},
		{"security headers", secureHeaders(strings.HasPrefix(config.PublicURL, "https://"))},
		{"counts of calls", c.countCalls(s.Calls)},
		{"log and metrics", observe(config.Log, config.Observe)},
		{"deadline", deadline{
			c, s.WebSockets, float64(config.RequestTime) / float64(defaultRequestTime), config.Unfinished,
		}.layer},
		{"recovery", recoverPanic},
		{"CORS", crossOrigin(config.Origins)},
		{"limit of connections", refuseExcessConns},
		{"body limit", c.limitBody},
		{"limit of open operations", c.limitOpen(limits, s.Captures)},
		{"admin networks", limitNetworks(s.Networks)},
		{"cookies of consoles", c.cookieToken},
		{"authentication", c.authenticate(authenticator{
			credentials: s.Credentials, limits: limits, ingestSecret: config.IngestSecret, trustLoopback: config.TrustLoopback,
			recorderSecret: config.RecorderSecret, transcoderSecret: config.TranscoderSecret, packagerSecret: config.PackagerSecret,
		})},
		{"unbuilt operations", c.refuseUnbuilt},
		{"networks of impersonating admins", limitImpersonation(s.Networks)},
		{"impersonation", c.refuseImpersonated},
		{"fingerprint", c.fingerprint},
		{"validation", c.validate},
		{"limit of storage", c.limitStorage(storage{quotas: s.Quotas, limits: limits, refuse: config.RefuseStorage})},
		{"limit of e-mail addresses", c.limitEmail(limits, s.Emails)},
		{"idempotency", c.executeOnce(s.Idempotency, config.Log)},
		{"upgrade", upgrade(s.WebSockets, Visitor{credentials: s.Credentials, limits: limits, networks: s.Networks}, config.PublicURL)},
	}
}
