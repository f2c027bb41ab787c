package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
)

// watchPlayer makes the player page record the engine's fatal errors, how often the
// engine was replaced, and the loudest sound since loudest was set to 0. played, frames and
// decoded are the seconds, the pictures and the bytes of sound that all engines together
// have played; a jump isn't played. log has the engines' last events with their times in ms.
const watchPlayer = `(() => {
	const page = (globalThis.watched = { fatal: [], stalls: 0, engines: 0, loudest: 0, played: 0, frames: 0, decoded: 0, log: [] });
	const log = (...words) => {
		page.log.push([Math.round(performance.now()), ...words].join(" "));
		if (page.log.length > 80) page.log.shift();
	};
	const steps = {
		hlsMediaAttached: () => [],
		hlsLevelUpdated: ({ details }) => [details.startSN + "-" + details.endSN, details.live ? "live" : "ended", details.edge],
		hlsFragLoading: ({ frag, part }) => [frag.type, frag.sn, part?.index],
		hlsFragLoaded: ({ frag, part }) => [frag.type, frag.sn, part?.index],
		hlsBufferAppended: ({ type }) => [type, video.buffered.length && video.buffered.end(video.buffered.length - 1)],
		hlsError: (e) => [e.details, e.fatal, e.response?.code, e.error?.message],
	};
	const rises = { time: 0, frames: 0, decoded: 0 };
	const rise = (name, now) => {
		const by = now - rises[name];
		rises[name] = now;
		return Math.max(by, 0);
	};
	const { video } = showfloorPlayer;
	video.addEventListener("error", () => page.fatal.push("media error " + video.error?.code + " " + video.error?.message));
	video.muted = false;
	const sound = new AudioContext();
	const analyser = sound.createAnalyser();
	sound.createMediaElementSource(video).connect(analyser);
	const samples = new Float32Array(analyser.fftSize);
	let known;
	setInterval(() => {
		const { hls } = showfloorPlayer;
		const seconds = rise("time", video.currentTime);
		if (seconds < 1 && !video.seeking) page.played += seconds;
		page.frames += rise("frames", video.getVideoPlaybackQuality().totalVideoFrames);
		page.decoded += rise("decoded", video.webkitAudioDecodedByteCount);
		if (hls && hls !== known) {
			known = hls;
			page.engines++;
			log("engine", page.engines);
			for (const [name, words] of Object.entries(steps)) hls.on(name, (_, e) => log(name, ...words(e)));
			hls.on("hlsError", (_, e) => {
				if (e.fatal) page.fatal.push(e.details + " " + (e.error?.message ?? ""));
				if (e.details === "bufferStalledError") page.stalls++;
			});
		}
		analyser.getFloatTimeDomainData(samples);
		page.loudest = samples.reduce((loudest, s) => Math.max(loudest, Math.abs(s)), page.loudest);
	}, 20);
})(); undefined`

// watcher is a browser on the player page.
type watcher struct {
	t   testing.TB
	tab context.Context
}

// watchInBrowser opens the player page on a playback URL and waits until it plays.
func watchInBrowser(t testing.TB, s *server, playbackURL string) *watcher {
	t.Helper()
	v := &watcher{t: t, tab: browsertest.NewWithDevices(t)}
	t.Cleanup(v.logIfFailed)
	browsertest.Run(t, v.tab, chromedp.Navigate(s.url+"/player?src="+url.QueryEscape(playbackURL)))
	v.waits(`showfloorPlayer.hls && showfloorPlayer.video.currentTime > 1`)
	browsertest.Run(t, v.tab, chromedp.Evaluate[chromedp.Void](watchPlayer))
	v.waits(`watched.engines === 1`)
	return v
}

