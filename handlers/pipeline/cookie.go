package pipeline

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// Cookie is a cookie in which a browser keeps the token of a console.
type Cookie struct{ Name, Path string }

// ConsoleCookie is the cookie of /console. The path limits the requests with which browsers send it.
func ConsoleCookie() Cookie { return Cookie{Name: "showfloor_console", Path: "/v1"} }

// AdminCookie is the cookie of /admin.
func AdminCookie() Cookie { return Cookie{Name: "showfloor_admin", Path: "/v1/admin"} }

// consoleHeader must accompany the cookies, with the value 1. Forms can't send it, and scripts of other origins can't send it
// together with cookies, because CORS never allows credentials here.
const consoleHeader = "X-Showfloor-Console"

// cookieToken gives a request of a console the token in its cookie as a bearer token. A request that has an Authorization
// header keeps it. Operations that take no bearer token never see the cookie's token.
func (c *contract) cookieToken(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		r := e.Request()
		op := c.find(e)
		if op == nil || !op.bearer || op.anything || !fromConsole(r) {
			return next(e)
		}
		cookie := ConsoleCookie()
		if strings.HasPrefix(r.URL.Path, adminPaths) {
			cookie = AdminCookie()
		}
		if set, err := r.Cookie(cookie.Name); err == nil && set.Value != "" {
			r.Header.Set(echo.HeaderAuthorization, "Bearer "+set.Value)
		}
		return next(e)
	}
}

// fromConsole reports whether a request is one of a console's page, and has no credential of its own.
func fromConsole(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site") // browsers that are older than 2023 may not send it
	return r.Header.Get(consoleHeader) == "1" && r.Header.Get(echo.HeaderAuthorization) == "" && (site == "" || site == "same-origin")
}

// pageToken returns the token in the cookie of a console's page that opens a WebSocket, and nothing for pages of other origins:
// scripts of any page may open WebSockets, and browsers send cookies along. Scripts can't set headers there, so the origin
// is the protection. It is PUBLIC_URL's, or the address of a request that came without a proxy for TLS: such a proxy may
// pass a Host without its port.
func pageToken(r *http.Request, publicURL string) string {
	origin := r.Header.Get(echo.HeaderOrigin)
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	public, err := url.Parse(publicURL)
	own := err == nil && origin == public.Scheme+"://"+public.Host
	if !own && origin != scheme+"://"+r.Host {
		return ""
	}
	if cookie, err := r.Cookie(ConsoleCookie().Name); err == nil {
		return cookie.Value
	}
	return ""
}
