package bench

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bluenviron/gortmplib"
	"github.com/bluenviron/gortmplib/pkg/codecs"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
)

// openGate accepts every key, each for a stream of its own.
type openGate struct{}

func (openGate) Publish(_ context.Context, a rtmp.Attempt) (hub.Broadcast, error) {
	return hub.Broadcast{StreamID: a.Key}, nil
}
func (openGate) Rejected(context.Context, string, string) {}
func (openGate) Unpublish(context.Context, string)        {}

// ingestCost is a server's use of resources over a time, per stream.
type ingestCost struct {
	cpu  float64 // in percent of one core
	heap float64 // heap and stacks in KiB
	mbit float64 // received Mbit/s
}

// BenchmarkRTMPIngest receives 50 publishers of 2.5 Mbit/s, first with
// gortmplib's own server and reader, then with ours into a hub without outputs.
func BenchmarkRTMPIngest(b *testing.B) {
	const streams, seconds = 50, 6
	clip := publishClip(b, 10)
	for b.Loop() {
		base := measureIngest(b, baselineServer, clip, streams, seconds)
		ours := measureIngest(b, ourServer, clip, streams, seconds)
		b.ReportMetric(ours.cpu, "core%/stream")
		b.ReportMetric(base.cpu, "base-core%/stream")
		b.ReportMetric(ours.cpu/base.cpu, "cpu-ratio")
		b.ReportMetric(ours.heap, "KiB/stream")
		b.ReportMetric(base.heap, "base-KiB/stream")
		b.ReportMetric(ours.mbit, "Mbit/s/stream")
		b.ReportMetric(0, "ns/op")
	}
}

// ingestServer starts a server. It returns the address, a function for the
// bytes received so far, and one that stops the server.
type ingestServer func(b *testing.B) (addr string, bytes func() uint64, stop func())

func measureIngest(b *testing.B, start ingestServer, clip string, streams, seconds int) ingestCost {
	b.Helper()
	addr, bytes, stop := start(b)
	defer stop()
	memory := memoryInUse()
	p := startPublishers(b, addr, publishKeys(streams), clip, 600)
	defer p.stop()
	settle := time.NewTimer(time.Second)
	<-settle.C
	bytesBefore, cpuBefore, began := bytes(), cpuTime(b), time.Now()
	window := time.NewTimer(time.Duration(seconds) * time.Second)
	<-window.C
	took, cpu, got := time.Since(began), cpuTime(b)-cpuBefore, bytes()-bytesBefore
	used := memoryInUse() - memory
	n := float64(streams)
	return ingestCost{
		cpu:  100 * cpu.Seconds() / took.Seconds() / n,
		heap: used / 1024 / n,
		mbit: float64(got) * 8 / 1e6 / took.Seconds() / n,
	}
}

func ourServer(b *testing.B) (string, func() uint64, func()) {
	b.Helper()
	h := hub.New(hub.Config{})
	s, err := rtmp.New(rtmp.Config{Addr: "127.0.0.1:0", Hub: h, Gate: openGate{}})
	require.NoError(b, err)
	require.NoError(b, s.Start())
	bytes := func() uint64 {
		in, _ := h.Traffic()
		return in
	}
	return s.Addr().String(), bytes, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(b, s.Stop(ctx))
		h.Close()
	}
}

// baselineServer receives the same publishers with gortmplib's own functions.
func baselineServer(b *testing.B) (string, func() uint64, func()) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	var wg sync.WaitGroup
	var total atomic.Uint64
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				err := readPublisher(conn, &total)
				if err != nil && !strings.Contains(err.Error(), "EOF") && !strings.Contains(err.Error(), "reset") {
					b.Error("baseline:", err)
				}
			})
		}
	})
	return l.Addr().String(), total.Load, func() {
		_ = l.Close()
		wg.Wait()
	}
}

func readPublisher(conn net.Conn, total *atomic.Uint64) error {
	sc := &gortmplib.ServerConn{RW: conn}
	if err := sc.Initialize(); err != nil {
		return err
	}
	if err := sc.Accept(); err != nil {
		return err
	}
	r := &gortmplib.Reader{Conn: sc}
	if err := r.Initialize(); err != nil {
		return err
	}
	for _, track := range r.Tracks() {
		switch track.Codec.(type) {
		case *codecs.H264:
			r.OnDataH264(track, func(_, _ time.Duration, au [][]byte) {
				for _, nal := range au {
					total.Add(uint64(len(nal)))
				}
			})
		case *codecs.MPEG4Audio:
			r.OnDataMPEG4Audio(track, func(_ time.Duration, au []byte) { total.Add(uint64(len(au))) })
		}
	}
	for {
		if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return err
		}
		if err := r.Read(); err != nil {
			return err
		}
	}
}

// cpuTime returns the CPU time of this process, in user and system mode.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memoryInUse returns live heap and stacks in bytes, after a collection.
func memoryInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
