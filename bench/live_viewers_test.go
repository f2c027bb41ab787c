package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// liveViewers is the number of players of BenchmarkLiveViewers.
const liveViewers = 100

// BenchmarkLiveViewers runs the built server with one encoder of 2.5 Mbit/s and then 100 players in another
// process, each with blocked reloads and all parts, at the playback URL that the API returns. It prints the
// CPU that one player costs. The baseline is this repository's HLS handler in a bare net/http server.
func BenchmarkLiveViewers(b *testing.B) {
	bin, clip := serverBinary(b), publishClip(b, 10)
	for b.Loop() {
		ours, parts, delays := watchServer(b, bin, clip)
		bare := serveHLS(b, newHLSClip(b), newOurSinks(b, 1)[0], liveViewers)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(ours, "core%/viewer")
		b.ReportMetric(parts, "parts/viewer/s")
		b.ReportMetric(quantile(delays, .5), "delay-ms-p50")
		b.ReportMetric(quantile(delays, .99), "delay-ms-p99")
		b.ReportMetric(bare.cpu/liveViewers, "base-core%/viewer")
		b.ReportMetric(ours*liveViewers/bare.cpu, "cpu-ratio")
	}
}

// watchServer returns the server's CPU for each player, in percent of a core, and the parts that each player
// loads per second, and how much later than this process the players know of each part, in milliseconds. The cost of the
// encoder and of the idle server isn't included.
func watchServer(b *testing.B, bin, clip string) (perViewer, parts float64, delays []float64) {
	b.Helper()
	const warm, measured = 4 * time.Second, 10 * time.Second
	s := startServer(b, bin, publicDir(b), "HTTP_MAX_PER_ADDRESS=2000")
	defer s.stop(b)
	token := s.register(b)
	var stream struct {
		ID        string `json:"id"`
		StreamKey string `json:"streamKey"`
	}
	s.post(b, "/v1/me/streams", token, map[string]string{"name": "Show", "mode": "LOW_LATENCY"}, &stream)
	p := startPublishers(b, s.rtmp, []string{stream.StreamKey}, clip, 120)
	defer p.stop()
	var playback struct {
		URL string `json:"url"`
	}
	s.post(b, "/v1/me/streams/"+stream.ID+"/playback-url", token, map[string]int{}, &playback)
	require.NotEmpty(b, playback.URL)
	<-time.After(warm)
	unwatched := cpuOver(b, s, measured)

	root := playback.URL[:len(playback.URL)-len("index.m3u8")]
	crowd := startHLSViewers(b, root, liveViewers, warm+measured+time.Second)
	<-time.After(warm)
	first := watchHLSHere(b, root, nil)
	before, began := crowd.parts(b), time.Now()
	watched := cpuOver(b, s, measured)
	got := float64(crowd.parts(b)-before) / time.Since(began).Seconds()
	delays = crowd.known(b).delays(first())
	crowd.stop(b)
	return (watched - unwatched) / liveViewers, got / liveViewers, delays
}

// cpuOver returns the server's CPU during d, in percent of a core.
func cpuOver(b *testing.B, s *server, d time.Duration) float64 {
	b.Helper()
	cpu, began := s.cpu(b), time.Now()
	<-time.After(d)
	return 100 * (s.cpu(b) - cpu).Seconds() / time.Since(began).Seconds()
}
