package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/metering"
	"showfloor/internal/media/sfu/forward"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/tenancy/usage"
)

const (
	// meteringRounds is the number of rounds with and without a meter, which take turns; the
	// result is the median.
	meteringRounds = 41
	// meteredStreams is the number of streams in one interval; each uses three meters.
	meteredStreams = 10_000
)

// BenchmarkMeteringHLS serves a segment from memory with and without a meter.
func BenchmarkMeteringHLS(b *testing.B) {
	for b.Loop() {
		meter := metering.New(nil)
		on, off := serveSegment(b, meter), serveSegment(b, nil)
		with, without := takeTurns(on, off)
		require.NotEmpty(b, meter.Read())
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(with, "ns/segment")
		b.ReportMetric(without, "bare-ns/segment")
		b.ReportMetric(with/without, "ratio")
	}
}

// BenchmarkMeteringSFU forwards packets of sound to 100 subscribers whose writers do nothing, with
// and without a meter. It doesn't include encryption and sending, which take thousands of ns.
func BenchmarkMeteringSFU(b *testing.B) {
	for b.Loop() {
		account := metering.New(nil).Open("sess_1")
		on, off := forwardTo(b, account.Sent), forwardTo(b, nil)
		with, without := takeTurns(on, off)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(with, "ns/packet")
		b.ReportMetric(without, "bare-ns/packet")
		b.ReportMetric(with/without, "ratio")
	}
}

// BenchmarkUsageIntervals stores one interval of 10,000 streams with three meters each. The
// baseline is a COPY of the same rows into a table without keys and indices.
func BenchmarkUsageIntervals(b *testing.B) {
	pool := durable(b)
	ctx := b.Context()
	_, err := pool.Exec(ctx, `INSERT INTO tenants (id, name, created_at, updated_at) SELECT 'ten_' || n, 'Acme', now(), now() FROM generate_series(1, 100) n`)
	require.NoError(b, err)
	_, err = pool.Exec(ctx, `INSERT INTO streams (id, tenant_id, name, mode, key_hash, key_last4, created_at, updated_at)
		SELECT 'str_' || n, 'ten_' || 1 + n % 100, 'Show', 'STANDARD', convert_to(n::text, 'UTF8'), 'abcd', now(), now() FROM generate_series(1, $1) n`, meteredStreams)
	require.NoError(b, err)
	_, err = pool.Exec(ctx, `CREATE TABLE bare (tenant_id text, resource_id text, meter text, from_at timestamptz, to_at timestamptz, amount bigint)`)
	require.NoError(b, err)
	source := &manyStreams{at: time.Now().UTC().Truncate(time.Microsecond)}
	c := usage.NewCollector(usage.CollectorConfig{Usage: usage.New(usage.Config{Pool: pool}), Source: source})
	c.Collect()
	require.NoError(b, c.Write(ctx)) // caches the streams' owners
	for b.Loop() {
		var with, bare []float64
		for range 7 {
			c.Collect()
			began := time.Now()
			require.NoError(b, c.Write(ctx))
			with = append(with, float64(time.Since(began).Microseconds())/1000)
			bare = append(bare, copyBare(b, pool, source.Read()))
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(with), "ms/10s")
		b.ReportMetric(median(bare), "copy-ms")
		b.ReportMetric(median(with)/median(bare), "ratio")
		require.Zero(b, c.Stats().Waiting)
	}
}

// copyBare returns the time of a COPY, in ms.
func copyBare(b *testing.B, pool *pgxpool.Pool, list []usage.Interval) float64 {
	b.Helper()
	columns := []string{"tenant_id", "resource_id", "meter", "from_at", "to_at", "amount"}
	began := time.Now()
	_, err := pool.CopyFrom(b.Context(), pgx.Identifier{"bare"}, columns, pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
		x := &list[i]
		return []any{"ten_1", x.ResourceID, string(x.Meter), x.From, x.To, x.Amount}, nil
	}))
	require.NoError(b, err)
	return float64(time.Since(began).Microseconds()) / 1000
}

// manyStreams is a usage source with many streams.
type manyStreams struct{ at time.Time }

// Read implements usage.Source.
func (m *manyStreams) Read() []usage.Interval {
	from := m.at
	m.at = from.Add(10 * time.Second)
	list := make([]usage.Interval, 0, 3*meteredStreams)
	for n := range meteredStreams {
		id := fmt.Sprint("str_", n+1)
		for _, meter := range []usage.Meter{usage.StreamMinutes, usage.ViewerMinutes, usage.EgressBytes} {
			list = append(list, usage.Interval{ResourceID: id, Meter: meter, Quality: "720p", From: from, To: m.at, Amount: int64(10 + n)})
		}
	}
	return list
}

