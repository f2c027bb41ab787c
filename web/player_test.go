package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// runFFmpeg runs ffmpeg in a folder to its end.
func runFFmpeg(t *testing.T, folder, arguments string) {
	t.Helper()

	ffmpeg := exec.CommandContext(t.Context(), "ffmpeg", strings.Fields("-hide_banner -loglevel error -nostdin "+arguments)...)
	ffmpeg.Dir = folder
	out, err := ffmpeg.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// newRecording makes a recording of 30 s in two qualities, with captions, a storyboard and chapters. Each second has another
// cue: "second 7". It returns the recording's folder.
func newRecording(t *testing.T) string {
	t.Helper()

	const length = 30
	folder := t.TempDir()
	for _, size := range []string{"640x360", "320x180"} {
		_, height, _ := strings.Cut(size, "x")
		runFFmpeg(t, folder, `-f lavfi -i testsrc2=size=`+size+`:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 30
			-c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 50 -b:v 400k -c:a aac
			-f hls -hls_time 2 -hls_playlist_type vod -hls_segment_filename `+height+`-%d.ts `+height+`.m3u8`)
	}
	runFFmpeg(t, folder, `-i 360.m3u8 -vf fps=1/2,scale=160:90,tile=5x3 -frames:v 1 storyboard-1.jpg`)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	var board, captions strings.Builder
	board.WriteString("WEBVTT\n")
	captions.WriteString("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:126000,LOCAL:00:00:00.000\n")
	for at := range length {
		fmt.Fprintf(&captions, "\n00:%02d.000 --> 00:%02d.900\nsecond %d\n", at, at, at)
		if tile := at / 2; at%2 == 0 {
			fmt.Fprintf(&board, "\n00:00:%02d.000 --> 00:00:%02d.000\nstoryboard-1.jpg#xywh=%d,%d,160,90\n", at, at+2, tile%5*160, tile/5*90)
		}
	}
	write("storyboard.vtt", board.String())
	write("captions.vtt", captions.String())
	write("captions.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:30\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:30,\ncaptions.vtt\n#EXT-X-ENDLIST\n")
	write("chapters.json", `[{"chapter":1,"start-time":4,"duration":11,"titles":[{"language":"und","title":"A red <b>cup</b>"}]},
		{"chapter":2,"start-time":15,"duration":15,"titles":[{"language":"und","title":"A blue plate"}]}]`)
	write("index.m3u8", `#EXTM3U
#EXT-X-VERSION:8
#EXT-X-SESSION-DATA:DATA-ID="com.showfloor.storyboard",URI="storyboard.vtt"
#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.chapters",URI="chapters.json"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="captions",NAME="English",LANGUAGE="en",AUTOSELECT=YES,URI="captions.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=640x360,CODECS="avc1.42c01e,mp4a.40.2",SUBTITLES="captions"
360.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=320x180,CODECS="avc1.42c00d,mp4a.40.2",SUBTITLES="captions"
180.m3u8
`)

	return folder
}

// viewer is a tab on the player page.
type viewer struct {
	t   *testing.T
	tab context.Context
}

func (v *viewer) waits(expression string) {
	v.t.Helper()
	browsertest.WaitFor(v.t, v.tab, expression)
}

func (v *viewer) does(script string) {
	v.t.Helper()
	browsertest.Run(v.t, v.tab, chromedp.Evaluate[chromedp.Void](script+"; undefined"))
}

// presses sends keys, wherever the focus is.
func (v *viewer) presses(keys string) {
	v.t.Helper()
	browsertest.Run(v.t, v.tab, chromedp.KeyEvent(keys))
}

// logsState logs the state of video and hls.js if the test has failed.
func (v *viewer) logsState() {
	if v.t.Failed() {
		v.t.Log("player:", browsertest.Value[string](v.t, v.tab, `(() => {
			const { video, hls } = showfloorPlayer;
			const ranges = [...Array(video.buffered.length).keys()].map((i) => [video.buffered.start(i), video.buffered.end(i)]);
			return JSON.stringify({ paused: video.paused, ended: video.ended, at: video.currentTime, height: video.videoHeight, ranges,
				levels: hls.levels.map((one) => one.height), current: hls.currentLevel, load: hls.loadLevel, next: hls.nextLevel,
				focus: document.activeElement?.id }); })()`))
	}
}

// is waits until the position is within half a second of a time.
func (v *viewer) is(at float64) {
	v.t.Helper()
	v.waits(fmt.Sprintf(`!showfloorPlayer.video.seeking && Math.abs(showfloorPlayer.video.currentTime - %f) < 0.5`, at))
}

// drags presses the mouse on a part of the seek bar (0 is its beginning, 1 its end), drags it to another part, calls look, and
// releases it. A preview is also shown without the button, but not in a headless Chromium, which has no mouse (hover: none).
func (v *viewer) drags(from, to float64, look func()) {
	v.t.Helper()
	box := browsertest.Value[[]float64](v.t, v.tab, `(() => {
		const box = document.getElementById("seek").shadowRoot.getElementById("range").getBoundingClientRect();
		return [box.left, box.top + box.height / 2, box.width]; })()`)
	at := func(part float64) (x, y float64) { return box[0] + part*box[2], box[1] }
	x, y := at(from)
	browsertest.Run(v.t, v.tab, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft))
	x, y = at(to)
	browsertest.Run(v.t, v.tab, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x-2, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y, chromedp.ButtonLeft))
	look()
	browsertest.Run(v.t, v.tab, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x, y, chromedp.ButtonLeft))
}

