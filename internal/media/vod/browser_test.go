package vod_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/vod"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/moduleroot"
	"showfloor/internal/testkit/recordingtest"
)

// page has a video element, and a function to open a playlist with hls.js.
const page = `<!doctype html><video id="video" muted style="width:160px"></video><script type="module">
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
globalThis.ready = true;
</script>`

// viewer is a tab with the page.
type viewer struct {
	t   testing.TB
	tab context.Context
}

func (s *theatre) viewer() *viewer {
	s.t.Helper()
	s.pages.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	})
	s.pages.HandleFunc("/hls.mjs", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, moduleroot.Path(s.t, "web", "node_modules", "hls.js", "dist", "hls.mjs"))
	})
	v := &viewer{s.t, browsertest.New(s.t)}
	browsertest.Run(s.t, v.tab, chromedp.Navigate(s.http.URL+"/page"))
	v.waits(`globalThis.ready`)
	return v
}

func (v *viewer) waits(expression string) {
	v.t.Helper()
	browsertest.WaitFor(v.t, v.tab, `errors.length > 0 || (`+expression+`)`)
	require.Empty(v.t, browsertest.Value[[]string](v.t, v.tab, `errors`))
}

func (v *viewer) does(script string) {
	v.t.Helper()
	browsertest.Run(v.t, v.tab, chromedp.Evaluate[chromedp.Void](script+"; undefined"))
}

// seeks sets the time and waits until the picture shows a second.
func (v *viewer) seeks(at float64, second int) {
	v.t.Helper()
	v.does(fmt.Sprintf(`video.pause(); video.currentTime = %f`, at))
	v.shows(at, second)
}

// shows waits until the player is at a time and the picture shows a second.
func (v *viewer) shows(at float64, second int) {
	v.t.Helper()
	defer func() {
		if v.t.Failed() {
			v.t.Log(browsertest.Value[string](v.t, v.tab, `JSON.stringify([video.currentTime, video.readyState, video.seeking, `+
				recordingtest.Clock("video")+`, Array.from(video.buffered, (_, i) => [video.buffered.start(i), video.buffered.end(i)])])`))
		}
	}()
	v.waits(fmt.Sprintf(`!video.seeking && video.readyState >= 2 && Math.abs(video.currentTime - %f) < 0.2 && %s === %d`,
		at, recordingtest.Clock("video"), second))
}

// playsToTheEnd plays from a time to the end.
func (v *viewer) playsToTheEnd(from float64) {
	v.t.Helper()
	v.does(fmt.Sprintf(`video.currentTime = %f; video.playbackRate = 4; video.play()`, from))
	v.waits(`video.ended`)
}

// eventfulParts is a recording with B-frames, a changed size, and a restart whose timestamps continue
// or restart.
func eventfulParts(continued bool) []recordingtest.Part {
	return []recordingtest.Part{
		{Clip: recordingtest.Clip{Seconds: 10, BFrames: 2}, Bare: true},
		{Clip: recordingtest.Clip{Seconds: 9, From: 10, Size: "320x180"}, Bare: true},
		{Clip: recordingtest.Clip{Seconds: 9, From: 19}, NewTake: true, Continued: continued, Bare: true},
	}
}

func TestHLSPlaysAndSeeks(t *testing.T) {
	t.Parallel()
	for name, continued := range map[string]bool{"timestamps continue": true, "timestamps restart": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTheatre(t, vod.Config{})
			m := s.record("rec_1", eventfulParts(continued)...)
			v := s.viewer()
			v.does(fmt.Sprintf(`openPlaylist(%q)`, s.path("rec_1", "index.m3u8")))
			v.waits(`video.readyState >= 2`)
			require.InDelta(t, m.Length().Seconds(), browsertest.Value[float64](t, v.tab, `video.duration`), 0.05)
			for _, at := range []int{25, 3, 12, 21, 18, 0} {
				v.seeks(float64(at)+0.6, at)
			}
			v.playsToTheEnd(6)
		})
	}
}

// TestHLSPlaysOverGaps: parts without pictures don't end playback, and the pictures after them are
// at their time. hls.js also leaves out the sound of such a part.
func TestHLSPlaysOverGaps(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	s.record("rec_1",
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 8}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 4, From: 8, Blind: true}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 8, From: 12}})
	v := s.viewer()
	v.does(fmt.Sprintf(`openPlaylist(%q)`, s.path("rec_1", "index.m3u8")))
	v.waits(`video.readyState >= 2`)
	v.does(`video.currentTime = 6; video.play()`)
	v.waits(`video.currentTime > 13 && !video.seeking && video.readyState >= 2`)
	v.does(`video.pause()`)
	at := browsertest.Value[float64](t, v.tab, `video.currentTime`)
	require.InDelta(t, at, browsertest.Value[float64](t, v.tab, recordingtest.Clock("video")), 1.1)
	v.playsToTheEnd(at)
}

// TestHLSFollowsARunningRecording: it is played from its start, grows, and ends.
func TestHLSFollowsARunningRecording(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	whole := s.record("rec_1", eventfulParts(false)...)
	running := whole
	running.Ready, running.Segments = false, whole.Segments[:3]
	s.archive.set("rec_1", running)
	v := s.viewer()
	v.does(fmt.Sprintf(`openPlaylist(%q)`, s.path("rec_1", "index.m3u8")))
	v.waits(`video.readyState >= 2`)
	v.seeks(1.5, 1)
	s.archive.set("rec_1", whole)
	v.waits(fmt.Sprintf(`hls.latestLevelDetails?.live === false && video.duration > %f`, whole.Length().Seconds()-0.5))
	v.seeks(25.6, 25)
}

// TestTheMP4PlaysInABrowser: over a changed size and a restart, with ranges.
func TestTheMP4PlaysInABrowser(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	m := s.record("rec_1", eventfulParts(false)...)
	dir := filepath.Join(s.dir, "recordings", "rec_1")
	f, err := mp4file.Prepare(t.Context(), dirFiles(dir), &m)
	require.NoError(t, err)
	out, err := os.Create(filepath.Join(dir, "video.mp4"))
	require.NoError(t, err)
	require.NoError(t, f.WriteTo(t.Context(), out))
	require.NoError(t, out.Close())
	v := s.viewer()
	v.does(fmt.Sprintf(`video.src = %q`, s.path("rec_1", "video.mp4")))
	v.waits(`video.readyState >= 2`)
	require.InDelta(t, m.Length().Seconds(), browsertest.Value[float64](t, v.tab, `video.duration`), 0.001)
	for _, at := range []int{25, 3, 12, 21, 18, 0} {
		v.seeks(float64(at)+0.6, at)
	}
	v.playsToTheEnd(6)
}
