package e2e

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/slowlink"
)

// watchLevels makes the page record the heights of the pictures that are shown, the waits for media, and fatal errors.
const watchLevels = `(() => {
	const page = globalThis.watched = { fatal: [], waits: [], heights: [], levels: [] };
	const { hls, video } = showfloorPlayer;
	hls.on('hlsError', (_, e) => { if (e.fatal) page.fatal.push(e.details); });
	hls.on('hlsLevelSwitched', (_, { level }) => page.levels.push(hls.levels[level].height + ' at ' + video.currentTime.toFixed(1)));
	video.addEventListener('waiting', () => page.waits.push(video.currentTime));
	video.addEventListener('resize', () => page.heights.push(video.videoHeight));
	setInterval(() => (page.latency = hls.latency), 100);
})(); undefined`

// newLadder creates a stream with renditions, given as heights and bitrates in kbit/s.
func (a *tenant) newLadder(renditions ...int) api.Stream {
	a.t.Helper()
	in := api.StreamInput{Name: "Launch"}
	for i := 0; i < len(renditions); i += 2 {
		in.Renditions = append(in.Renditions, api.StreamRenditionInput{Height: renditions[i], VideoKbps: &renditions[i+1]})
	}
	return created(a.CreateStreamWithResponse(a.t.Context(), in))(a.t)
}

// awaitLadder waits until the renditions are encoded and listed.
func (a *tenant) awaitLadder(id, playbackURL string) {
	a.t.Helper()
	until(a.t, "the renditions are encoded", func() bool {
		ladder, err := a.stream(id).Health.Ladder.Get()
		return err == nil && ladder.State == api.StreamLadderStateRUNNING
	})
	until(a.t, "the renditions are listed", func() bool {
		_, index := get(a.t.Context(), a.t, playbackURL)
		return strings.Count(index, "#EXT-X-STREAM-INF") > 1
	})
}

// throughLink replaces the server's address by that of a link.
func throughLink(t *testing.T, s *server, l *slowlink.Link, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	require.Equal(t, s.url, "http://"+u.Host)
	u.Host = l.Addr()
	return u.String()
}

// TestAloneLadderOnASlowLink: a viewer's link drops from 5 to 1 Mbit/s, and hls.js goes on with the rendition without a wait.
func TestAloneLadderOnASlowLink(t *testing.T) {
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newLadder(480, 500)
	// hls.js changes to a rendition only if its estimate is 1.4 times as much as the rendition's peak.
	path := filepath.Join(t.TempDir(), "steady.flv")
	require.Zero(t, ffmpeg(t, "-t", "20", "-i", sample(t), "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "30",
		"-b:v", "1600k", "-maxrate", "1600k", "-bufsize", "400k", "-x264-params", "nal-hrd=cbr", "-c:a", "copy", path).wait(t))
	ffmpeg(t, "-re", "-stream_loop", "-1", "-i", path, "-c", "copy", "-f", "flv", target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	address := a.playback(stream.ID).URL
	a.awaitLadder(stream.ID, address)

	link := slowlink.New(t, strings.TrimPrefix(s.url, "http://"), 50_000) // until the page is loaded
	tab := browsertest.New(t)
	browsertest.Run(t, tab, chromedp.Navigate("http://"+link.Addr()+"/player?src="+url.QueryEscape(throughLink(t, s, link, address))))
	browsertest.WaitFor(t, tab, `showfloorPlayer.hls && showfloorPlayer.video.currentTime > 1`)
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](watchLevels))
	link.Set(5000)
	plays(t, tab, "10")
	browsertest.WaitFor(t, tab, `showfloorPlayer.video.videoHeight === 720`)
	plays(t, tab, "3")
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`watched.waits.length = 0; undefined`))
	before := browsertest.Value[float64](t, tab, `watched.latency`)
	link.Set(1000)
	browsertest.WaitFor(t, tab, `showfloorPlayer.video.videoHeight === 480`)
	plays(t, tab, "15")
	t.Logf("target %.2f, estimate %v, levels %v, waits %v, latency %.2f s before and %.2f s after",
		browsertest.Value[float64](t, tab, `showfloorPlayer.hls.targetLatency`), browsertest.Value[float64](t, tab, `showfloorPlayer.hls.bandwidthEstimate`), browsertest.Value[[]string](t, tab, `watched.levels`),
		browsertest.Value[[]float64](t, tab, `watched.waits`), before, browsertest.Value[float64](t, tab, `watched.latency`))
	require.Empty(t, browsertest.Value[[]string](t, tab, `watched.fatal`))
	require.Empty(t, browsertest.Value[[]float64](t, tab, `watched.waits`))
	require.Equal(t, 1, a.stream(stream.ID).ViewerCount, "a viewer who changes the rendition counts once")
}