// chooses clicks an entry of the settings, such as "1.5x" below "speed".
func (v *viewer) chooses(item, entry string) {
	v.t.Helper()
	browsertest.Run(v.t, v.tab, chromedp.Click(chromedp.CSS("#settings-button")))
	v.waits(`!document.getElementById("settings").hidden`)
	browsertest.Run(v.t, v.tab, chromedp.Click(chromedp.CSS("#"+item)))
	// The settings menu may still have moved at the click.
	v.waits(fmt.Sprintf(`(() => {
		const menu = document.querySelector("#%[1]s [slot=submenu]");
		if (menu.hidden) document.getElementById("%[1]s").click();
		const entries = menu.shadowRoot.querySelectorAll("media-chrome-menu-item");
		const entry = [...entries].find((one) => one.textContent.trim().startsWith("%[2]s"));
		if (!entry?.checkVisibility({ visibilityProperty: true })) return false;
		entry.click();
		return true; })()`, item, entry))
	v.does(`if (!document.getElementById("settings").hidden) document.getElementById("settings-button").click()`)
	v.waits(`document.getElementById("settings").hidden`)
}

// barriers checks the page with axe in both sizes.
func (v *viewer) barriers(name string) {
	v.t.Helper()
	for _, a := range browsertest.Appearances(deskWidth, deskHeight) {
		a.Apply(v.t, v.tab)
		require.Empty(v.t, browsertest.Barriers(v.t, v.tab), a.Name)
		browsertest.Screenshot(v.t, v.tab, name+"-"+a.Name)
	}
}

