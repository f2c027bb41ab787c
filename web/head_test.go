package web

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// headedPages are pages with the marker, and one without it.
func headedPages(t *testing.T) (pages *Pages, get func(path string) *httptest.ResponseRecorder) {
	t.Helper()
	pages, err := NewPages(fstest.MapFS{
		"conference.html": {Data: []byte("<head><title>A &amp; B</title>\n    <!--head--></head>")}, "index.html": {Data: []byte("<p>")},
		"player.html": {Data: []byte("<title>Player</title><i><!--head-->")}, "purchase.html": {Data: []byte("<!--head-->")},
		"shopping.html": {Data: []byte(`<!--head--><link href="/assets/hls.mjs"><p><!--poster--></p>`)},
	})
	require.NoError(t, err)

	return pages, func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		require.Equal(t, http.StatusOK, w.Code)
		require.Empty(t, w.Header().Get("X-Frame-Options"))

		return w
	}
}

func TestHeadOfAPage(t *testing.T) {
	t.Parallel()
	pages, get := headedPages(t)
	const neutral = "<head><title>A &amp; B</title>\n    <meta property=\"og:type\" content=\"website\" />\n" +
		"    <meta property=\"og:title\" content=\"A &amp; B\" /></head>"
	require.Equal(t, neutral, get(roomPath+"?room=1").Body.String(), "without heads")
	pages.UseHeads(func(_ context.Context, page Address) Head {
		if page.Room == "unknown" {
			return Head{}
		}

		return Head{
			Title: `<script>"Launch"</script>`, Description: "A & B", Image: "https://cdn.example/p.jpg?a=1&b=2",
			SiteName: "Acme'" + page.Room + page.Recording + page.Playlist, ThemeColor: "#7a2048",
			FrameOrigins: []string{"https://shop.example", "https://*; script-src *"},
		}
	})
	other := get(roomPath + "?room=unknown")
	require.Equal(t, neutral, other.Body.String())
	require.Equal(t, neutral, get(roomPath).Body.String())
	require.Contains(t, other.Header().Get("Content-Security-Policy"), "frame-ancestors 'self';")
	show := get(roomPath + "?room=1&vod=2&src=3")
	require.Equal(t, `<head><title>&lt;script&gt;&#34;Launch&#34;&lt;/script&gt; · Acme&#39;1</title>
    <meta name="description" content="A &amp; B" />
    <meta property="og:type" content="website" />
    <meta property="og:title" content="&lt;script&gt;&#34;Launch&#34;&lt;/script&gt;" />
    <meta property="og:description" content="A &amp; B" />
    <meta property="og:image" content="https://cdn.example/p.jpg?a=1&amp;b=2" />
    <meta property="og:site_name" content="Acme&#39;1" />
    <meta name="theme-color" content="#7a2048" />
    <meta name="brand" content="{&#34;name&#34;:&#34;Acme&#39;1&#34;,&#34;logoUrl&#34;:null,`+
		`&#34;primaryColor&#34;:&#34;#7a2048&#34;,&#34;accentColor&#34;:null}" /></head>`, show.Body.String())
	require.Contains(t, show.Header().Get("Content-Security-Policy"), "frame-ancestors 'self' https://shop.example;")
	require.NotContains(t, show.Header().Get("Content-Security-Policy"), "script-src *")
	require.NotEqual(t, other.Header().Get("ETag"), show.Header().Get("ETag"))
	again := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, roomPath+"?room=1&vod=2", http.NoBody)
	r.Header.Set("If-None-Match", show.Header().Get("ETag"))
	pages.ServeHTTP(again, r)
	require.Equal(t, http.StatusNotModified, again.Code)

	require.Contains(t, get(shopPath+"?room=1").Body.String(),
		`<p><div class="stage"><img class="poster" src="https://cdn.example/p.jpg?a=1&amp;b=2" alt="" `)
	require.Contains(t, get(shopPath+"?room=unknown").Body.String(), "<p></p>", "no poster")

	require.Equal(t, "<p>", get("/").Body.String())
	require.Contains(t, get("/purchase?room=1").Body.String(), `content="Acme&#39;1"`)
	require.Contains(t, get("/player?src=3").Body.String(), `content="Acme&#39;3"`)
	require.Contains(t, get("/player?src=3").Body.String(), "<i><title>", "the elements before the marker stay")
	require.NotContains(t, get("/player?room=1&vod=2").Body.String(), "Acme", "the player plays nothing of it")
}

// TestBrandIsOnlyText checks that texts of a tenant's brand become no markup, and reach the page's scripts as they are.
func TestBrandIsOnlyText(t *testing.T) {
	t.Parallel()
	const name = `"'></title><script>alert(1)</script>` + "\u2028<!--"
	pages, get := headedPages(t)
	pages.UseHeads(func(context.Context, Address) Head {
		return Head{SiteName: name, LogoURL: `https://cdn.example/"><script>`, ThemeColor: "#ffee00", AccentColor: "#e8a33d"}
	})
	page := get(roomPath + "?room=1").Body.String()
	require.NotContains(t, page, "<script")
	require.NotContains(t, page, "<!--")
	_, rest, _ := strings.Cut(page, `<meta name="brand" content="`)
	text, _, _ := strings.Cut(rest, `"`)
	var brand map[string]any
	require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(text)), &brand))
	require.Equal(t, map[string]any{
		"name": name, "logoUrl": `https://cdn.example/"><script>`, "primaryColor": "#ffee00", "accentColor": "#e8a33d",
	}, brand)
}

// TestAShowOnAirLoadsTheLightPlayer: the page loads early what its script will import.
func TestAShowOnAirLoadsTheLightPlayer(t *testing.T) {
	t.Parallel()
	for onAir, script := range map[bool]string{true: "hls-light.mjs", false: "hls.mjs"} {
		pages, get := headedPages(t)
		pages.UseHeads(func(context.Context, Address) Head { return Head{OnAir: onAir} })
		require.Contains(t, get("/scenarios/shopping/?room=str_1").Body.String(), `<link href="/assets/`+script+`">`)
	}
}
