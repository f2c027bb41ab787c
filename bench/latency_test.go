package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/outflow/webhook"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/streams/stream"
	"showfloor/jobs"
)

// latencyPublishes is the number of publishes, one after the other, each on a
// new stream.
const latencyPublishes = 30

// BenchmarkStreamStarted measures stream.started, from the moment at which an
// encoder has written its first key frame to the arrival of the webhook. The
// baseline is a plain POST to the same receiver, sent when the hub reports that
// the stream is playable, for the same publishes.
func BenchmarkStreamStarted(b *testing.B) {
	p := newPlant(b)
	encoder := newEncoder(b, p.rtmp.Addr().String(), realisticClip(b))
	p.publish(b, encoder) // warms up connections and prepared statements
	var bare, event []float64
	for b.Loop() {
		for range latencyPublishes {
			key, playable, started := p.publish(b, encoder)
			bare = append(bare, milliseconds(playable.Sub(key)))
			event = append(event, milliseconds(started.Sub(key)))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(event, .5), "p50-ms")
	b.ReportMetric(quantile(event, .95), "p95-ms")
	b.ReportMetric(quantile(bare, .5), "bare-p50-ms")
	b.ReportMetric(quantile(bare, .95), "bare-p95-ms")
	b.ReportMetric(quantile(event, .95)/quantile(bare, .95), "p95-ratio")
}

// plant is all parts from the ingest to the webhook, connected as in
// cmd/showfloor.
type plant struct {
	*services
	rtmp     *rtmp.Server
	arrivals chan arrival
}

// arrival is a POST that the receiver received.
type arrival struct {
	path, streamID string
	at             time.Time
}

func newPlant(b *testing.B) *plant {
	b.Helper()
	p := &plant{arrivals: make(chan arrival, 100)}
	sink := "http://" + serveHTTP(b, http.HandlerFunc(p.receive))
	playlists := hls.New(hls.Config{Log: quiet()})
	reports := mediagate.NewReports(b.Context(), quiet())
	bare := &http.Client{Timeout: patience}
	var posts sync.WaitGroup
	h := hub.New(hub.Config{Outputs: []hub.Output{playlists}, OnPlayable: func(streamID, publisherID string) {
		reports.Playable(streamID, publisherID)
		posts.Go(func() {
			resp, err := bare.Post(sink+"/bare", "application/json", strings.NewReader(`{"data":{"streamId":"`+streamID+`"}}`))
			if err == nil {
				resp.Body.Close()
			}
		})
	}})
	p.services = newServices(b, h)
	reports.Connect(p.Streams, h)
	_, _, err := p.Webhooks.CreateWebhook(b.Context(), p.caller, webhook.EndpointInput{
		URL: sink + "/hook", Events: []string{"stream.started"},
	})
	require.NoError(b, err)
	queue, err := jobs.New(jobs.Config{Pool: p.pool, Areas: p.Areas, Node: "node_bench", Log: quiet()})
	require.NoError(b, err)
	require.NoError(b, queue.Start(context.WithoutCancel(b.Context())))
	p.rtmp, err = rtmp.New(rtmp.Config{Addr: "127.0.0.1:0", Hub: h, Gate: reports, Log: quiet()})
	require.NoError(b, err)
	require.NoError(b, p.rtmp.Start())
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(b, p.rtmp.Stop(ctx))
		h.Close()
		posts.Wait()
		reports.Close()
		playlists.Close()
		require.NoError(b, queue.Stop(ctx))
	})
	return p
}