// takeTurns runs two kinds of rounds in turns and returns the medians of their results.
func takeTurns(on, off func() float64) (with, without float64) {
	var a, z []float64
	for i := range meteringRounds {
		if i%2 == 0 {
			a, z = append(a, on()), append(z, off())
		} else {
			z, a = append(z, off()), append(a, on())
		}
	}
	return median(a), median(z)
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// serveSegment creates an HLS server. The returned function serves one segment many times and
// returns the ns per request.
func serveSegment(b *testing.B, meter *metering.Meter) func() float64 {
	b.Helper()
	const times = 2000
	server := hls.New(hls.Config{Log: quiet(), Tokens: openTokens{playtoken.New(oneKey{})}})
	playable := make(chan struct{}, 1)
	h := hub.New(hub.Config{Outputs: []hub.Output{server}, Meter: meter, OnPlayable: func(string, string) { playable <- struct{}{} }})
	b.Cleanup(func() {
		h.Close()
		server.Close()
	})
	p, err := h.Publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p", nil)
	require.NoError(b, err)
	track := &hub.Track{Codec: hub.Opus, SampleRate: 48_000, Channels: 2}
	begun := time.Now()
	for d := time.Duration(0); d < 5*time.Second; d += 20 * time.Millisecond {
		require.NoError(b, p.Write(&hub.Unit{Track: track, DTS: d, PTS: d, Key: true, Data: make([]byte, 160), Arrived: begun.Add(d)}))
	}
	<-playable
	index := httptest.NewRecorder()
	server.ServeHTTP(index, httptest.NewRequest(http.MethodGet, "/live/a/index.m3u8", nil))
	run := regexp.MustCompile(`(?m)^([0-9a-f]+/source)/live\.m3u8`).FindStringSubmatch(index.Body.String())
	require.Len(b, run, 2, index.Body.String())
	r := httptest.NewRequest(http.MethodGet, "/live/a/"+run[1]+"/seg0.mp4", nil)
	w := &discard{header: http.Header{}}
	server.ServeHTTP(w, r)
	require.Equal(b, http.StatusOK, w.status)
	require.Positive(b, w.bytes)
	return func() float64 {
		began := time.Now()
		for range times {
			server.ServeHTTP(w, r)
		}
		return float64(time.Since(began).Nanoseconds()) / times
	}
}

// discard is a response writer that discards the body.
type discard struct {
	header        http.Header
	status, bytes int
}

// Header implements http.ResponseWriter.
func (d *discard) Header() http.Header { return d.header }

// WriteHeader implements http.ResponseWriter.
func (d *discard) WriteHeader(status int) { d.status = status }

// Write implements http.ResponseWriter.
func (d *discard) Write(p []byte) (int, error) {
	d.status, d.bytes = http.StatusOK, d.bytes+len(p)
	return len(p), nil
}

// forwardTo creates 100 subscribers of a track. The returned function forwards packets to them
// and returns the ns per packet and subscriber.
func forwardTo(b *testing.B, sent func(int)) func() float64 {
	b.Helper()
	const packets = 50
	workers := forward.NewWorkers(1)
	track := forward.NewTrack(forward.TrackConfig{ID: "t", Kind: forward.Audio, MimeType: "audio/opus", ClockRate: 48_000, Layers: 1})
	var arrived atomic.Int64
	b.Cleanup(func() {
		track.Close()
		workers.Close()
	})
	for i := range forwardSubscribers {
		written := 0
		e := forward.NewEgress(workers, forward.EgressConfig{Sent: sent, Flush: func() {
			arrived.Add(int64(written))
			written = 0
		}})
		b.Cleanup(e.Close)
		e.Add(track, forward.SinkConfig{SSRC: uint32(i + 1), PayloadType: 111, Write: func(_ *rtp.Header, payload []byte) (int, error) {
			written++
			return len(payload) + 28, nil
		}})
	}
	seq := uint16(0)
	next := func() []byte {
		seq++
		raw, err := (&rtp.Packet{
			Header: rtp.Header{Version: 2, PayloadType: 111, SSRC: 7, SequenceNumber: seq, Timestamp: uint32(seq) * 960}, Payload: make([]byte, 160),
		}).Marshal()
		require.NoError(b, err)
		return raw
	}
	for arrived.Load() < forwardSubscribers { // until all are subscribed
		track.Write(0, next())
		<-time.After(time.Millisecond)
	}
	<-time.After(100 * time.Millisecond)
	return func() float64 {
		list := make([][]byte, packets)
		for i := range list {
			list[i] = next()
		}
		want := arrived.Load() + packets*forwardSubscribers
		began := time.Now()
		for _, p := range list {
			track.Write(0, p)
		}
		for arrived.Load() < want {
			<-time.After(50 * time.Microsecond)
		}
		return float64(time.Since(began).Nanoseconds()) / packets / forwardSubscribers
	}
}
