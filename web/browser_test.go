package web_test

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
	"showfloor/web"
)

const (
	phoneWidth  = 390
	phoneHeight = 844
	deskWidth   = 1280
	deskHeight  = 800
)

func builtPages(t *testing.T) *web.Pages {
	t.Helper()

	pages, err := web.NewPages(web.Files())
	require.NoError(t, err)
	require.True(t, pages.Built(), "the pages are not built: run `make web`")

	return pages
}

// serve mounts the pages like the server, with more handlers by pattern.
func serve(t *testing.T, more map[string]http.HandlerFunc) string {
	t.Helper()

	return servePages(t, builtPages(t), more)
}

func servePages(t *testing.T, pages *web.Pages, more map[string]http.HandlerFunc) string {
	t.Helper()

	mux := http.NewServeMux()
	mux.Handle("/", pages)
	for pattern, handler := range more {
		mux.HandleFunc(pattern, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	return server.URL
}

// publish starts ffmpeg, which writes a live HLS stream with key frames and
// segments of one second. It returns the stream's folder and a function that
// ends the broadcast.
func publish(t *testing.T) (folder string, end func()) {
	t.Helper()

	folder = t.TempDir()
	ffmpeg := exec.CommandContext(t.Context(), "ffmpeg", strings.Fields(`-hide_banner -loglevel error -nostdin -re
		-f lavfi -i testsrc2=size=640x360:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000
		-c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 25 -b:v 800k -c:a aac
		-f hls -hls_time 1 -hls_list_size 6 -hls_flags delete_segments+program_date_time+temp_file`)...)
	ffmpeg.Args = append(ffmpeg.Args, filepath.Join(folder, "live.m3u8"))
	require.NoError(t, ffmpeg.Start())

	end = func() {
		_ = ffmpeg.Process.Signal(syscall.SIGTERM) // fails if it has just ended
		_ = ffmpeg.Wait()                          // the exit code is 255 after the signal
	}
	t.Cleanup(end)

	return folder, end
}

func messageIs(text string) string {
	return `!document.getElementById("notice").hidden &&
		document.getElementById("message").textContent.includes("` + text + `")`
}

func TestPlayerPlaysABroadcastToItsEnd(t *testing.T) {
	t.Parallel()

	folder, end := publish(t)
	files := http.StripPrefix("/hls/", http.FileServer(http.Dir(folder)))
	origin := serve(t, map[string]http.HandlerFunc{
		"/hls/": func(w http.ResponseWriter, r *http.Request) {
			// Modification times have whole seconds: a browser would treat a playlist that is
			// closed within a second of the write before as unchanged.
			w.Header().Set("Cache-Control", "no-store")
			files.ServeHTTP(w, r)
		},
	})
	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, deskWidth, deskHeight, false)

	// There is no playlist yet: the page waits and retries.
	browsertest.Run(t, tab, chromedp.Navigate(origin+"/player?src=/hls/live.m3u8"))
	browsertest.WaitFor(t, tab, `showfloorPlayer.hls && showfloorPlayer.video.currentTime > 1`)
	require.Equal(t, origin+"/player", browsertest.Value[string](t, tab, `location.href`), "the playback URL has left")
	browsertest.Run(t, tab, chromedp.Reload())
	browsertest.WaitFor(t, tab, `showfloorPlayer.hls && showfloorPlayer.video.currentTime > 1`)
	browsertest.WaitFor(t, tab, `showfloorPlayer.hls.latency > 0`)
	for _, figure := range []string{"latency", "buffer", "resolution", "bitrate", "dropped"} {
		browsertest.WaitFor(t, tab, `document.getElementById("`+figure+`").textContent !== "–"`)
	}
	require.Equal(t, "640 × 360", browsertest.Value[string](t, tab, `document.getElementById("resolution").textContent`))
	require.NotEqual(t, "0.0 Mbit/s", browsertest.Value[string](t, tab, `document.getElementById("bitrate").textContent`))
	require.True(t, browsertest.Value[bool](t, tab, `document.getElementById("notice").hidden`))
	browsertest.Screenshot(t, tab, "player-light")

	// If the player is far behind, one click leads back to the live edge.
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`showfloorPlayer.video.pause()`))
	browsertest.WaitFor(t, tab, `showfloorPlayer.hls.latency > showfloorPlayer.hls.targetLatency + 1.5`)
	browsertest.Run(t, tab, chromedp.Click(chromedp.CSS("#edge")))
	browsertest.WaitFor(t, tab, `!showfloorPlayer.video.paused &&
		showfloorPlayer.hls.latency < showfloorPlayer.hls.targetLatency + 1.5`)

	browsertest.Look(t, tab, phoneWidth, phoneHeight, true)
	browsertest.Screenshot(t, tab, "player-phone-dark")

	end()
	browsertest.WaitFor(t, tab, messageIs("The broadcast has ended"))
	require.Empty(t, log.Outside(origin))
	for _, complaint := range log.Complaints() {
		require.Contains(t, complaint, "404", "only the playlist that isn't there yet may be complained of")
	}
}

