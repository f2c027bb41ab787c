package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"showfloor/internal/media/hls"
)

// nodeAddress checks NODE_URL.
func nodeAddress(name, value string) error {
	u, err := url.Parse(strings.TrimRight(value, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.String() != u.Scheme+"://"+u.Host {
		return fmt.Errorf("%s: %q is not the address of a server; write http://10.0.0.5:8080 or the like, without a path", name, value)
	}
	return nil
}

// streamChanged is called when another node has stopped or taken over a stream.
func (s *server) streamChanged(ctx context.Context, streamID string) {
	s.playlist.Moved(streamID)
	s.reports.Stopped(ctx, streamID)
}

// withNodes also serves requests of other nodes, if NODE_URL is set.
func (s *server) withNodes(api http.Handler) http.Handler {
	if s.config.NodeURL == "" {
		return api
	}
	nodes := s.playlist.NodeHandler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, hls.NodePrefix) {
			nodes.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// watchEdge adds the metrics of playback that is served for other nodes.
func (m *metrics) watchEdge(playlists *hls.Server) {
	m.gauge("edge_viewers", "Players that watch streams of other nodes here.",
		func() float64 { return float64(playlists.EdgeStats().Viewers) })
	m.gauge("edge_streams", "Streams of other nodes that are watched here.", func() float64 { return float64(playlists.EdgeStats().Streams) })
	m.gauge("edge_waiting_requests", "Requests that wait for another node.", func() float64 { return float64(playlists.EdgeStats().Waiting) })
	m.gauge("edge_cache_bytes", "Memory that playlists and media of other nodes take.",
		func() float64 { return float64(playlists.EdgeStats().CacheBytes) })
	m.counter("edge_upstream_requests_total", "Requests to other nodes for playlists and media.",
		func() float64 { return float64(playlists.EdgeStats().Upstream) })
	m.counter("edge_upstream_failures_total", "Requests to other nodes that got no answer.",
		func() float64 { return float64(playlists.EdgeStats().Failed) })
	m.counter("edge_bytes_out_total", "Media bytes of other nodes' streams sent to viewers.",
		func() float64 { return float64(playlists.EdgeStats().BytesOut) })
}
