package handlers

import (
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// Layer is one step that every request passes before its handler.
type Layer struct {
	Name string
	Func echo.MiddlewareFunc
}

// Layers returns the steps in order, outermost first. New uses them, and
// benchmarks measure them one by one.
func Layers(c Config) ([]Layer, error) {
	contract, err := newContract()
	if err != nil {
		return nil, err
	}
	return contract.layers(c), nil
}

func (c *contract) layers(config Config) []Layer {
	if config.Observe == nil {
		config.Observe = func(string, string, int, time.Duration) {}
	}
	if config.RequestTime == 0 {
		config.RequestTime = DefaultRequestTime
	}
	if config.RefuseStorage == nil {
		config.RefuseStorage = func() error { return nil }
	}
	if config.Unfinished == nil {
		config.Unfinished = new(Unfinished)
	}
	limits := newLimits(config.Limits)
	return []Layer{
		{"origin", withRequestID(config.TrustedProxies)},
		{"security headers", secureHeaders(strings.HasPrefix(config.PublicURL, "https://"))},
		{"log and metrics", observe(config.Log, config.Observe)},
		{"deadline", deadline{c, float64(config.RequestTime) / float64(DefaultRequestTime), config.Unfinished}.layer},
		{"recovery", recoverPanic},
		{"CORS", crossOrigin(config.Origins)},
		{"limit of connections", refuseCrowded},
		{"body limit", c.limitBody},
		{"limit of open operations", c.limitOpen(limits, config.Areas.Tester)},
		{"authentication", c.authenticate(authenticator{
			accounts: config.Areas.Accounts, console: config.Areas.Console, sessions: config.Areas.Sessions, limits: limits,
			ingestSecret: config.IngestSecret, trustLoopback: config.TrustLoopback,
		})},
		{"unbuilt operations", c.refuseUnbuilt},
		{"fingerprint", c.fingerprint},
		{"validation", c.validate},
		{"limit of storage", c.limitStorage(storage{quotas: config.Areas.Quotas, limits: limits, refuse: config.RefuseStorage})},
		{"limit of e-mail addresses", c.limitEmail(emailLimits{limits: limits, known: config.Areas.Accounts, log: config.Log})},
		{"idempotency", c.once(config.Areas.Idempotency, config.Log)},
		{"upgrade", upgrade(config.Realtime, config.Areas.Accounts, limits)},
	}
}
