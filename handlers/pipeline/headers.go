package pipeline

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// apiPolicy is the Content-Security-Policy of every answer that isn't a page. It
// forbids scripts, resources and frames.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// secureHeaders sets the headers that protect users who open an answer in a
// browser. Pages, playlists and media replace some of them.
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

// anyOrigin, as the only entry of Settings.Origins, lets scripts of every page
// call the API.
const anyOrigin = "*"

// preflightLife is how long browsers may cache a preflight, in seconds. No
// browser caches it for more than two hours.
const preflightLife = "7200"

// exposedHeaders are the response headers that scripts may read.
const exposedHeaders = "Date, Link, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, Deprecation, Sunset"

// origins lists the origins whose scripts may call the API: https://app.example
// for itself, https://*.app.example for all names below it, * for all origins.
type origins []string

// crossOrigin lets scripts of pages from other origins call the API (CORS).
// A page of another origin can do only what its token allows. The consoles' cookies
// are for pages of this origin alone (see cookieToken), so credentials are never
// allowed, and every origin is, unless the operator lists some. Paths outside /v1/
// set their own headers.
func crossOrigin(o origins) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			r := e.Request()
			if !strings.HasPrefix(r.URL.Path, "/v1/") {
				return next(e)
			}
			allowed := o.announce(e.Response().Header(), r.Header.Get(echo.HeaderOrigin))
			// An OPTIONS without Access-Control-Request-Method is no preflight.
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

// announce sets the CORS headers for the origin and reports whether it is allowed.
func (o origins) announce(h http.Header, origin string) bool {
	anyAllowed := slices.Contains(o, anyOrigin)
	if !anyAllowed {
		h.Add(echo.HeaderVary, echo.HeaderOrigin)
	}
	switch {
	case origin == "": // not a browser, or a page of this origin
		return false
	case anyAllowed:
		h.Set(echo.HeaderAccessControlAllowOrigin, anyOrigin)
		return true
	case slices.ContainsFunc(o, func(entry string) bool { return allows(entry, origin) }):
		h.Set(echo.HeaderAccessControlAllowOrigin, origin)
		return true
	default:
		return false
	}
}

// preflight answers a browser's preflight request.
func preflight(e echo.Context, allowed bool) error {
	if allowed {
		h := e.Response().Header()
		h.Set(echo.HeaderAccessControlAllowMethods, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
		// Every header is allowed: none is dangerous, and only the operation
		// knows which ones it reads.
		h.Set(echo.HeaderAccessControlAllowHeaders, e.Request().Header.Get(echo.HeaderAccessControlRequestHeaders))
		h.Set(echo.HeaderAccessControlMaxAge, preflightLife)
	}
	return e.NoContent(http.StatusNoContent)
}

// allows reports whether an entry matches the origin.
func allows(entry, origin string) bool {
	scheme, domain, wild := strings.Cut(entry, "://*")
	if !wild {
		return strings.EqualFold(entry, origin)
	}
	host, ok := strings.CutPrefix(strings.ToLower(origin), strings.ToLower(scheme)+"://")
	return ok && len(host) > len(domain) && strings.HasSuffix(host, strings.ToLower(domain)) && !strings.Contains(host, "/")
}

// headAsGet answers HEAD as GET for each route that has a GET in the document and
// no HEAD. The router gets a copy of the request with the other method; net/http
// still sees the original HEAD and leaves out the body.
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
