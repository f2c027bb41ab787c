package roomgate

import (
	"context"
	"time"

	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/bridge"
	"showfloor/internal/streams/mediagate"
)

// maxConverters is the maximum number of processes per node that convert AAC to
// Opus. Each uses a few percent of a core.
const maxConverters = 32

// NewAir connects streams' rooms with the hub. Publishers in a room are admitted
// and recorded like encoders. playbackURL is as in sfu.Air.
func NewAir(h *hub.Hub, reports *mediagate.Reports, playbackURL func(streamID string) (string, time.Time)) *sfu.Air {
	return &sfu.Air{
		Hub: h, Converters: bridge.NewConverters(maxConverters),
		NewPublisherID: func() string { return id.New(id.Publisher) },
		Publish: func(ctx context.Context, streamID, publisherID, remoteIP string) (hub.Broadcast, error) {
			b, err := reports.PublishFromRoom(ctx, streamID, publisherID, remoteIP)
			if p, refused := problem.As(err); refused {
				return b, &sfu.ClientError{Code: "forbidden", Message: p.Message}
			}
			return b, err
		},
		Unpublish: reports.Unpublish, PlaybackURL: playbackURL,
	}
}
