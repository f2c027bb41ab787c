package bench

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

const slowPhoneRounds = 3

// noteSlowPhone stores the milliseconds from the navigation to the poster on the screen, and to the second frame of the video: then the
// picture moves.
const noteSlowPhone = `
	document.addEventListener("load", ({ target }) => {
		if (!target.matches?.("img[class^=poster]")) return;
		target.decode().then(() => requestAnimationFrame(() => (globalThis.posterMs ??= performance.now())));
	}, true);
	document.addEventListener("loadeddata", ({ target }) => target.requestVideoFrameCallback?.(
		() => target.requestVideoFrameCallback(() => (globalThis.pictureMs ??= performance.now()))), true);`

// BenchmarkSlowPhone opens the link of a live show of 500 kbit/s in Chromium with an empty cache, as Lighthouse simulates a phone: slow 4G
// (1.6 Mbit/s down, 750 kbit/s up, 150 ms) and a CPU that is slowed down 4 times. It measures the time until the poster is shown and the
// picture moves. The baseline is the same page without the limits, in turns.
func BenchmarkSlowPhone(b *testing.B) {
	bin, clip := serverBinary(b), smallClip(b)
	picture := servePoster(b)
	var slow, free phoneTimes
	for b.Loop() {
		s := startServer(b, bin, publicDir(b), "RATE_LIMIT_PUBLIC=off", "RATE_LIMIT_CALLER=off", "RATE_LIMIT_TENANT=off")
		sh := openShow(b, s, 0)
		s.post(b, "/v1/me/streams", sh.owner, map[string]string{"name": "Show", "mode": "LOW_LATENCY", "posterUrl": picture}, sh)
		p := startPublishers(b, s.rtmp, []string{sh.StreamKey}, clip, 300)
		<-time.After(5 * time.Second)
		address := s.api + "/scenarios/shopping/?room=" + sh.ID + "&token=" + sh.token(b, s, "bo", "viewer")
		for range slowPhoneRounds {
			slow.note(b, address, true)
			free.note(b, address, false)
		}
		p.stop()
		s.stop(b)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(slow.poster, .5), "poster-ms")
	b.ReportMetric(quantile(slow.picture, .5), "picture-ms")
	b.ReportMetric(quantile(slow.poster, .5)/quantile(free.poster, .5), "poster-ratio")
	b.ReportMetric(quantile(slow.picture, .5)/quantile(free.picture, .5), "picture-ratio")
}

// phoneTimes are the milliseconds of several openings of the page.
type phoneTimes struct{ poster, picture []float64 }

// note opens an address in a tab with a fresh profile, and adds its times.
func (p *phoneTimes) note(b *testing.B, address string, limited bool) {
	b.Helper()
	tab := browsertest.New(b)
	script := page.AddScriptToEvaluateOnNewDocumentParams{Source: noteSlowPhone}
	_, err := chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, script)
	require.NoError(b, err)
	browsertest.Look(b, tab, 390, 844, true)
	if limited {
		limit(b, tab)
	}
	browsertest.Run(b, tab, chromedp.Navigate(address))
	browsertest.WaitFor(b, tab, "globalThis.posterMs > 0 && globalThis.pictureMs > 0")
	p.poster = append(p.poster, browsertest.Value[float64](b, tab, "posterMs"))
	p.picture = append(p.picture, browsertest.Value[float64](b, tab, "pictureMs"))
	b.Logf("limited %t: poster %.0f ms, picture %.0f ms%s", limited, p.poster[len(p.poster)-1], p.picture[len(p.picture)-1],
		browsertest.Value[string](b, tab, waterfall))
	browsertest.Run(b, tab, chromedp.Navigate("about:blank"))
}

// waterfall lists the page's requests: start, first and last byte, and size.
const waterfall = `performance.getEntriesByType("resource").filter((one) => one.startTime < pictureMs).map((one) => {
	const times = [one.startTime, one.responseStart, one.responseEnd].map(Math.round).join(" ");
	return "\n" + times + " ms, " + one.transferSize + " bytes, " + one.name.replace(location.origin, "").slice(0, 60);
}).join("")`

// limit slows a tab down as Lighthouse does for a phone.
func limit(b *testing.B, tab context.Context) {
	b.Helper()
	slow4G := network.Conditions{Latency: 150, DownloadThroughput: 1.6e6 / 8, UploadThroughput: 750e3 / 8}
	_, err := chromedp.Call(tab, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{&slow4G},
	})
	require.NoError(b, err)
	_, err = chromedp.Call(tab, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 4})
	require.NoError(b, err)
}

// servePoster serves a portrait JPEG picture of about 40 KiB and returns its address.
func servePoster(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "poster.jpg")
	run(b, path, `-f lavfi -i mandelbrot=s=540x960 -frames:v 1 -pix_fmt yuvj420p -q:v 6`)
	files := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(path))))
	b.Cleanup(files.Close)
	return files.URL + "/poster.jpg"
}

// smallClip creates a portrait clip of about 500 kbit/s for a phone: 360p30 H.264, a key frame each second, and AAC.
func smallClip(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "small.flv")
	run(b, path, `-f lavfi -i testsrc2=size=360x640:rate=30 -f lavfi -i sine=frequency=440:sample_rate=44100 -t 10
		-c:v libx264 -preset ultrafast -pix_fmt yuv420p -b:v 436k -minrate 436k -maxrate 436k -bufsize 436k -nal-hrd cbr -g 30
		-c:a aac -b:a 64k -ac 2`)
	return path
}

// run makes a file with ffmpeg.
func run(b *testing.B, path, args string) {
	b.Helper()
	out, err := exec.Command("ffmpeg", append(strings.Fields("-hide_banner -loglevel error "+args), path)...).CombinedOutput()
	require.NoError(b, err, string(out))
}