func TestPlayerErrorsNameTheRemedy(t *testing.T) {
	t.Parallel()

	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	origin := serve(t, map[string]http.HandlerFunc{
		"/gone.m3u8":    answer(http.StatusNotFound),
		"/expired.m3u8": answer(http.StatusForbidden),
		"/page.m3u8":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
	})
	tab := browsertest.New(t)
	browsertest.Look(t, tab, deskWidth, deskHeight, true)

	for _, c := range []struct{ name, address, says string }{
		{"nothing", "", "Paste the playback URL"},
		{"other-scheme", "?src=" + "ftp://example.com/a.m3u8", "can’t be played here"},
		{"not-secure", "?src=" + "http://example.com/a.m3u8", "can’t be played here"},
		{"script", "?src=" + "javascript:alert(1)", "can’t be played here"},
		{"not-started", "#src=/gone.m3u8", "hasn’t started"},
		{"other-own-name", "?src=" + strings.Replace(origin, "127.0.0.1", "localhost", 1) + "/gone.m3u8", "hasn’t started"},
		{"expired", "#/expired.m3u8", "no longer valid"},
		{"no-playlist", "?src=/page.m3u8", "no HLS playlist"},
		{"unreachable", "?src=https://showfloor.invalid/a.m3u8", "can’t be reached"},
	} {
		browsertest.Run(t, tab, chromedp.Navigate("about:blank"), chromedp.Navigate(origin+"/player"+c.address))
		browsertest.WaitFor(t, tab, messageIs(c.says))
		browsertest.Screenshot(t, tab, "player-says-"+c.name)
	}
}

// TestReferenceOfAnotherDocument shows a document without the extensions that ours has, and one that can't be loaded. The
// e2e tests show our own.
func TestReferenceOfAnotherDocument(t *testing.T) {
	t.Parallel()

	var document atomic.Value
	document.Store(`{"openapi":"3.0.3","info":{"title":"Small API","version":"1.0.0"},"tags":[{"name":"streams"}],
		"components":{"securitySchemes":{"bearer":{"type":"http","scheme":"bearer"}}},
		"paths":{"/streams":{"get":{"operationId":"listStreams","tags":["streams"],"security":[{"bearer":[]}],
		"responses":{"200":{"description":"newest first"}}}}}}`)
	origin := serve(t, map[string]http.HandlerFunc{
		"/openapi.json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(document.Load().(string)))
		},
	})
	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, deskWidth, deskHeight, false)

	browsertest.Run(t, tab, chromedp.Navigate(origin+"/docs#/streams/listStreams"), chromedp.WaitVisible(chromedp.CSS(".opblock-description")))
	require.Equal(t, "Access: bearer.", browsertest.Value[string](t, tab, `document.querySelector(".opblock-description").textContent.trim()`))
	require.Equal(t, "Other sections", browsertest.Value[string](t, tab, `document.querySelector("#groups h2").textContent`))
	require.Empty(t, log.Outside(origin))
	require.Empty(t, log.Complaints())

	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`location.hash = "#/%E0/x"; undefined`))
	browsertest.WaitFor(t, tab, `document.querySelector("#viewer h1, #viewer h2")?.textContent.startsWith("Small API")`)

	document.Store("no JSON")
	browsertest.Run(t, tab, chromedp.Reload())
	browsertest.WaitFor(t, tab, `document.getElementById("viewer").textContent.includes("The API document can’t be loaded")`)
}
