package bench

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/restream"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/rtmpurl"
)

const (
	restreamTargets = 8
	restreamWindow  = 20 * time.Second
)

// BenchmarkRestreamLatency forwards a stream of 2.5 Mbit/s to eight targets, which are servers of ours in the same process, and prints the
// time from the arrival of a frame in the hub to its arrival in the hub of the target. There is no baseline.
func BenchmarkRestreamLatency(b *testing.B) {
	clip := publishClip(b, 10)
	for b.Loop() {
		source, target := &frameArrivals{}, &frameArrivals{}
		from, to := startIngest(b, source), startIngest(b, target)
		engine := restream.New(restream.Config{
			Reports: noReports{}, Stream: from.hub.Stream, Log: quiet(),
			Dial: func(ctx context.Context, host string, _ bool) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "tcp", host)
			},
		})
		p := startPublishers(b, from.addr, []string{"source"}, clip, 600)
		var routes []restream.Route
		const streamID = "source"
		for i := range restreamTargets {
			a, err := rtmpurl.Parse(fmt.Sprintf("rtmp://%s/live/target-%d", to.addr, i))
			require.NoError(b, err)
			routes = append(routes, restream.Route{ID: strconv.Itoa(i), StreamID: streamID, Address: a})
		}
		engine.Set(streamID, routes)
		until(b, time.Now(), func() error {
			if n := engine.Stats().Connected; n < restreamTargets {
				return fmt.Errorf("%d are connected", n)
			}
			return nil
		})
		source.forget()
		target.forget()
		<-time.After(restreamWindow)
		delays := target.since(source)
		p.stop()
		engine.Close()
		from.stop()
		to.stop()
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(len(delays)), "frames")
		b.ReportMetric(milliseconds(quantile(delays, 0.5)), "p50-ms")
		b.ReportMetric(milliseconds(quantile(delays, 0.99)), "p99-ms")
		b.ReportMetric(milliseconds(quantile(delays, 1)), "max-ms")
	}
}

type noReports struct{}

func (noReports) Live(context.Context, string) error           { return nil }
func (noReports) Failed(context.Context, string, string) error { return nil }

// ingest is an RTMP server that accepts any key.
type ingest struct {
	hub  *hub.Hub
	addr string
	stop func()
}

func startIngest(b *testing.B, output hub.Output) ingest {
	b.Helper()
	h := hub.New(hub.Config{Outputs: []hub.Output{output}})
	s, err := rtmp.New(rtmp.Config{Addr: "127.0.0.1:0", Hub: h, Gate: openGate{}})
	require.NoError(b, err)
	require.NoError(b, s.Start())
	return ingest{h, s.Addr().String(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(b, s.Stop(ctx))
		h.Close()
	}}
}

// frameArrivals is an output that notes when frames arrived.
type frameArrivals struct {
	mu   sync.Mutex
	list []frameArrival
}

type frameArrival struct {
	frame uint64 // of the coded bytes
	at    time.Time
}

// Open implements hub.Output.
func (a *frameArrivals) Open(s *hub.Stream) {
	reader := s.Subscribe()
	go func() {
		for {
			u, err := reader.Next(context.Background())
			if err != nil {
				return
			}
			if !u.Track.Codec.Video() {
				continue // sound is sent with the next picture
			}
			a.mu.Lock()
			a.list = append(a.list, frameArrival{frameHash(u.Data), u.Arrived})
			a.mu.Unlock()
		}
	}()
}

func (a *frameArrivals) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = nil
}

// since returns how much later frames arrived here than in another hub. The clip repeats, so the newest earlier arrival counts.
func (a *frameArrivals) since(source *frameArrivals) (delays []time.Duration) {
	source.mu.Lock()
	defer source.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	sent := map[uint64][]time.Time{}
	for _, one := range source.list {
		sent[one.frame] = append(sent[one.frame], one.at)
	}
	for _, one := range a.list {
		best := time.Duration(-1)
		for _, at := range sent[one.frame] {
			if d := one.at.Sub(at); d >= 0 && (best < 0 || d < best) {
				best = d
			}
		}
		if best >= 0 {
			delays = append(delays, best)
		}
	}
	return delays
}

// frameHash tells frames apart.
func frameHash(data []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(data)
	return h.Sum64()
}
