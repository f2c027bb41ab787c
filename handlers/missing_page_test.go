package handlers_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
)

const (
	browserAccepts = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	curlAccepts    = "*/*"
)

// TestPeopleGetAPageAtAnUnknownPath asks for paths at which there is nothing, as browsers and programs do.
func TestPeopleGetAPageAtAnUnknownPath(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{
		MissingPage: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("<h1>Page not found</h1>")) // the server drops it for HEAD
		},
		Pages:     http.NotFoundHandler(),
		PagePaths: []string{"/page"},
	})
	anyone := s.With(t, "")
	for _, path := range []string{"/nothing", "/docs/nothing", "/v1", "/v12/streams"} {
		page := ask(t, anyone, s, "GET", path, "Accept", browserAccepts).Is(t, 404)
		require.Equal(t, "<h1>Page not found</h1>", string(page.Body), path)
		require.Equal(t, "text/html; charset=utf-8", page.Header.Get("Content-Type"), path)
		require.Contains(t, page.Header.Values("Vary"), "Accept", "a cache must not give the page to programs")
		ask(t, anyone, s, "GET", path, "Accept", curlAccepts).Problem(t, 404, "not_found")
		ask(t, anyone, s, "GET", path).Problem(t, 404, "not_found")
	}

	head := ask(t, anyone, s, "HEAD", "/nothing", "Accept", browserAccepts).Is(t, 404)
	require.Equal(t, "text/html; charset=utf-8", head.Header.Get("Content-Type"))
	require.Empty(t, head.Body)

	// Below /v1/ also browsers get problems.
	for _, path := range []string{"/v1/nothing", "/v1/me/nothing"} {
		r := ask(t, anyone, s, "GET", path, "Accept", browserAccepts)
		require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"), path)
	}
	ask(t, anyone, s, "POST", "/nothing", "Accept", browserAccepts).Problem(t, 404, "not_found")
	wrong := ask(t, anyone, s, "POST", "/page", "Accept", browserAccepts)
	wrong.Problem(t, 405, "method_not_allowed")
	require.NotEmpty(t, wrong.Header.Get("Allow"))
}
