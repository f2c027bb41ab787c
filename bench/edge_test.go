package bench

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/playtoken"
)

// edgeSink is one of our streams that is watched through another node.
type edgeSink struct {
	*ourSink

	edge  *hls.Server
	inner *httptest.Server
}

func newEdgeSink(b *testing.B) *edgeSink {
	b.Helper()
	const id = "remote"
	s := &edgeSink{ourSink: &ourSink{id: id}}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	s.inner = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.server.NodeHandler().ServeHTTP(w, r) }))
	s.inner.Config.Protocols = &protocols
	node := func(name string) *hls.Server {
		return hls.New(hls.Config{Log: quiet(), Tokens: openTokens{playtoken.New(oneKey{})}, Edge: &hls.EdgeConfig{
			Node: name, Keys: [][]byte{[]byte("benchmark")}, Locate: func(context.Context, string) (hls.Place, error) {
				return hls.Place{Node: "owner", URL: s.inner.URL, Here: name == "owner", Held: true}, nil
			},
		}})
	}
	s.server, s.edge = node("owner"), node("edge")
	s.inner.Start()
	s.hub = hub.New(hub.Config{Outputs: []hub.Output{s.server}})
	var err error
	s.p, err = s.hub.Publish(hub.Broadcast{StreamID: id, LowLatency: true}, "p", func(error) {})
	require.NoError(b, err)
	return s
}

func (s *edgeSink) handler() (http.Handler, string) { return s.edge, "/live/" + s.id + "/" }

func (s *edgeSink) close() {
	s.hub.Close()
	s.edge.Close()
	s.inner.Close()
	s.server.Close()
}

// BenchmarkEdge serves one stream of another node to 500 players in another process, each
// with blocked reloads and all parts, and then the same stream without the other node.
// CPU is this process's, in percent of a core; both nodes run in it. The delay is that of a part at 100 players,
// after the stream's own node has it.
func BenchmarkEdge(b *testing.B) {
	const viewers, fewer = 500, 100
	clip := newHLSClip(b)
	for b.Loop() {
		sink := newEdgeSink(b)
		edge := serveHLS(b, clip, sink, viewers)
		asked := sink.edge.EdgeStats()
		base := serveHLS(b, clip, newOurSinks(b, 1)[0], viewers)
		require.Zero(b, asked.Failed)
		few := serveHLS(b, clip, newEdgeSink(b), fewer)
		b.ReportMetric(quantile(few.delays, .5), "delay100-ms-p50")
		b.ReportMetric(quantile(few.delays, .99), "delay100-ms-p99")
		b.ReportMetric(edge.cpu, "core%")
		b.ReportMetric(edge.parts, "parts/viewer/s")
		b.ReportMetric(base.cpu, "base-core%")
		b.ReportMetric(base.parts, "base-parts/viewer/s")
		b.ReportMetric(edge.cpu/base.cpu, "cpu-ratio")
		// A part takes two requests: for the part, and for the playlist that names it.
		b.ReportMetric(float64(asked.Upstream)/2/edge.all, "upstream/part")
		b.ReportMetric(0, "ns/op")
	}
}
