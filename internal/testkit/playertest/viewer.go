// Package playertest plays media in Chromium with hls.js and dash.js.
package playertest

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/moduleroot"
	"showfloor/internal/testkit/recordingtest"
)

// page has a video element, and functions to open a playlist with hls.js and a manifest with dash.js.
const page = `<!doctype html><video id="video" muted style="width:160px"></video><script src="/dash.js"></script><script type="module">
import Hls from "/hls.mjs";
globalThis.video = document.getElementById("video");
globalThis.errors = [];
video.onerror = () => errors.push("media " + video.error.code + " " + video.error.message);
globalThis.openPlaylist = (url) => {
	globalThis.hls = new Hls({ maxBufferLength: 8 });
	hls.on("hlsError", (_, e) => { if (e.fatal) errors.push(e.details + " " + (e.error?.message ?? "")); });
	hls.loadSource(url);
	hls.attachMedia(video);
};
globalThis.openManifest = (url, seconds, settings) => {
	globalThis.dash?.destroy();
	globalThis.dash = dashjs.MediaPlayer().create();
	if (settings) dash.updateSettings(settings);
	dash.on("error", (e) => errors.push("dash.js " + e.error.code + " " + e.error.message));
	dash.initialize(video, url, false, seconds);
};
globalThis.ready = true;
</script>`

// Viewer is a tab with a player.
type Viewer struct {
	Tab context.Context

	t testing.TB
}

// Open opens a page of the server at url. pages are the server's; the page and the players are added to them.
func Open(t testing.TB, pages *http.ServeMux, url string) *Viewer {
	t.Helper()
	pages.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	})
	for path, file := range map[string][]string{
		"/hls.mjs": {"web", "node_modules", "hls.js", "dist", "hls.mjs"},
		"/dash.js": {"web", "node_modules", "dashjs", "dist", "modern", "umd", "dash.all.min.js"},
	} {
		pages.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, moduleroot.Path(t, file...)) })
	}
	v := &Viewer{browsertest.New(t), t}
	browsertest.Run(t, v.Tab, chromedp.Navigate(url+"/page"))
	v.Waits(`globalThis.ready`)
	return v
}

// Waits waits until an expression is true. The player must not report errors.
func (v *Viewer) Waits(expression string) {
	v.t.Helper()
	browsertest.WaitFor(v.t, v.Tab, `globalThis.errors?.length > 0 || (`+expression+`)`)
	require.Empty(v.t, browsertest.Value[[]string](v.t, v.Tab, `errors`))
}

// Does runs a script.
func (v *Viewer) Does(script string) {
	v.t.Helper()
	browsertest.Run(v.t, v.Tab, chromedp.Evaluate[chromedp.Void](script+"; undefined"))
}

// Seeks sets the time and waits until the picture shows a second.
func (v *Viewer) Seeks(at float64, second int) {
	v.t.Helper()
	v.Does(fmt.Sprintf(`video.pause(); video.currentTime = %f`, at))
	v.Shows(at, second)
}

// Shows waits until the player is at a time and the picture shows a second; see recordingtest.Clock.
func (v *Viewer) Shows(at float64, second int) {
	v.t.Helper()
	defer func() {
		if v.t.Failed() {
			v.t.Log(browsertest.Value[string](v.t, v.Tab, `JSON.stringify([video.currentTime, video.readyState, video.seeking, `+
				recordingtest.Clock("video")+`, Array.from(video.buffered, (_, i) => [video.buffered.start(i), video.buffered.end(i)])])`))
		}
	}()
	v.Waits(fmt.Sprintf(`!video.seeking && video.readyState >= 2 && Math.abs(video.currentTime - %f) < 0.2 && %s === %d`,
		at, recordingtest.Clock("video"), second))
}

// PlaysToTheEnd plays from a time to the end. dash.js sometimes pauses shortly before it on a busy machine: then it plays on, as a viewer
// would.
func (v *Viewer) PlaysToTheEnd(from float64) {
	v.t.Helper()
	v.t.Cleanup(func() {
		if v.t.Failed() {
			v.t.Log(chromedp.Run(v.Tab, chromedp.Evaluate[string](`JSON.stringify({ time: video.currentTime, duration: video.duration,
				paused: video.paused, seeking: video.seeking, readyState: video.readyState, rate: video.playbackRate,
				buffered: Array.from(video.buffered, (_, i) => [video.buffered.start(i), video.buffered.end(i)]) })`)))
		}
	})
	v.Does(fmt.Sprintf(`video.currentTime = %f; video.playbackRate = 4;
		video.onpause = () => { if (!video.ended) video.play(); };
		video.play()`, from))
	v.Waits(`video.ended`)
}