func TestPlayerPlaysARecording(t *testing.T) {
	t.Parallel()

	origin := serve(t, map[string]http.HandlerFunc{
		"/hls/": http.StripPrefix("/hls/", http.FileServer(http.Dir(newRecording(t)))).ServeHTTP,
	})
	v := &viewer{t, browsertest.New(t)}
	log := browsertest.Watch(t, v.tab)
	browsertest.Look(t, v.tab, deskWidth, deskHeight, false)
	browsertest.Run(t, v.tab, chromedp.Navigate(origin+"/player?src=/hls/index.m3u8"))
	v.waits(`showfloorPlayer.video.currentTime > 0.5`)
	v.waits(`document.getElementById("time").textContent.endsWith("/ 0:30")`)
	require.True(t, browsertest.Value[bool](t, v.tab, `document.getElementById("edge").hidden`))

	// Keys work wherever the focus is.
	v.presses("k")
	v.waits(`showfloorPlayer.video.paused`)
	v.presses(kb.Home)
	v.is(0)
	v.presses("l")
	v.is(10)
	v.presses(kb.ArrowRight)
	v.is(15)
	v.presses("j")
	v.is(5)
	v.presses(kb.ArrowLeft)
	v.is(0)
	v.presses(kb.End)
	v.is(30)
	v.does(`document.getElementById("seek").focus()`)
	v.presses(kb.Home)
	v.is(0)
	muted := browsertest.Value[bool](t, v.tab, `showfloorPlayer.video.muted`)
	v.presses("m")
	v.waits(fmt.Sprintf(`showfloorPlayer.video.muted === %v`, !muted))
	v.presses(">")
	v.waits(`showfloorPlayer.video.playbackRate === 1.25`)
	v.presses("?")
	v.waits(`document.getElementById("keys").open`)
	v.presses("?")

	// The bar: a picture and the chapter at the mouse, and a click.
	v.drags(0.2, 0.75, func() {
		v.waits(`(() => {
			const thumbnail = document.querySelector("media-preview-thumbnail");
			const picture = thumbnail.shadowRoot.querySelector("img");
			return picture.naturalWidth === 800 && thumbnail.getAttribute("mediapreviewcoords") === "160 180 160 90" &&
				thumbnail.getBoundingClientRect().width > 100 && getComputedStyle(thumbnail).visibility === "visible"; })()`)
		v.waits(`["0:22", "0:23"].includes(document.getElementById("preview").textContent)`)
		v.waits(`document.querySelector("media-preview-chapter-display").shadowRoot.textContent.includes("A blue plate")`)
		v.waits(`getComputedStyle(document.getElementById("seek").shadowRoot.querySelector("[part~=preview-box]")).opacity === "1"`)
		browsertest.Screenshot(t, v.tab, "player-recording-preview")
	})
	v.is(22.5)

	// Chapters.
	require.Equal(t, []string{"0:04 A red <b>cup</b>", "0:15 A blue plate"}, browsertest.Value[[]string](t, v.tab,
		`[...document.querySelectorAll("#chapter-list button")].map((one) => one.textContent)`))
	v.does(`document.querySelector("#chapter-list button").click()`)
	v.waits(`!showfloorPlayer.video.paused && showfloorPlayer.video.currentTime > 4 && showfloorPlayer.video.currentTime < 8`)
	v.presses(" ")
	v.waits(`showfloorPlayer.video.paused`)

	// Speed, quality and captions.
	v.chooses("speed", "1.5x")
	v.waits(`showfloorPlayer.video.playbackRate === 1.5`)
	v.chooses("quality", "180p")
	v.waits(`!showfloorPlayer.hls.autoLevelEnabled`)
	v.does(`showfloorPlayer.video.play()`)
	defer v.logsState()
	v.waits(`showfloorPlayer.video.videoHeight === 180`)
	v.presses("k")
	v.does(`showfloorPlayer.video.currentTime = 20.5`)
	v.chooses("captions", "English")
	v.waits(`[...showfloorPlayer.video.textTracks].some((one) => one.mode === "showing" && one.activeCues?.[0]?.text === "second 20")`)
	browsertest.Screenshot(t, v.tab, "player-recording-captions")
	v.presses("c")
	v.waits(`![...showfloorPlayer.video.textTracks].some((one) => one.mode === "showing")`)
	v.presses("c")
	v.waits(`[...showfloorPlayer.video.textTracks].some((one) => one.mode === "showing")`)

	v.barriers("player-recording")
	v.does(`document.getElementById("settings-button").click(); document.getElementById("keys").open = true`)
	v.waits(`!document.getElementById("settings").hidden`)
	v.barriers("player-recording-settings")
	require.Empty(t, log.Outside(origin))
	require.Empty(t, log.Complaints())
}

// broadcast is a live stream with a DVR playlist, as players see it: a new segment of one second each second. The DVR
// playlist ends three segments earlier than the live one.
type broadcast struct {
	folder string
	start  time.Time
}

const (
	onAirBefore = 40  // segments at the start of a test
	segmentsMax = 600 // then the broadcast ends
	liveWindow  = 6
	dvrDelay    = 3
)

