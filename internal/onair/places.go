package onair

import (
	"context"
	"time"

	"showfloor/internal/media/hls"
	"showfloor/internal/stream"
)

// Edge lets playlists find streams on other nodes; nil for a node without an address,
// which is alone. keys are the same on all nodes. The area comes later than the playlists.
func Edge(node, nodeURL string, keys [][]byte, streams func() *stream.Service) *hls.EdgeConfig {
	if nodeURL == "" {
		return nil
	}
	return &hls.EdgeConfig{Node: node, Keys: keys, Locate: func(ctx context.Context, streamID string) (hls.Place, error) {
		p, err := streams().Locate(ctx, streamID)
		return hls.Place{Node: p.Node, URL: p.URL, Here: p.Node == node, Held: p.Held}, err
	}}
}

// Share tells the other nodes again and again what this one's streams carry, until ctx
// ends.
func (r *Reports) Share(ctx context.Context) {
	ticker := time.NewTicker(stream.ShareEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.share(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (r *Reports) share(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	var ids []string
	for _, s := range r.hub.Streams() {
		ids = append(ids, s.StreamID)
	}
	if err := r.streams.ShareMedia(ctx, ids); err != nil && ctx.Err() == nil {
		r.log.Warn("other nodes were not told what streams carry", "error", err)
	}
}
