package e2e

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

const (
	byHLS    = `globalThis.showfloorPlayback?.kind === "hls"`
	byWebRTC = `globalThis.showfloorPlayback?.kind === "webrtc"`
	// firstFrameMs is how long after the link's opening the first frame was on the screen.
	firstFrameMs = `globalThis.firstFrame ?? 0`
)

// observe runs in the page before its scripts. It makes the page try WebRTC a second after the first frame, and keeps the page's
// peer connections, which `blocked` closes. It notes when the first frame is shown. After that it counts in `gaps` the frames of the
// screen with neither a picture of the stream nor the held one. A video element shows the last picture while it seeks in the same
// source; it shows nothing from the load of another source (event "emptied", readyState 0) to that source's first picture.
const observe = `
	Math.random = () => 0;
	globalThis.peers = [];
	globalThis.RTCPeerConnection = class extends RTCPeerConnection {
		constructor(...args) {
			super(...args);
			peers.push(this);
			if (globalThis.blocked) setTimeout(() => this.close());
		}
	};
	globalThis.gaps = 0;
	let picture = false;
	document.addEventListener("emptied", () => { picture = false; }, true);
	(function look() {
		const video = document.querySelector("video");
		if (!video?.readyState) picture = false;
		else if (video.readyState > 1 && video.videoWidth > 0) picture = true;
		if (picture) globalThis.firstFrame ??= performance.now();
		else if (globalThis.firstFrame && document.querySelector(".held-picture")?.hidden !== false) gaps++;
		requestAnimationFrame(look);
	})();`

// listen keeps the energy of the sound that the page's peer connections have received.
const listen = `setInterval(async () => {
	const reports = await Promise.all(peers.map((one) => one.getStats()));
	const sounds = reports.flatMap((one) => [...one.values()]).filter(({ kind, type }) => kind === "audio" && type === "inbound-rtp");
	globalThis.energy = sounds.reduce((sum, one) => sum + (one.totalAudioEnergy ?? 0), 0);
}, 500)`

// encodeForRooms publishes the sample in real time without B-frames, which browsers can't decode by WebRTC.
func encodeForRooms(t *testing.T, target string) *process {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rooms.flv")
	require.Zero(t, ffmpeg(t, "-t", "20", "-i", clip(t), "-vf", "scale=640:-2", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "30",
		"-c:a", "copy", path).wait(t))

	return ffmpeg(t, "-re", "-stream_loop", "-1", "-i", path, "-c", "copy", "-f", "flv", target)
}

// watches opens the shopping page as a viewer.
func (a *tenant) watches(t *testing.T, s *server, streamID, user string) *customer {
	t.Helper()
	c := &customer{watcher{t, browsertest.New(t)}}
	browsertest.Look(t, c.tab, 390, 844, true)
	c.runsBefore(observe)
	browsertest.Run(t, c.tab, chromedp.Navigate(s.url+"/scenarios/shopping/?room="+streamID+"&token="+a.ticket(streamID, user, user, api.ParticipantRoleViewer)))

	return c
}

// runsBefore runs a script in each page before its own scripts.
func (c *customer) runsBefore(script string) {
	c.t.Helper()
	_, err := chromedp.Call(c.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(c.t, err)
}

// moves waits until the picture has moved for some seconds.
func (c *customer) moves() {
	c.t.Helper()
	browsertest.Run(c.t, c.tab, chromedp.Evaluate[chromedp.Void](`globalThis.from = document.querySelector("video").getVideoPlaybackQuality().totalVideoFrames; undefined`))
	c.waits(`document.querySelector("video").getVideoPlaybackQuality().totalVideoFrames > from + 40`)
}

func does(t *testing.T, tab context.Context, script string) {
	t.Helper()
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](script+"; undefined"))
}

// TestAloneShoppingPagePlaysWebRTC: the page begins with HLS, changes to WebRTC, and returns to HLS when no frames arrive any more.
func TestAloneShoppingPagePlaysWebRTC(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 60)
	encodeForRooms(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	until(t, "the codec is known", func() bool { return a.stream(stream.ID).Health.Fps > 0 })
	c := a.watches(t, s, stream.ID, "bo")
	log := browsertest.Watch(t, c.tab)

	flowtest.Step(t, "begins with HLS", func(t *testing.T) {
		c.t = t
		c.waits(`document.querySelector("video")?.readyState > 1 && ` + byHLS)
		c.waits(`showfloorPlayback.latency > 0`)
		does(t, c.tab, `document.querySelector("video").muted = true`)
		t.Logf("first frame after %.0f ms, HLS is %.2f s behind", browsertest.Value[float64](t, c.tab, firstFrameMs),
			browsertest.Value[float64](t, c.tab, `showfloorPlayback.latency`))
	})
	flowtest.Step(t, "changes to WebRTC", func(t *testing.T) {
		c.t = t
		c.waits(byWebRTC + ` && showfloorPlayback.frames > 30`)
		c.moves()
		require.True(t, browsertest.Value[bool](t, c.tab, `document.querySelector("video").muted`), "the sound stays off")
		c.reads("Sound on")
		c.presses("Sound on")
		c.waits(`document.querySelector("video").srcObject?.getAudioTracks().some((one) => !one.muted)`)
		does(t, c.tab, listen)
		c.waits(`globalThis.energy > 0`)
		c.waits(`showfloorPlayback.latency > 0 && showfloorPlayback.latency < 1`)
		t.Logf("WebRTC is %.3f s behind", browsertest.Value[float64](t, c.tab, `showfloorPlayback.latency`))
		require.Equal(t, 1, browsertest.Value[int](t, c.tab, `performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/rooms.js")).length`))
		c.looks("webrtc")
		until(t, "one viewer is counted once", func() bool { return a.stream(stream.ID).ViewerCount == 1 })
	})
	flowtest.Step(t, "returns to HLS", func(t *testing.T) {
		c.t = t
		does(t, c.tab, `globalThis.blocked = true; peers.forEach((one) => one.close())`) // the server offers another connection, which is closed too
		c.waits(byHLS)
		c.moves()
		c.waits(`document.querySelector(".held-picture").hidden`)
		require.False(t, browsertest.Value[bool](t, c.tab, `document.querySelector("video").muted`), "the sound stays on")
		t.Logf("%d frames of the screen were without a picture", browsertest.Value[int](t, c.tab, `gaps`))
		require.LessOrEqual(t, browsertest.Value[int](t, c.tab, `gaps`), 2)
	})
	require.Empty(t, log.Outside(s.url))
}

