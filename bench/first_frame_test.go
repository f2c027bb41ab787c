package bench

import (
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

const firstFrameRounds = 20

// noteFirstFrame stores the milliseconds from the navigation to the first frame on the screen.
const noteFirstFrame = `document.addEventListener("loadeddata", ({ target }) => target.requestVideoFrameCallback?.(
	() => (globalThis.firstFrameMs ??= performance.now())), true)`

// BenchmarkFirstFrame opens the link of a live show in Chromium on a phone's screen, each time with an empty cache, and measures the time
// until the first frame is shown. The baseline is the player page on the same stream, in turns.
func BenchmarkFirstFrame(b *testing.B) {
	bin, clip := serverBinary(b), publishClip(b, 10)
	var show, player []float64
	for b.Loop() {
		s := startServer(b, bin, publicDir(b), "RATE_LIMIT_PUBLIC=off", "RATE_LIMIT_CALLER=off", "RATE_LIMIT_TENANT=off")
		sh := openShow(b, s, 1)
		p := startPublishers(b, s.rtmp, []string{sh.StreamKey}, clip, 300)
		<-time.After(5 * time.Second)
		var playback struct {
			URL string `json:"url"`
		}
		s.post(b, "/v1/me/streams/"+sh.ID+"/playback-url", sh.owner, map[string]int{}, &playback)
		for range firstFrameRounds {
			show = append(show, firstFrame(b, s.api+"/scenarios/shopping/?room="+sh.ID+"&token="+sh.tokens[0]))
			player = append(player, firstFrame(b, s.api+"/player?src="+url.QueryEscape(playback.URL)))
		}
		p.stop()
		s.stop(b)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(show, .5), "show-ms-p50")
	b.ReportMetric(quantile(show, .95), "show-ms-p95")
	b.ReportMetric(quantile(player, .95), "player-ms-p95")
	b.ReportMetric(quantile(show, .95)/quantile(player, .95), "ratio")
}

// firstFrame opens an address in a tab with a fresh profile and returns the milliseconds until the first frame.
func firstFrame(b *testing.B, address string) float64 {
	b.Helper()
	tab := browsertest.New(b)
	_, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: noteFirstFrame})
	require.NoError(b, err)
	browsertest.Look(b, tab, 390, 844, true)
	browsertest.Run(b, tab, chromedp.Navigate(address))
	browsertest.WaitFor(b, tab, "globalThis.firstFrameMs > 0")
	ms := browsertest.Value[float64](b, tab, "firstFrameMs")
	browsertest.Run(b, tab, chromedp.Navigate("about:blank"))
	return ms
}
