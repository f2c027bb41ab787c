package bench

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/slowlink"
)

const (
	ladderFastKbps, ladderSlowKbps = 5000, 1000
	// ladderSettle is how long the viewer watches on the fast link, and ladderWatch on the slow one.
	ladderSettle, ladderWatch = 15 * time.Second, 30 * time.Second
)

// noteStalls counts the times at which the picture waits for media, and how long it stands still, from countStalls on.
const (
	noteStalls = `(() => {
		const page = globalThis.noted = { waits: 0, stoodMs: 0, latencies: [] };
		const video = document.querySelector("video");
		video.addEventListener("waiting", () => page.waits++);
		let position = 0, looked = performance.now();
		setInterval(() => {
			const now = performance.now();
			if (video.currentTime === position) page.stoodMs += now - looked;
			position = video.currentTime;
			looked = now;
			if (showfloorPlayer.hls?.latency > 0) page.latencies.push(showfloorPlayer.hls.latency);
		}, 100);
	})(); undefined`
	countStalls = `Object.assign(noted, { waits: 0, stoodMs: 0, latencies: [] }); undefined`
	meanLatency = `noted.latencies.reduce((sum, one) => sum + one, 0) / Math.max(noted.latencies.length, 1)`
)

// ladderView is what a viewer notices on the slow link.
type ladderView struct{ waits, stoodSeconds, before, after float64 }

// BenchmarkLadder watches a live stream of 1.7 Mbit/s in Chromium over a link that drops from 5 to 1 Mbit/s, and measures for how long
// the picture stands still in the 30 s after that. The baseline is the same stream without a rendition.
func BenchmarkLadder(b *testing.B) {
	bin := serverBinary(b)
	clip := filepath.Join(b.TempDir(), "ladder.flv")
	run(b, clip, `-f lavfi -i testsrc2=size=1280x720:rate=30 -f lavfi -i sine=frequency=440:sample_rate=44100 -t 10
		-c:v libx264 -preset ultrafast -pix_fmt yuv420p -b:v 1600k -minrate 1600k -maxrate 1600k -bufsize 400k -nal-hrd cbr -g 30 -bf 0
		-c:a aac -b:a 96k -ac 2`)
	var laddered, plain ladderView
	for b.Loop() {
		s := startServer(b, bin, publicDir(b), "RATE_LIMIT_PUBLIC=off", "RATE_LIMIT_CALLER=off", "RATE_LIMIT_TENANT=off")
		sh := openShow(b, s, 0)
		laddered = watchOnSlowLink(b, s, sh.owner, clip, []map[string]int{{"height": 480, "videoKbps": 500}})
		plain = watchOnSlowLink(b, s, sh.owner, clip, nil)
		s.stop(b)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(laddered.waits, "stalls")
	b.ReportMetric(laddered.stoodSeconds, "stalled-s")
	b.ReportMetric(laddered.before, "latency-before-s")
	b.ReportMetric(laddered.after, "latency-after-s")
	b.ReportMetric(plain.waits, "plain-stalls")
	b.ReportMetric(plain.stoodSeconds, "plain-stalled-s")
	b.ReportMetric(laddered.stoodSeconds/max(plain.stoodSeconds, 0.001), "stalled-ratio")
}

func watchOnSlowLink(b *testing.B, s *server, token, clip string, renditions []map[string]int) ladderView {
	b.Helper()
	var st struct{ ID, StreamKey string }
	in := map[string]any{"name": "Ladder"}
	if renditions != nil {
		in["renditions"] = renditions
	}
	s.post(b, "/v1/me/streams", token, in, &st)
	p := startPublishers(b, s.rtmp, []string{st.StreamKey}, clip, 600)
	defer p.stop()
	var playback struct{ URL string }
	s.post(b, "/v1/me/streams/"+st.ID+"/playback-url", token, map[string]any{}, &playback)
	<-time.After(5 * time.Second) // the encoder of the renditions starts

	link := slowlink.New(b, strings.TrimPrefix(s.api, "http://"), 50_000) // until the page is loaded
	address, err := url.Parse(playback.URL)
	require.NoError(b, err)
	address.Host = link.Addr()
	tab := browsertest.New(b)
	browsertest.Run(b, tab, chromedp.Navigate("http://"+link.Addr()+"/player?src="+url.QueryEscape(address.String())))
	browsertest.WaitFor(b, tab, `showfloorPlayer.hls && showfloorPlayer.video.currentTime > 1`)
	link.Set(ladderFastKbps)
	browsertest.Run(b, tab, chromedp.Evaluate[chromedp.Void](noteStalls))
	<-time.After(ladderSettle)
	v := ladderView{before: browsertest.Value[float64](b, tab, meanLatency)}
	browsertest.Run(b, tab, chromedp.Evaluate[chromedp.Void](countStalls))
	link.Set(ladderSlowKbps)
	<-time.After(ladderWatch)
	v.waits, v.after = browsertest.Value[float64](b, tab, `noted.waits`), browsertest.Value[float64](b, tab, meanLatency)
	v.stoodSeconds = browsertest.Value[float64](b, tab, `noted.stoodMs`) / 1000
	b.Logf("%v: %.0f stalls, %.1f s; latency %.1f s before, %.1f s after; %s", renditions, v.waits, v.stoodSeconds, v.before, v.after,
		browsertest.Value[string](b, tab, `showfloorPlayer.video.videoHeight + " lines"`))
	browsertest.Run(b, tab, chromedp.Navigate("about:blank"))
	return v
}
