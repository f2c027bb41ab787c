package handlers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// apiPolicy is the Content-Security-Policy of everything that isn't a page: it
// shows nothing, loads nothing and is framed by nobody.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// secureHeaders sets what protects those who open an answer in a browser.
// Pages, playlists and media replace what doesn't suit them.
func secureHeaders(https bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			h := e.Response().Header()
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Referrer-Policy", "no-referrer")
			h.Set("Content-Security-Policy", apiPolicy)
			h.Set(echo.HeaderCacheControl, "no-store")
			if https {
				h.Set("Strict-Transport-Security", "max-age=31536000")
			}
			return next(e)
		}
	}
}

// anyOrigin, as the only entry of Config.Origins, lets scripts of every page
// call the API.
const anyOrigin = "*"

// preflightLife is how long browsers may remember a preflight, in seconds; more
// than two hours no browser does.
const preflightLife = "7200"

// exposedHeaders are those of our answers that scripts may read.
const exposedHeaders = "Link, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, Deprecation, Sunset"

// origins are those whose scripts may call the API: https://app.example for
// itself, https://*.app.example for all names below, * for all there are.
type origins []string

// crossOrigin lets scripts of pages from other origins call the API. Nothing here
// goes by cookies: a page can do with it what it has a token for and no more, so
// that credentials are never allowed and any origin is, unless the operator
// names some. What isn't below /v1/ sees to itself.
func crossOrigin(o origins) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			r := e.Request()
			if !strings.HasPrefix(r.URL.Path, "/v1/") {
				return next(e)
			}
			allowed := o.announce(e.Response().Header(), r.Header.Get(echo.HeaderOrigin))
			// An OPTIONS that names no method is no preflight.
			if r.Method == http.MethodOptions && r.Header.Get(echo.HeaderAccessControlRequestMethod) != "" {
				return preflight(e, allowed)
			}
			if allowed {
				e.Response().Header().Set(echo.HeaderAccessControlExposeHeaders, exposedHeaders)
			}
			return next(e)
		}
	}
}

// announce says whether the origin is allowed, also to its browser.
func (o origins) announce(h http.Header, origin string) bool {
	everybody := slices.Contains(o, anyOrigin)
	if !everybody {
		h.Add(echo.HeaderVary, echo.HeaderOrigin)
	}
	switch {
	case origin == "": // no browser asks, or one for its own page
		return false
	case everybody:
		h.Set(echo.HeaderAccessControlAllowOrigin, anyOrigin)
		return true
	case slices.ContainsFunc(o, func(entry string) bool { return allows(entry, origin) }):
		h.Set(echo.HeaderAccessControlAllowOrigin, origin)
		return true
	default:
		return false
	}
}

// preflight answers a browser that asks whether it may ask.
func preflight(e echo.Context, allowed bool) error {
	if allowed {
		h := e.Response().Header()
		h.Set(echo.HeaderAccessControlAllowMethods, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		// Which headers there are, the operation knows; none is a danger.
		h.Set(echo.HeaderAccessControlAllowHeaders, e.Request().Header.Get(echo.HeaderAccessControlRequestHeaders))
		h.Set(echo.HeaderAccessControlMaxAge, preflightLife)
	}
	return e.NoContent(http.StatusNoContent)
}

// allows tells whether an entry stands for the origin.
func allows(entry, origin string) bool {
	scheme, domain, wild := strings.Cut(entry, "://*")
	if !wild {
		return strings.EqualFold(entry, origin)
	}
	host, ok := strings.CutPrefix(strings.ToLower(origin), strings.ToLower(scheme)+"://")
	return ok && len(host) > len(domain) && strings.HasSuffix(host, strings.ToLower(domain)) && !strings.Contains(host, "/")
}

// headAsGet answers HEAD as GET, wherever the document knows a GET and no HEAD.
// The body is left out by net/http, which goes by the request that it has read:
// the router is given a copy.
func (c *contract) headAsGet(e *echo.Echo) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			probe := e.AcquireContext()
			probe.Reset(r, nil)
			e.Router().Find(http.MethodHead, echo.GetPath(r), probe)
			route := probe.Path()
			e.ReleaseContext(probe)
			if c.operations["HEAD "+route] == nil && c.operations["GET "+route] != nil {
				get := *r
				get.Method = http.MethodGet
				r = &get
			}
		}
		e.ServeHTTP(w, r)
	})
}