// receive stores the time of arrival before it reads the body.
func (p *plant) receive(w http.ResponseWriter, r *http.Request) {
	a := arrival{path: r.URL.Path, at: time.Now()}
	var body struct {
		Data struct {
			StreamID string `json:"streamId"`
		} `json:"data"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.streamID = body.Data.StreamID
	p.arrivals <- a
	w.WriteHeader(http.StatusNoContent)
}

// publish publishes a new stream until both POSTs have arrived. It returns the
// times of the first key frame and of the two POSTs.
func (p *plant) publish(b *testing.B, e *encoder) (key, playable, started time.Time) {
	b.Helper()
	s, err := p.Streams.CreateStream(b.Context(), p.caller, stream.Input{Name: "Launch", Mode: stream.LowLatency})
	require.NoError(b, err)
	require.NoError(b, e.orders.Encode(s.Key))
	require.NoError(b, e.reports.Decode(&key))
	deadline := time.After(patience)
	for playable.IsZero() || started.IsZero() {
		select {
		case a := <-p.arrivals:
			require.Equal(b, s.ID, a.streamID)
			if a.path == "/bare" {
				playable = a.at
			} else {
				started = a.at
			}
		case <-deadline:
			b.Fatal("stream.started did not arrive")
		}
	}
	require.NoError(b, e.orders.Encode(""))
	require.NoError(b, e.reports.Decode(new(time.Time)))
	return key, playable, started
}

// realisticClip is the Makefile's sample, which has B-frames, or else the clip
// of the media benchmarks.
func realisticClip(b *testing.B) string {
	b.Helper()
	sample := os.Getenv("SHOWFLOOR_SAMPLE")
	if sample == "" {
		return publishClip(b, 4)
	}
	path := filepath.Join(b.TempDir(), "clip.flv")
	out, err := exec.Command("ffmpeg", "-hide_banner", "-loglevel", "error", "-t", "4", "-i", sample, "-c", "copy", path).CombinedOutput()
	require.NoError(b, err, "%s", out)
	return path
}

// encoder publishes from a separate process. The process reads a stream key,
// answers with the time of the first key frame, publishes in real time until it
// reads an empty key, and answers when it has disconnected.
type encoder struct {
	orders  *json.Encoder
	reports *json.Decoder
}

const (
	encoderAddrEnv = "SHOWFLOOR_BENCH_ENCODER"
	encoderClipEnv = "SHOWFLOOR_BENCH_ENCODER_CLIP"
)

func newEncoder(b *testing.B, addr, clip string) *encoder {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestEncoder$", "-test.v=false")
	cmd.Env = append(os.Environ(), encoderAddrEnv+"="+addr, encoderClipEnv+"="+clip)
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	cmd.Stderr = os.Stderr
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // its errors show elsewhere
	})
	return &encoder{json.NewEncoder(in), json.NewDecoder(out)}
}

// TestEncoder is the encoder's process. As a test it does nothing.
func TestEncoder(t *testing.T) {
	addr := os.Getenv(encoderAddrEnv)
	if addr == "" {
		t.Skip("runs as a child of the benchmarks")
	}
	tags := readFLV(t, os.Getenv(encoderClipEnv))
	orders, reports := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	next := func() string {
		var key string
		if err := orders.Decode(&key); errors.Is(err, io.EOF) {
			return ""
		}
		return key
	}
	for key := next(); key != ""; key = next() {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { encode(ctx, t, addr, key, tags, reports) })
		next()
		cancel()
		wg.Wait()
		require.NoError(t, reports.Encode(time.Now()))
	}
}

// encode publishes once, until ctx or the clip ends.
func encode(ctx context.Context, t *testing.T, addr, key string, tags []flvTag, reports *json.Encoder) {
	t.Helper()
	conn, leave := dialPublisher(t, ctx, addr, key)
	defer leave()
	start, reported := time.Now(), false
	for _, tag := range tags {
		select {
		case <-time.After(time.Until(start.Add(time.Duration(tag.time) * time.Millisecond))):
		case <-ctx.Done():
			return
		}
		tag.wire[1], tag.wire[2], tag.wire[3] = byte(tag.time>>16), byte(tag.time>>8), byte(tag.time)
		if _, err := conn.Write(tag.wire); err != nil {
			t.Error(err)
			return
		}
		const video, keyFrame = 9, 1
		if !reported && !tag.header && tag.wire[7] == video && tag.wire[12]>>4 == keyFrame {
			reported = true
			if err := reports.Encode(time.Now()); err != nil {
				t.Error(err)
				return
			}
		}
	}
}