// logIfFailed logs what the player has, if the test has failed.
func (v *watcher) logIfFailed() {
	if !v.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(v.tab, 10*time.Second) // the page may hang
	defer cancel()
	state, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(() => {
		if (!globalThis.showfloorPlayer) return "not loaded";
		const { video, hls } = showfloorPlayer;
		const quality = video.getVideoPlaybackQuality();
		const details = hls?.latestLevelDetails;
		return JSON.stringify({ ...globalThis.watched, time: video.currentTime, paused: video.paused, readyState: video.readyState,
			buffered: Array.from(video.buffered, (_, i) => [video.buffered.start(i), video.buffered.end(i)]),
			error: video.error?.message, elementFrames: quality.totalVideoFrames, dropped: quality.droppedVideoFrames, latency: hls?.latency,
			edge: details?.edge, lastPart: details?.lastPartSn, endSN: details?.endSN });
	})()`))
	v.t.Logf("the player: %s %v", state, err)
}

func (v *watcher) waits(expression string) {
	v.t.Helper()
	browsertest.WaitFor(v.t, v.tab, expression)
}

// plays waits until the page has played that many seconds more, with sound in the media
// and without a fatal error.
func (v *watcher) plays(seconds int) {
	v.t.Helper()
	browsertest.Run(v.t, v.tab, chromedp.Evaluate[chromedp.Void](`globalThis.from = { ...watched }; undefined`))
	v.waits(fmt.Sprintf(`watched.fatal.length > 0 || (watched.played > from.played + %d && watched.decoded > from.decoded)`, seconds))
	require.Empty(v.t, browsertest.Value[[]string](v.t, v.tab, `watched.fatal`))
}

// hears waits for sound that is louder than silence.
func (v *watcher) hears() {
	v.t.Helper()
	browsertest.Run(v.t, v.tab, chromedp.Evaluate[chromedp.Void](`watched.loudest = 0; undefined`))
	v.waits(`watched.fatal.length > 0 || watched.loudest > 0.01`)
	require.Empty(v.t, browsertest.Value[[]string](v.t, v.tab, `watched.fatal`))
}

// hearsNothing waits for two seconds of silent playback, which is longer than the pauses
// between the beeps of a test's microphone.
func (v *watcher) hearsNothing() {
	v.t.Helper()
	var tries []string
	defer func() {
		if v.t.Failed() {
			v.t.Logf("time, stalls and the loudest sample after each try: %s", strings.Join(tries, ", "))
		}
	}()
	until(v.t, "nothing is heard any more", func() bool {
		browsertest.Run(v.t, v.tab, chromedp.Evaluate[chromedp.Void](`watched.loudest = 0; undefined`))
		v.plays(2)
		loudest := browsertest.Value[float64](v.t, v.tab, `watched.loudest`)
		tries = append(tries, fmt.Sprintf("%.1f s %d %.4f", browsertest.Value[float64](v.t, v.tab, `showfloorPlayer.video.currentTime`),
			browsertest.Value[int](v.t, v.tab, `watched.stalls`), loudest))
		return loudest < 0.001
	})
}

// sees waits for moving pictures.
func (v *watcher) sees() {
	v.t.Helper()
	browsertest.Run(v.t, v.tab, chromedp.Evaluate[chromedp.Void](`globalThis.from = { ...watched }; undefined`))
	v.waits(`watched.fatal.length > 0 || watched.frames > from.frames + 30`)
	require.Empty(v.t, browsertest.Value[[]string](v.t, v.tab, `watched.fatal`))
}

// stayed requires that the page has never replaced its first engine.
func (v *watcher) stayed() {
	v.t.Helper()
	require.Empty(v.t, browsertest.Value[[]string](v.t, v.tab, `watched.fatal`))
	require.Equal(v.t, 1, browsertest.Value[int](v.t, v.tab, `watched.engines`))
	v.t.Logf("%d stalls, latency %.2f s", browsertest.Value[int](v.t, v.tab, `watched.stalls`),
		browsertest.Value[float64](v.t, v.tab, `showfloorPlayer.hls.latency`))
}

// host opens the room page of a stream as a broadcaster.
func host(a *tenant, s *server, stream api.Stream) *person {
	a.t.Helper()
	id, role := "ada", api.ParticipantRoleHost
	token := created(a.CreateSfuTokenWithResponse(a.t.Context(), stream.ID, api.SfuTokenInput{UserID: &id, Role: &role}))(a.t)
	p := open(a.t, s, stream.ID, id, token.Token)
	p.waits(`!document.getElementById("lobby").hidden && document.getElementById("preview").videoWidth > 0`)
	return p
}

// TestAloneViewersStayWhenAHostMutes mutes the microphone and the camera, one after the other
// and both at once. The player must continue with silence and the last picture.
func TestAloneViewersStayWhenAHostMutes(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	ada := host(a, s, stream)
	ada.joins()
	ada.isIn()
	a.await(stream.ID, api.StreamStatusLIVE)
	url := a.playback(stream.ID).URL
	status, playlist := get(t.Context(), t, url)
	require.Equal(t, 200, status)
	require.Contains(t, playlist, "mp4a.40.2", "AAC, which every player decodes, made of the browser's Opus")
	v := watchInBrowser(t, s, url)
	v.hears()

	ada.clicks("[data-control=microphone]")
	v.hearsNothing()
	v.plays(5)
	ada.clicks("[data-control=microphone]")
	v.hears()

	ada.clicks("[data-control=camera]")
	v.plays(6)
	v.hears()
	ada.clicks("[data-control=camera]")
	v.sees()

	ada.clicks("[data-control=microphone]")
	ada.clicks("[data-control=camera]")
	v.hearsNothing()
	v.plays(5)
	ada.clicks("[data-control=camera]")
	v.sees()
	ada.clicks("[data-control=microphone]")
	v.hears()
	v.stayed()
}

// TestAloneAMicrophoneThatIsSwitchedOnLater checks that viewers who are watching already hear it.
func TestAloneAMicrophoneThatIsSwitchedOnLater(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	ada := host(a, s, stream)
	ada.clicks("#lobby-microphone")
	ada.joins()
	ada.isIn()
	a.await(stream.ID, api.StreamStatusLIVE)
	v := watchInBrowser(t, s, a.playback(stream.ID).URL)
	v.hearsNothing()
	ada.clicks("[data-control=microphone]")
	v.hears()
	v.sees()
	v.stayed()
}

// TestAloneAnEncodersSoundStopsAndReturns checks that playback doesn't end, in both modes.
func TestAloneAnEncodersSoundStopsAndReturns(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]api.StreamMode{"low latency": api.StreamModeLOWLATENCY, "standard": api.StreamModeSTANDARD} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, onTestDatabase)
			a := signUp(t, s)
			stream := a.newStream(mode, 0)
			// For 12 s of each 24 s there are no sound packets at all, rather than silent ones. A page
			// that starts late meets the next such pause. Only the pictures are paced: with -re for both, ffmpeg sends
			// no pictures in the pauses either.
			ffmpeg(t, "-re", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000",
				"-filter:a", "volume=4,aselect='lt(mod(t,24),12)'", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60",
				"-c:a", "aac", "-max_interleave_delta", "100000", "-f", "flv", target(stream))
			a.await(stream.ID, api.StreamStatusLIVE)
			v := watchInBrowser(t, s, a.playback(stream.ID).URL)
			v.hears()
			v.hearsNothing()
			v.hears()
			v.plays(4)
			v.stayed()
		})
	}
}

// TestAloneVideoThatStartsLater changes the tracks of a broadcast. The page must continue
// with the other playlist by itself.
func TestAloneVideoThatStartsLater(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	sound := []string{"-re", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000"}
	ffmpeg(t, append(sound, "-filter:a", "volume=4", "-c:a", "aac", "-f", "flv", target(stream))...)
	a.await(stream.ID, api.StreamStatusLIVE)
	v := watchInBrowser(t, s, a.playback(stream.ID).URL)
	v.hears()
	ffmpeg(t, append(sound, "-re", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30", "-filter:a", "volume=4",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60", "-c:a", "aac", "-f", "flv", target(stream))...)
	v.waits(`watched.engines === 2 && showfloorPlayer.video.videoWidth === 640`)
	v.sees()
	v.hears()
}

// TestViewersStayThroughARestart restarts the server within the reconnect window. The
// playlist of the old run must redirect to the new one, and the page must continue by itself.
func TestViewersStayThroughARestart(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 600)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	v := watchInBrowser(t, s, a.playback(stream.ID).URL)
	playlist := browsertest.Value[string](t, v.tab, `showfloorPlayer.hls.levels[0].details.url`)
	s.kill()
	encoder.wait(t)
	s.start(t)
	encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	status, location := redirect(t, playlist)
	require.Equal(t, http.StatusFound, status, playlist)
	require.NotEqual(t, path.Dir(urlOf(t, playlist).Path), path.Dir(urlOf(t, location).Path), "the new run is elsewhere")
	// The segment numbers of the second run begin a minute after those of the first.
	v.waits(`showfloorPlayer.hls?.latestLevelDetails?.startSN > 100 && showfloorPlayer.hls.latency < 8`)
	fatal := browsertest.Value[[]string](t, v.tab, `watched.fatal.splice(0)`)
	v.plays(5)
	v.sees()
	v.hears()
	t.Logf("%d engines, fatal errors: %v", browsertest.Value[int](t, v.tab, `watched.engines`), fatal)
}

// TestAPlayerThatLoadsNoMediaStartsAgain stops the loading of media but not of the playlist.
func TestAPlayerThatLoadsNoMediaStartsAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	v := watchInBrowser(t, s, a.playback(stream.ID).URL)
	browsertest.Run(t, v.tab, chromedp.Evaluate[chromedp.Void](`showfloorPlayer.hls.streamController.stopLoad(); undefined`))
	v.waits(`watched.engines === 2`)
	v.plays(5)
	v.sees()
}

// redirect returns the status and the Location of a GET without following it.
func redirect(t *testing.T, from string) (status int, location string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, from, nil)
	require.NoError(t, err)
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, response.Header.Get("Location")
}

func urlOf(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}
