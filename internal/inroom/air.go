package inroom

import (
	"context"
	"time"

	"showfloor/internal/id"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/bridge"
	"showfloor/internal/onair"
	"showfloor/internal/problem"
)

// maxConverters bounds the processes that make Opus of AAC on a node. Each takes a
// few percent of a core.
const maxConverters = 32

// NewAir joins streams' rooms with the hub. Publishers in a room are admitted and recorded
// as encoders are. playbackURL is as sfu.Air has it.
func NewAir(h *hub.Hub, reports *onair.Reports, playbackURL func(streamID string) (string, time.Time)) *sfu.Air {
	return &sfu.Air{
		Hub: h, Converters: bridge.NewConverters(maxConverters),
		NewPublisherID: func() string { return id.New(id.Publisher) },
		Publish: func(ctx context.Context, streamID, publisherID, remoteIP string) (hub.Broadcast, error) {
			b, err := reports.PublishFromRoom(ctx, streamID, publisherID, remoteIP)
			if p, refused := problem.As(err); refused {
				return b, &sfu.Refusal{Code: "forbidden", Message: p.Message}
			}
			return b, err
		},
		Unpublish: reports.Unpublish, PlaybackURL: playbackURL,
	}
}