// TestAloneShoppingPageAtTheLimitOfWebRTC: a server sends WebRTC to one viewer of a tenant at a time. The viewer of the tenant's
// second show is refused, watches by HLS without a break, and gets WebRTC when the first viewer has closed the page.
func TestAloneShoppingPageAtTheLimitOfWebRTC(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase, set("SFU_MAX_VIEWERS", "2"))
	a := signUp(t, s)
	var pages [2]*customer
	for i := range pages {
		stream := a.newStream(api.StreamModeLOWLATENCY, 0)
		encodeForRooms(t, target(stream))
		a.await(stream.ID, api.StreamStatusLIVE)
		until(t, "the codec is known", func() bool { return a.stream(stream.ID).Health.Fps > 0 })
		c := &customer{watcher{t, browsertest.New(t)}}
		pages[i] = c
		// A refused page waits for 5 minutes; here, for a second.
		c.runsBefore(observe + `const later = setTimeout; globalThis.refusals = 0;
			globalThis.setTimeout = (f, ms, ...more) => { if (ms === 300_000) refusals++; return later(f, ms === 300_000 ? 1000 : ms, ...more); };`)
		browsertest.Run(t, c.tab, chromedp.Navigate(s.url+"/scenarios/shopping/?room="+stream.ID+"&token="+a.ticket(stream.ID, "bo", "bo", api.ParticipantRoleViewer)))
		c.waits(`document.querySelector("video")?.readyState > 1 && showfloorPlayback.latency > 0`)
		if i == 0 {
			c.waits(byWebRTC)
		}
	}
	first, second := pages[0], pages[1]
	second.waits(`refusals >= 2`)
	require.True(t, browsertest.Value[bool](t, second.tab, byHLS+` && showfloorPlayback.failures === 0`))
	second.moves()
	require.Zero(t, browsertest.Value[int](t, second.tab, `gaps`))
	require.True(t, browsertest.Value[bool](t, first.tab, byWebRTC))
	browsertest.Run(t, first.tab, chromedp.Navigate("about:blank"))
	second.waits(byWebRTC + ` && showfloorPlayback.frames > 30`)
	second.moves()
}

// TestShoppingPageStaysWithHLS: a page plays HLS where WebRTC doesn't work.
func TestShoppingPageStaysWithHLS(t *testing.T) {
	t.Parallel()
	t.Run("media port out of reach", func(t *testing.T) {
		t.Parallel()
		s := serve(t, onTestDatabase, set("SFU_EXTERNAL_IPS", "127.0.0.2"))
		a := signUp(t, s)
		stream := a.newStream(api.StreamModeLOWLATENCY, 0)
		encodeForRooms(t, target(stream))
		a.await(stream.ID, api.StreamStatusLIVE)
		until(t, "the codec is known", func() bool { return a.stream(stream.ID).Health.Fps > 0 })
		c := a.watches(t, s, stream.ID, "bo")
		c.waits(`globalThis.showfloorPlayback?.failures === 1`)
		require.True(t, browsertest.Value[bool](t, c.tab, byHLS))
		require.NotEmpty(t, browsertest.Value[int](t, c.tab, `peers.length`))
		c.moves()
	})
	t.Run("B-frames", func(t *testing.T) {
		t.Parallel()
		s := serve(t, onTestDatabase)
		a := signUp(t, s)
		stream := a.newStream(api.StreamModeLOWLATENCY, 0)
		encode(t, target(stream))
		a.await(stream.ID, api.StreamStatusLIVE)
		until(t, "the B-frames are noticed", func() bool { return len(a.stream(stream.ID).Health.Notices) > 0 })
		pause(t, time.Second) // a show is read once a second
		c := a.watches(t, s, stream.ID, "bo")
		c.waits(`document.querySelector("video")?.currentTime > 8`)
		require.True(t, browsertest.Value[bool](t, c.tab, byHLS))
		require.Zero(t, browsertest.Value[int](t, c.tab, `peers.length`), "no attempt")
	})
}
