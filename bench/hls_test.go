package bench

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// BenchmarkHLSLatency publishes in real time for 8 s and follows the stream with blocked
// reloads over HTTP. Goals (p95): a part reaches the player at most 50 ms after its last
// frame arrived, and at most a part's duration plus 50 ms after its first frame.
func BenchmarkHLSLatency(b *testing.B) {
	clip := newHLSClip(b)
	for b.Loop() {
		ours := followHLS(b, clip, newOurSinks(b, 1)[0])
		base := followHLS(b, clip, newGohlslibSinks(b, clip, 1)[0])
		b.ReportMetric(ours.last, "last-frame-ms-p95")
		b.ReportMetric(ours.first, "first-frame-ms-p95")
		b.ReportMetric(base.last, "base-last-frame-ms-p95")
		b.ReportMetric(base.first, "base-first-frame-ms-p95")
		b.ReportMetric(ours.last/base.last, "last-frame-ratio")
		b.ReportMetric(0, "ns/op")
	}
}

// hlsDelay is the p95 age of a part's first and last frame when a player learns of
// the part, in milliseconds since they arrived.
type hlsDelay struct{ first, last float64 }

func followHLS(b *testing.B, clip *hlsClip, sink hlsSink) hlsDelay {
	b.Helper()
	handler, root := sink.handler()
	server := httptest.NewServer(handler)
	defer server.Close()
	defer sink.close() // before the server, because nothing else ends gohlslib's waiting requests
	var mu sync.Mutex
	var arrivals []time.Time // of each video frame
	f := &feeder{clip: clip, sinks: []hlsSink{sink}, heard: func(_ int, u *hub.Unit, now time.Time) {
		if u.Track == clip.video {
			mu.Lock()
			arrivals = append(arrivals, now)
			mu.Unlock()
		}
	}}
	f.fast(b, 3*time.Second) // so that there is a playlist
	var followed sync.WaitGroup
	var seen []hlsSeen
	followed.Go(func() { seen = followHLSParts(server.URL+root, 8*time.Second) })
	f.live(b, 8500*time.Millisecond)
	followed.Wait()
	var first, last []time.Duration
	pictures := -1
	for _, x := range seen {
		var parts fmp4.Parts
		require.NoError(b, parts.Unmarshal(x.media))
		n := len(parts[0].Tracks[0].Samples)
		if pictures < 0 { // the media time shows where the part began
			pictures = int((parts[0].Tracks[0].BaseTime - 10*90000 + 1500) / 3000)
		}
		mu.Lock()
		first = append(first, x.at.Sub(arrivals[pictures]))
		last = append(last, x.at.Sub(arrivals[pictures+n-1]))
		mu.Unlock()
		pictures += n
	}
	require.Greater(b, len(last), 30)
	return hlsDelay{first: p95(first), last: p95(last)}
}

func p95(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)*95/100]) / float64(time.Millisecond)
}

// BenchmarkHLSViewers serves one stream to 200 players in another process, each
// with blocked reloads and all parts. CPU is this process's, in percent of a core.
func BenchmarkHLSViewers(b *testing.B) {
	const viewers = 200
	clip := newHLSClip(b)
	for b.Loop() {
		ours := serveHLS(b, clip, newOurSinks(b, 1)[0], viewers)
		base := serveHLS(b, clip, newGohlslibSinks(b, clip, 1)[0], viewers)
		b.ReportMetric(ours.cpu, "core%")
		b.ReportMetric(ours.cpu/viewers, "core%/viewer")
		b.ReportMetric(ours.parts, "parts/viewer/s")
		b.ReportMetric(base.cpu, "base-core%")
		b.ReportMetric(base.parts, "base-parts/viewer/s")
		b.ReportMetric(ours.cpu/base.cpu, "cpu-ratio")
		b.ReportMetric(0, "ns/op")
	}
}

type hlsServing struct {
	cpu   float64 // in percent of a core
	parts float64 // parts per viewer and second
	all   float64 // parts per viewer, including those before the measurement
	// delays of parts at the viewers after the stream's own node has them, in milliseconds. Only of our streams.
	delays []float64
}

func serveHLS(b *testing.B, clip *hlsClip, sink hlsSink, viewers int) hlsServing {
	b.Helper()
	handler, root := sink.handler()
	server := httptest.NewServer(handler)
	defer server.Close()
	defer sink.close() // before the server, because nothing else ends gohlslib's waiting requests
	f := &feeder{clip: clip, sinks: []hlsSink{sink}}
	f.fast(b, 3*time.Second)
	const warm, measured = 2 * time.Second, 8 * time.Second
	crowd := startHLSViewers(b, server.URL+root, viewers, warm+measured+time.Second)
	f.live(b, warm)
	first := func() hlsKnown { return nil }
	if owner, ok := sink.(interface{ owner() (http.Handler, string) }); ok {
		handler, root := owner.owner()
		first = watchHLSHere(b, "http://owner"+root, handler)
	}
	before, parts := processCPU(b), crowd.parts(b)
	begin := time.Now()
	f.live(b, measured)
	cpu, took := processCPU(b)-before, time.Since(begin)
	got := crowd.parts(b) - parts
	delays := crowd.known(b).delays(first())
	crowd.stop(b)
	return hlsServing{
		cpu: 100 * cpu.Seconds() / took.Seconds(), parts: float64(got) / float64(viewers) / took.Seconds(),
		all: float64(parts+got) / float64(viewers), delays: delays,
	}
}

// BenchmarkHLSMuxing muxes 50 streams in real time. The window is full before the
// measurement, so that the memory is the steady state of a stream.
func BenchmarkHLSMuxing(b *testing.B) {
	const streams = 50
	clip := newHLSClip(b)
	for b.Loop() {
		ours := muxHLS(b, clip, func() []hlsSink { return newOurSinks(b, streams) })
		base := muxHLS(b, clip, func() []hlsSink { return newGohlslibSinks(b, clip, streams) })
		b.ReportMetric(ours.cpu/streams, "core%/stream")
		b.ReportMetric(ours.heap/streams, "MiB/stream")
		b.ReportMetric(base.cpu/streams, "base-core%/stream")
		b.ReportMetric(base.heap/streams, "base-MiB/stream")
		b.ReportMetric(ours.cpu/base.cpu, "cpu-ratio")
		b.ReportMetric(ours.heap/base.heap, "heap-ratio")
		b.ReportMetric(0, "ns/op")
	}
}

type hlsMuxing struct {
	cpu  float64 // in percent of a core, all streams
	heap float64 // live heap in MiB, all streams
}

func muxHLS(b *testing.B, clip *hlsClip, open func() []hlsSink) hlsMuxing {
	b.Helper()
	empty := liveHeap()
	f := &feeder{clip: clip, sinks: open()}
	defer func() {
		for _, s := range f.sinks {
			s.close()
		}
	}()
	f.fast(b, 31*time.Second)
	heap := liveHeap() - empty
	before, begin := processCPU(b), time.Now()
	f.live(b, 6*time.Second)
	return hlsMuxing{cpu: 100 * (processCPU(b) - before).Seconds() / time.Since(begin).Seconds(), heap: heap}
}

// liveHeap returns the heap after a collection, in MiB.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
