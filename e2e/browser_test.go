package e2e

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
)

// lowLatency is true while the player is less than 3 s behind the encoder.
const lowLatency = `showfloorPlayer.hls.latency > 0 && showfloorPlayer.hls.latency < 3`

// watchErrors makes the page record all errors of hls.js, and the greatest
// latency while it plays.
const watchErrors = `(() => {
	const page = globalThis.watched = { fatal: [], stalls: 0, latency: 0 };
	const { hls, video } = showfloorPlayer;
	hls.on('hlsError', (_, e) => {
		if (e.fatal) page.fatal.push(e.details);
		if (e.details === 'bufferStalledError') page.stalls++;
	});
	setInterval(() => { if (!video.paused) page.latency = Math.max(page.latency, hls.latency); }, 100);
})()`

// playing opens the player page on a playback URL and waits for moving pictures.
func playing(t *testing.T, s *server, playbackURL string) (context.Context, *browsertest.Log) {
	t.Helper()
	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, 1280, 1000, false)
	browsertest.Run(t, tab, chromedp.Navigate(s.url+"/player?src="+url.QueryEscape(playbackURL)))
	browsertest.WaitFor(t, tab, `showfloorPlayer.hls && showfloorPlayer.video.currentTime > 1`)
	return tab, log
}

// plays waits until the player has played that many seconds more.
func plays(t *testing.T, tab context.Context, seconds string) {
	t.Helper()
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`globalThis.from = showfloorPlayer.video.currentTime; undefined`))
	browsertest.WaitFor(t, tab, `showfloorPlayer.video.currentTime > from + `+seconds)
}

// TestAlonePlayerPageWithLowLatency plays a broadcast on the player page over a take-over by
// another encoder, a reconnect and a pause of the viewer.
func TestAlonePlayerPageWithLowLatency(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	hooks := newSink(t, a, nil)
	stream := a.newStream(api.StreamModeLOWLATENCY, 60)
	first := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)

	tab, log := playing(t, s, a.playback(stream.ID).URL)
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](watchErrors))
	plays(t, tab, "5")
	browsertest.WaitFor(t, tab, lowLatency)
	require.True(t, browsertest.Value[bool](t, tab, `!document.querySelector(".brand").hidden && document.title.includes(" · ")`), "the tenant's brand")
	require.Equal(t, "640 × 360", browsertest.Value[string](t, tab, `document.getElementById("resolution").textContent`))
	require.Equal(t, 1, a.stream(stream.ID).ViewerCount)
	t.Logf("hls.js latency %.2f s, target %.2f s, at most %.2f s, %d stalls",
		browsertest.Value[float64](t, tab, `showfloorPlayer.hls.latency`),
		browsertest.Value[float64](t, tab, `showfloorPlayer.hls.targetLatency`), browsertest.Value[float64](t, tab, `watched.latency`),
		browsertest.Value[int](t, tab, `watched.stalls`))
	browsertest.Screenshot(t, tab, "e2e-player-low-latency")

	// Another encoder takes over; the server disconnects the first one, which exits.
	second := encode(t, target(stream))
	require.NotZero(t, first.wait(t))
	require.Contains(t, first.err.String(), "Another encoder publishes this stream now.")
	plays(t, tab, "4")
	require.Equal(t, api.StreamStatusLIVE, a.stream(stream.ID).Status)

	// The encoder is gone for a moment, within the reconnect window.
	second.kill()
	a.await(stream.ID, api.StreamStatusRECONNECTING)
	third := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	plays(t, tab, "4")
	browsertest.WaitFor(t, tab, lowLatency)
	browsertest.Screenshot(t, tab, "e2e-player-after-reconnect")

	// A viewer who resumes after a pause catches up with the live edge.
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`showfloorPlayer.video.pause()`))
	browsertest.WaitFor(t, tab, `showfloorPlayer.hls.latency > 2 * showfloorPlayer.hls.targetLatency + 3`)
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`showfloorPlayer.video.play(); undefined`))
	browsertest.WaitFor(t, tab, lowLatency)
	plays(t, tab, "1")
	require.Empty(t, browsertest.Value[[]string](t, tab, `watched.fatal`))
	require.Equal(t, []api.EventName{api.EventNameStreamStarted}, hooks.about(stream.ID), "it is one broadcast")

	third.terminate(t)
	a.await(stream.ID, api.StreamStatusRECONNECTING)
	require.Empty(t, log.Outside(s.url))
	require.Empty(t, log.Complaints())
}

func TestPlayerPageWithStandardMode(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeSTANDARD, 0)
	// It ends one picture after the end of a segment, and that picture has no sound.
	encoder := ffmpeg(t, "-re", "-i", sample(t), "-t", "11.96", "-c", "copy", "-f", "flv", target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	tab, log := playing(t, s, a.playback(stream.ID).URL)
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](watchErrors))
	encoder.wait(t)
	browsertest.WaitFor(t, tab, `document.getElementById("message").textContent.includes("The broadcast has ended")`)
	require.Empty(t, browsertest.Value[[]string](t, tab, `watched.fatal`))
	require.Empty(t, log.Outside(s.url))
	require.Empty(t, log.Complaints())
}

func TestPagesAndPorts(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)

	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Run(t, tab, chromedp.Navigate(s.url+"/docs"),
		// The page shows the operations that match.
		chromedp.WaitVisible(chromedp.CSS("#viewer h1")), chromedp.SendKeys(chromedp.CSS("#search"), "createStream"))
	browsertest.WaitFor(t, tab, `document.body.innerText.includes("/v1/me/streams")`)
	browsertest.Screenshot(t, tab, "e2e-docs")
	browsertest.Run(t, tab, chromedp.Navigate(s.url+"/openapi.json"))
	browsertest.WaitFor(t, tab, `JSON.parse(document.body.innerText).openapi === "3.0.3"`)
	require.Empty(t, log.Outside(s.url))
	require.Empty(t, log.Complaints())

	status, metrics := get(t.Context(), t, s.admin+"/metrics")
	require.Equal(t, http.StatusOK, status)
	for _, name := range []string{
		"showfloor_http_request_seconds_bucket", "showfloor_streams_live 0", "showfloor_viewers 0", "showfloor_media_bytes_in_total",
		"showfloor_pool_connections", "go_goroutines", `route="/openapi.json"`,
	} {
		require.Contains(t, metrics, name)
	}
	status, profiles := get(t.Context(), t, s.admin+"/debug/pprof/")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, profiles, "goroutine")
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
		status, body := get(t.Context(), t, s.url+path)
		require.Equal(t, http.StatusNotFound, status, path)
		require.True(t, strings.HasPrefix(body, `{"`), body)
	}
}