// TestAloneLadderWhoseEncoderDies: a viewer of a rendition goes on with the source, and later with the rendition.
func TestAloneLadderWhoseEncoderDies(t *testing.T) {
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newLadder(480, 500)
	encodeSample(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	address := a.playback(stream.ID).URL
	a.awaitLadder(stream.ID, address)

	tab, _ := playing(t, s, address)
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](watchLevels))
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](
		`showfloorPlayer.hls.nextLevel = showfloorPlayer.hls.levels.findIndex((l) => l.height === 480); undefined`))
	browsertest.WaitFor(t, tab, `showfloorPlayer.video.videoHeight === 480`)
	plays(t, tab, "3")
	browsertest.Run(t, tab, chromedp.Evaluate[chromedp.Void](`watched.waits.length = watched.heights.length = 0; undefined`))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(chromedp.Run(tab, chromedp.Evaluate[string](`JSON.stringify({ ...watched, time: showfloorPlayer.video.currentTime,
				height: showfloorPlayer.video.videoHeight, level: showfloorPlayer.hls.currentLevel, load: showfloorPlayer.hls.loadLevel })`)))
		}
	})
	// After the first end, the next encoder may start before the next key frame: then the source isn't shown. The pause after the second
	// end is as long as the time between two key frames.
	first := encoderOf(t, s)
	require.NoError(t, exec.Command("kill", "-KILL", first).Run())
	until(t, "another encoder is killed", func() bool {
		second := encoderOf(t, s)
		return second != "" && second != first && exec.Command("kill", "-KILL", second).Run() == nil
	})
	browsertest.WaitFor(t, tab, `watched.heights.includes(720)`)
	browsertest.WaitFor(t, tab, `showfloorPlayer.video.videoHeight === 480`)
	plays(t, tab, "3")
	t.Logf("heights %v, waits %v", browsertest.Value[[]int](t, tab, `watched.heights`), browsertest.Value[[]float64](t, tab, `watched.waits`))
	require.Empty(t, browsertest.Value[[]string](t, tab, `watched.fatal`))
	require.Empty(t, browsertest.Value[[]float64](t, tab, `watched.waits`))
	require.Equal(t, api.StreamStatusLIVE, a.stream(stream.ID).Status)
}

// encoderOf returns the process id of the ffmpeg that makes renditions, which has a pipe for each; "" if there is none.
func encoderOf(t *testing.T, s *server) string {
	t.Helper()
	out, err := exec.Command("ps", "-ww", "-o", "pid=,args=", "--ppid", strconv.Itoa(s.cmd.Process.Pid)).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		if pid, args, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(args, "ffmpeg") && strings.Contains(args, "pipe:3") {
			return pid
		}
	}
	return ""
}

// TestAloneLadderFromASlowStart: a viewer begins on a link that is too slow for the source.
func TestAloneLadderFromASlowStart(t *testing.T) {
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newLadder(480, 500)
	encodeSample(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	address := a.playback(stream.ID).URL
	a.awaitLadder(stream.ID, address)

	link := slowlink.New(t, strings.TrimPrefix(s.url, "http://"), 50_000) // until the browser has the page's files
	tab := browsertest.New(t)
	page := "http://" + link.Addr() + "/player?src=" + url.QueryEscape(throughLink(t, s, link, address))
	browsertest.Run(t, tab, chromedp.Navigate(page))
	browsertest.WaitFor(t, tab, `showfloorPlayer.hls && showfloorPlayer.video.currentTime > 1`)
	link.Set(1000)
	browsertest.Run(t, tab, chromedp.Navigate(page))
	browsertest.WaitFor(t, tab, `globalThis.showfloorPlayer?.video.videoHeight === 480 && showfloorPlayer.video.currentTime > 3`)
	plays(t, tab, "5")
}