func newBroadcast(t *testing.T) *broadcast {
	t.Helper()

	b := &broadcast{folder: t.TempDir()}
	runFFmpeg(t, b.folder, `-f lavfi -i testsrc2=size=320x180:rate=10 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 600
		-c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 10 -b:v 200k -c:a aac
		-f hls -hls_time 1 -hls_list_size 0 -hls_segment_filename %d.ts all.m3u8`)
	b.start = time.Now().Add(-onAirBefore * time.Second)

	return b
}

// ServeHTTP serves live.m3u8, dvr.m3u8 and the segments below /hls/.
func (b *broadcast) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	name := path.Base(r.URL.Path)
	variant, isIndex := map[string]string{"live.m3u8": "live-media.m3u8", "dvr.m3u8": "dvr-media.m3u8"}[name]
	end := min(int(time.Since(b.start)/time.Second), segmentsMax)
	switch {
	case isIndex:
		fmt.Fprintf(w, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=400000,RESOLUTION=320x180\n%s\n", variant)
	case name == "live-media.m3u8":
		b.list(w, max(end-liveWindow, 0), end, "")
	case name == "dvr-media.m3u8":
		b.list(w, 0, end-dvrDelay, "#EXT-X-PLAYLIST-TYPE:EVENT\n")
	default:
		http.ServeFile(w, r, filepath.Join(b.folder, name))
	}
}

