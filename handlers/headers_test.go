package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
)

// ask sends a request with these headers, given as name and value in turns.
func ask(t *testing.T, c *apitest.Caller, s *apitest.Server, method, path string, headers ...string) apitest.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, http.NoBody)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return c.Do(t, r)
}

func TestEveryAnswerIsHarmlessInABrowser(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{
		PagePaths: []string{"/page"},
		Pages: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy", "the page's own")
			w.Header().Set("Cache-Control", "no-cache")
		}),
	})
	owner := s.Register(t)
	for _, path := range []string{"/v1/me", "/v1/health", "/v1/nothing", "/v1/me/streams/none", "/nothing", "/v1/me/streams?limit=x"} {
		h := ask(t, owner, s, "GET", path).Header
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		require.Equal(t, "default-src 'none'; frame-ancestors 'none'", h.Get("Content-Security-Policy"), path)
		require.Equal(t, "no-store", h.Get("Cache-Control"), path)
		require.Equal(t, "max-age=31536000", h.Get("Strict-Transport-Security"), "the tests' PUBLIC_URL is https")
	}
	page := ask(t, owner, s, "GET", "/page").Is(t, 200).Header
	require.Equal(t, []string{"the page's own"}, page.Values("Content-Security-Policy"))
	require.Equal(t, []string{"no-cache"}, page.Values("Cache-Control"))
	require.Equal(t, []string{"no-cache"}, ask(t, owner, s, "GET", "/openapi.yaml").Is(t, 200).Header.Values("Cache-Control"))
}

func TestScriptsOfAnyOriginMayCall(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	h := ask(t, owner, s, "GET", "/v1/me", "Origin", "https://shop.example").Is(t, 200).Header
	require.Equal(t, "*", h.Get("Access-Control-Allow-Origin"))
	require.Empty(t, h.Get("Access-Control-Allow-Credentials"), "there are no cookies to send")
	require.Empty(t, h.Get("Vary"))
	for _, name := range []string{"Link", "X-Request-Id", "Retry-After", "RateLimit", "RateLimit-Policy", "Idempotent-Replayed"} {
		require.Contains(t, strings.Split(h.Get("Access-Control-Expose-Headers"), ", "), name)
	}
	failed := ask(t, s.With(t, ""), s, "GET", "/v1/me", "Origin", "https://shop.example")
	failed.Problem(t, 401, "unauthenticated")
	require.Equal(t, "*", failed.Header.Get("Access-Control-Allow-Origin"), "or the page couldn't tell why")
	require.Empty(t, ask(t, owner, s, "GET", "/v1/me").Header.Get("Access-Control-Allow-Origin"))
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	anyone := s.With(t, "")
	for _, path := range []string{"/v1/me/streams", "/v1/me/streams/x", "/v1/auth/login", "/v1/nothing"} {
		r := ask(t, anyone, s, "OPTIONS", path, "Origin", "https://shop.example",
			"Access-Control-Request-Method", "PATCH", "Access-Control-Request-Headers", "authorization,content-type,idempotency-key")
		r.Is(t, 204)
		require.Empty(t, r.Body)
		require.Equal(t, "*", r.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, r.Header.Get("Access-Control-Allow-Methods"), "PATCH")
		require.Equal(t, "authorization,content-type,idempotency-key", r.Header.Get("Access-Control-Allow-Headers"))
		require.Equal(t, "7200", r.Header.Get("Access-Control-Max-Age"))
	}
	// An OPTIONS without Access-Control-Request-Method is no preflight.
	plain := ask(t, anyone, s, "OPTIONS", "/v1/me/streams", "Origin", "https://shop.example").Is(t, 204)
	require.Empty(t, plain.Header.Get("Access-Control-Max-Age"))
	require.Contains(t, plain.Header.Get("Allow"), "POST")
	ask(t, anyone, s, "OPTIONS", "/v1/nothing", "Origin", "https://shop.example").Problem(t, 404, "not_found")
}

func TestNamedOriginsAlone(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Origins: []string{"https://app.example", "https://*.shop.example:8443"}})
	owner := s.Register(t)
	for origin, allowed := range map[string]bool{
		"https://app.example":                 true,
		"https://APP.example":                 true,
		"https://de.shop.example:8443":        true,
		"https://a.b.shop.example:8443":       true,
		"http://app.example":                  false,
		"https://app.example:8443":            false,
		"https://app.example.evil":            false,
		"https://evilapp.example":             false,
		"https://shop.example:8443":           false,
		"https://.shop.example:8443":          false,
		"https://de.shop.example":             false,
		"https://evilshop.example:8443":       false,
		"https://de.shop.example:8443.evil":   false,
		"https://evil/x.de.shop.example:8443": false,
		"null":                                false,
	} {
		want := ""
		if allowed {
			want = origin
		}
		r := ask(t, owner, s, "GET", "/v1/me", "Origin", origin).Is(t, 200)
		require.Equal(t, want, r.Header.Get("Access-Control-Allow-Origin"), origin)
		require.Equal(t, "Origin", r.Header.Get("Vary"))
		r = ask(t, owner, s, "OPTIONS", "/v1/me", "Origin", origin, "Access-Control-Request-Method", "GET").Is(t, 204)
		require.Equal(t, want, r.Header.Get("Access-Control-Allow-Origin"), origin)
		require.Equal(t, allowed, r.Header.Get("Access-Control-Max-Age") != "", origin)
	}
	require.Equal(t, "Origin", ask(t, owner, s, "GET", "/v1/me").Header.Get("Vary"), "the answer to others may not be taken for theirs")
}

// TestHeadIsGetWithoutTheBody compares HEAD and GET wherever the document has a GET.
func TestHeadIsGetWithoutTheBody(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	for _, path := range []string{
		"/v1/me", "/v1/me/streams", "/v1/me/streams/" + st.ID, "/v1/me/streams/none", "/v1/me/streams?limit=x", "/v1/health", "/v1/auth/me",
	} {
		get, head := ask(t, owner, s, "GET", path), ask(t, owner, s, "HEAD", path)
		require.Equal(t, get.Status, head.Status, path)
		require.Empty(t, head.Body, path)
		require.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"), path)
		require.Equal(t, get.Header.Get("Content-Length"), head.Header.Get("Content-Length"), path)
	}
	anonymous := s.With(t, "")
	ask(t, anonymous, s, "HEAD", "/v1/me").Is(t, 401)
	ask(t, s.With(t, "garbage"), s, "HEAD", "/v1/me/streams/"+st.ID).Is(t, 401)
	ask(t, owner.Key(t, "account:read"), s, "HEAD", "/v1/me/streams").Is(t, 403)
	ask(t, owner, s, "HEAD", "/v1/auth/login").Is(t, 405)
	ask(t, owner, s, "HEAD", "/v1/nothing").Is(t, 404)
	ask(t, owner, s, "HEAD", "/openapi.json").Is(t, 405)
}
