package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"showfloor/web"
)

func get(t *testing.T, h http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()

	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)

	return w.Result()
}

func body(t *testing.T, from io.Reader) string {
	t.Helper()

	content, err := io.ReadAll(from)
	require.NoError(t, err)

	return string(content)
}

func somePages(t *testing.T) *web.Pages {
	t.Helper()

	pages, err := web.NewPages(fstest.MapFS{
		"index.html":       {Data: []byte("<h1>home</h1>")},
		"player.html":      {Data: []byte("<video>")},
		"assets/a.mjs":     {Data: []byte("export {}")},
		"assets/big.js":    {Data: []byte("plain")},
		"assets/big.js.gz": {Data: []byte("packed")},
	})
	require.NoError(t, err)

	return pages
}

func TestPagesCarryAStrictPolicy(t *testing.T) {
	t.Parallel()

	pages := somePages(t)
	for _, path := range []string{"/", "/player"} {
		answer := get(t, pages, http.MethodGet, path)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.Equal(t, "text/html; charset=utf-8", answer.Header.Get("Content-Type"))
		require.Contains(t, answer.Header.Get("Content-Security-Policy"), "default-src 'self'")
		require.NotContains(t, answer.Header.Get("Content-Security-Policy"), "unsafe")
		require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "no-referrer", answer.Header.Get("Referrer-Policy"))
	}
	require.Equal(t, "<h1>home</h1>", body(t, get(t, pages, http.MethodGet, "/").Body))

	player := get(t, builtPages(t), http.MethodGet, "/player").Header.Get("Content-Security-Policy")
	require.Contains(t, player, "style-src 'self' 'sha256-", "the controls' style elements")
	require.NotContains(t, player, "unsafe")
	require.NotContains(t, player, "script-src", "only default-src 'self'")
}

func TestOnlyTheRoomMayAskForDevices(t *testing.T) {
	t.Parallel()

	pages := builtPages(t)
	room := get(t, pages, http.MethodGet, "/scenarios/conference/").Header
	require.Contains(t, room.Get("Permissions-Policy"), "camera=(self), microphone=(self), display-capture=(self)")
	require.Contains(t, room.Get("Content-Security-Policy"), "connect-src 'self' ws: wss:")
	require.NotContains(t, room.Get("Content-Security-Policy"), "unsafe")
	for _, path := range []string{"/player", "/scenarios/shopping/"} {
		require.Contains(t, get(t, pages, http.MethodGet, path).Header.Get("Permissions-Policy"), "camera=(), microphone=()")
	}

	moved := get(t, pages, http.MethodGet, "/scenarios/conference?room=sess_1&token=a.b.c")
	require.Equal(t, http.StatusMovedPermanently, moved.StatusCode)
	require.Equal(t, "/scenarios/conference/?room=sess_1&token=a.b.c", moved.Header.Get("Location"))
}

func TestPagesAreRevalidated(t *testing.T) {
	t.Parallel()

	pages := somePages(t)
	first := get(t, pages, http.MethodGet, "/assets/a.mjs")
	require.Equal(t, "text/javascript; charset=utf-8", first.Header.Get("Content-Type"))
	require.Equal(t, "no-cache", first.Header.Get("Cache-Control"))

	again := get(t, pages, http.MethodGet, "/assets/a.mjs", "If-None-Match", first.Header.Get("Etag"))
	require.Equal(t, http.StatusNotModified, again.StatusCode)
}

func TestPagesSendGzipToClientsThatAcceptIt(t *testing.T) {
	t.Parallel()

	pages := somePages(t)
	for accepted, want := range map[string]string{
		"":                  "plain",
		"br":                "plain",
		"gzip;q=0":          "plain",
		"gzip":              "packed",
		"br, gzip;q=0.8, *": "packed",
	} {
		answer := get(t, pages, http.MethodGet, "/assets/big.js", "Accept-Encoding", accepted)
		require.Equal(t, want, body(t, answer.Body), accepted)
		require.Equal(t, want == "packed", answer.Header.Get("Content-Encoding") == "gzip", accepted)
		require.Equal(t, "Accept-Encoding", answer.Header.Get("Vary"))
	}
}

func TestPagesRefuseTheRest(t *testing.T) {
	t.Parallel()

	pages := somePages(t)
	require.Equal(t, http.StatusNotFound, get(t, pages, http.MethodGet, "/docs").StatusCode, "not built")
	require.Equal(t, http.StatusNotFound, get(t, pages, http.MethodGet, "/assets/big.js.gz").StatusCode)
	require.Equal(t, http.StatusNotFound, get(t, pages, http.MethodGet, "/assets/../index.html").StatusCode)

	posted := get(t, pages, http.MethodPost, "/")
	require.Equal(t, http.StatusMethodNotAllowed, posted.StatusCode)
	require.Equal(t, "GET, HEAD", posted.Header.Get("Allow"))
	require.Empty(t, body(t, get(t, pages, http.MethodHead, "/").Body))
}

func TestEmbeddedPagesAreWhole(t *testing.T) {
	t.Parallel()

	pages := builtPages(t)
	for _, path := range []string{"/", "/docs", "/player", "/accept-invite", "/reset-password", "/purchase", "/mailbox", "/scenarios/conference/", "/scenarios/shopping/", "/assets/account.js", "/assets/player.js", "/assets/purchase.js", "/assets/rooms.js", "/assets/shop.js", "/assets/shopping.js", "/assets/hls.mjs", "/assets/hls-light.mjs", "/assets/hls.worker.js", "/assets/swagger-ui.js", "/assets/licences.txt"} {
		require.Equal(t, http.StatusOK, get(t, pages, http.MethodGet, path).StatusCode, path)
	}

	packed := get(t, pages, http.MethodGet, "/assets/hls.mjs", "Accept-Encoding", "gzip")
	unpacked, err := gzip.NewReader(packed.Body)
	require.NoError(t, err)
	require.Equal(t, body(t, get(t, pages, http.MethodGet, "/assets/hls.mjs").Body), body(t, unpacked))
}

// TestShoppingPageIsLight: the page of a show, with all files that it loads besides the player, has less than 150 KiB as they are sent.
func TestShoppingPageIsLight(t *testing.T) {
	t.Parallel()
	const most = 150 << 10
	pages := builtPages(t)
	// A page names its files with their folder, a script names others as "./rooms.js".
	names := regexp.MustCompile(`/assets/([\w.-]+\.(?:js|mjs|css|svg))|["']\./([\w.-]+\.m?js)["']`)
	weights := map[string]int{}
	var weigh func(path string)
	weigh = func(path string) {
		if _, known := weights[path]; known || strings.HasPrefix(path, "/assets/hls") {
			return
		}
		answer := get(t, pages, http.MethodGet, path, "Accept-Encoding", "gzip")
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		weights[path] = len(body(t, answer.Body))
		for _, name := range names.FindAllStringSubmatch(body(t, get(t, pages, http.MethodGet, path).Body), -1) {
			weigh("/assets/" + name[1] + name[2])
		}
	}
	weigh("/scenarios/shopping/")
	total := 0
	for _, bytes := range weights {
		total += bytes
	}
	t.Logf("%d bytes: %v", total, weights)
	require.Contains(t, weights, "/assets/rooms.js", "also what is loaded later")
	require.Less(t, total, most)
}