func (b *broadcast) list(w io.Writer, from, to int, kind string) {
	fmt.Fprintf(w, "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:%d\n%s", from, kind)
	for i := from; i < to; i++ {
		at := b.start.Add(time.Duration(i) * time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(w, "#EXT-X-PROGRAM-DATE-TIME:%s\n#EXTINF:1,\n%d.ts\n", at, i)
	}
	if to >= segmentsMax-dvrDelay {
		fmt.Fprintln(w, "#EXT-X-ENDLIST")
	}
}

// plays waits until the page plays a playlist, and returns the seconds from the start of the broadcast.
func (v *viewer) plays(b *broadcast, playlist string) float64 {
	v.t.Helper()
	v.waits(fmt.Sprintf(`showfloorPlayer.hls?.url.endsWith("%s.m3u8") && !showfloorPlayer.video.paused && !showfloorPlayer.video.seeking &&
		showfloorPlayer.video.readyState >= 3 && showfloorPlayer.hls.playingDate !== null`, playlist))

	return browsertest.Value[float64](v.t, v.tab, `showfloorPlayer.hls.playingDate.getTime()`)/1000 - float64(b.start.UnixMilli())/1000
}

// goesBack waits until the page plays the DVR playlist within some seconds of a second of the broadcast.
func (v *viewer) goesBack(b *broadcast, second, within float64) {
	v.t.Helper()
	v.waits(fmt.Sprintf(`showfloorPlayer.hls?.url.endsWith("dvr.m3u8") && !showfloorPlayer.video.paused && !showfloorPlayer.video.seeking &&
		showfloorPlayer.video.readyState >= 3 && Math.abs(showfloorPlayer.hls.playingDate - %f) < %f`,
		float64(b.start.UnixMilli())+1000*second, 1000*within))
}

func TestPlayerGoesBackInABroadcastAndReturns(t *testing.T) {
	t.Parallel()

	b := newBroadcast(t)
	origin := serve(t, map[string]http.HandlerFunc{"/hls/": b.ServeHTTP})
	v := &viewer{t, browsertest.New(t)}
	log := browsertest.Watch(t, v.tab)
	browsertest.Look(t, v.tab, deskWidth, deskHeight, false)
	browsertest.Run(t, v.tab, chromedp.Navigate(origin+"/player?src=/hls/live.m3u8&dvr=/hls/dvr.m3u8"))
	require.Greater(t, v.plays(b, "live"), onAirBefore-liveWindow-1.0)
	v.waits(`document.getElementById("edge-text").textContent === "Live" && !document.getElementById("seek").hidden`)
	require.Equal(t, origin+"/player", browsertest.Value[string](t, v.tab, `location.href`), "the playback URLs have left")
	browsertest.Run(t, v.tab, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, deskWidth/2, deskHeight/2)) // shows the controls
	v.waits(`!document.getElementById("screen").hasAttribute("userinactive")`)
	browsertest.Screenshot(t, v.tab, "player-live")

	// The seek bar has the whole broadcast.
	v.drags(0.9, 0.25, func() {
		v.waits(`/^−0:[23]/.test(document.getElementById("preview").textContent)`)
	})
	v.goesBack(b, time.Since(b.start).Seconds()/4, 5)
	v.waits(`document.getElementById("edge-text").textContent === "Go to live" && document.getElementById("time").textContent.startsWith("−0:")`)
	v.presses("k")
	v.waits(`showfloorPlayer.video.paused`)
	v.barriers("player-dvr")
	v.presses("k")
	at := v.plays(b, "dvr")
	v.presses("l")
	v.waits(fmt.Sprintf(`!showfloorPlayer.video.seeking && showfloorPlayer.hls.playingDate.getTime() > %d`, b.start.UnixMilli()+int64(1000*(at+9))))
	v.presses(kb.Home)
	v.waits(fmt.Sprintf(`!showfloorPlayer.video.seeking && showfloorPlayer.hls.playingDate.getTime() < %d`, b.start.UnixMilli()+5000))

	// Back to live by the button, back by a key, and to live by a key.
	browsertest.Run(t, v.tab, chromedp.Click(chromedp.CSS("#edge")))
	require.InDelta(t, time.Since(b.start).Seconds(), v.plays(b, "live"), liveWindow+1)
	v.waits(`document.getElementById("edge-text").textContent === "Live"`)
	at = v.plays(b, "live")
	v.presses("j")
	v.goesBack(b, at-10, 5)
	v.presses(kb.End)
	v.plays(b, "live")

	// After a long pause the broadcast continues where it was paused.
	v.presses("k")
	v.waits(`showfloorPlayer.video.paused`)
	at = browsertest.Value[float64](t, v.tab, `showfloorPlayer.hls.playingDate.getTime()`)/1000 - float64(b.start.UnixMilli())/1000
	v.waits(`showfloorPlayer.hls.latency > 2 * showfloorPlayer.hls.targetLatency + 2`)
	v.presses("k")
	v.goesBack(b, at, 5)

	// A reload keeps both addresses.
	browsertest.Run(t, v.tab, chromedp.Reload())
	v.plays(b, "live")
	v.waits(`!document.getElementById("seek").hidden`)
	require.Empty(t, log.Outside(origin))
	require.Empty(t, log.Complaints())
}

func TestPlayerPlaysADVRPlaylistAlone(t *testing.T) {
	t.Parallel()

	b := newBroadcast(t)
	origin := serve(t, map[string]http.HandlerFunc{"/hls/": b.ServeHTTP})
	v := &viewer{t, browsertest.New(t)}
	browsertest.Look(t, v.tab, phoneWidth, phoneHeight, true)
	browsertest.Run(t, v.tab, chromedp.Navigate(origin+"/player?src=/hls/dvr.m3u8"))
	v.plays(b, "dvr")
	v.waits(`!document.getElementById("seek").hidden && document.getElementById("edge-text").textContent === "Live"`)
	v.presses(kb.Home)
	v.waits(fmt.Sprintf(`!showfloorPlayer.video.seeking && showfloorPlayer.hls.playingDate.getTime() < %d`, b.start.UnixMilli()+5000))
	v.waits(`document.getElementById("edge-text").textContent === "Go to live"`)
	v.presses(">")
	v.waits(`showfloorPlayer.video.playbackRate === 1.25 && !document.getElementById("speed").hidden`)
	browsertest.Screenshot(t, v.tab, "player-dvr-alone")
	browsertest.Run(t, v.tab, chromedp.Click(chromedp.CSS("#edge")))
	v.waits(`showfloorPlayer.hls.latency < 6 && document.getElementById("edge-text").textContent === "Live"`)
}
