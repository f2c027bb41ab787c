package mediagate

import (
	"context"
	"time"

	"showfloor/internal/media/hls"
	"showfloor/internal/streams/stream"
)

// Edge lets playlists find streams on other nodes. It returns nil for a node without a
// URL, which has no other nodes. keys are the same on all nodes. streams is a function,
// because the area is created after the playlists.
func Edge(node, nodeURL string, keys [][]byte, streams func() *stream.Service) *hls.EdgeConfig {
	if nodeURL == "" {
		return nil
	}
	return &hls.EdgeConfig{Node: node, Keys: keys, Locate: func(ctx context.Context, streamID string) (hls.Place, error) {
		p, err := streams().Locate(ctx, streamID)
		return hls.Place{Node: p.Node, URL: p.URL, Here: p.Node == node, Held: p.Held}, err
	}}
}

// Share repeatedly stores the state of this node's streams for the other nodes, until ctx ends. A single node needn't
// call it.
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
	if err := r.streams.ShareMedia(ctx, r.streamIDs()); err != nil && ctx.Err() == nil {
		r.log.Warn("media figures of streams not written for other nodes", "error", err)
	}
}
