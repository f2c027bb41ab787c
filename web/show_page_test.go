package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestHeadOfAShowsPage serves a page with the marker, under the path of the room's page.
func TestHeadOfAShowsPage(t *testing.T) {
	t.Parallel()
	pages, err := NewPages(fstest.MapFS{
		"conference.html": {Data: []byte("<head><!--head--></head>")}, "index.html": {Data: []byte("<p>")},
		"purchase.html": {Data: []byte("<title>Your purchase</title><!--head-->")},
	})
	require.NoError(t, err)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		require.Equal(t, http.StatusOK, w.Code)
		require.Empty(t, w.Header().Get("X-Frame-Options"))
		return w
	}
	const neutral = "<head><title>Live show</title>\n    <meta property=\"og:type\" content=\"website\" />\n" +
		"    <meta property=\"og:title\" content=\"Live show\" /></head>"
	require.Equal(t, neutral, get(roomPath).Body.String(), "without heads")
	pages.UseHeads(func(_ context.Context, room, vod string) Head {
		if room+vod == "" {
			return Head{}
		}
		return Head{
			Title: `<script>"Launch"</script>`, Description: "A & B", Image: "https://cdn.example/p.jpg?a=1&b=2", SiteName: "Acme'" + room + vod,
			ThemeColor: "#7a2048", FrameOrigins: []string{"https://shop.example", "https://*; script-src *"},
		}
	})
	other := get(roomPath)
	require.Equal(t, neutral, other.Body.String())
	require.Contains(t, other.Header().Get("Content-Security-Policy"), "frame-ancestors 'self';")
	show := get(roomPath + "?room=1&vod=2")
	require.Equal(t, `<head><title>&lt;script&gt;&#34;Launch&#34;&lt;/script&gt; · Acme&#39;12</title>
    <meta name="description" content="A &amp; B" />
    <meta property="og:type" content="website" />
    <meta property="og:title" content="&lt;script&gt;&#34;Launch&#34;&lt;/script&gt;" />
    <meta property="og:description" content="A &amp; B" />
    <meta property="og:image" content="https://cdn.example/p.jpg?a=1&amp;b=2" />
    <meta property="og:site_name" content="Acme&#39;12" />
    <meta name="theme-color" content="#7a2048" /></head>`, show.Body.String())
	require.Contains(t, show.Header().Get("Content-Security-Policy"), "frame-ancestors 'self' https://shop.example;")
	require.NotContains(t, show.Header().Get("Content-Security-Policy"), "script-src *")
	require.NotEqual(t, other.Header().Get("ETag"), show.Header().Get("ETag"))
	again := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, roomPath+"?room=1&vod=2", http.NoBody)
	r.Header.Set("If-None-Match", show.Header().Get("ETag"))
	pages.ServeHTTP(again, r)
	require.Equal(t, http.StatusNotModified, again.Code)
	require.Equal(t, "<p>", get("/").Body.String())
	require.NotContains(t, get("/purchase?room=1").Body.String(), "<title>&lt;", "a page keeps its own title")
	require.Contains(t, get("/purchase?room=1").Body.String(), `content="Acme&#39;1"`)
}
