package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

const (
	// ShareEvery is the interval at which a node writes its streams' media figures for
	// other nodes.
	ShareEvery = 2 * time.Second
	// mediaFresh is how long figures written by a node are used.
	mediaFresh = 10 * time.Second
	// keepMedia is how long these figures are kept.
	keepMedia = time.Hour
	// nodeSilent is the time after a node's last heartbeat from which others don't
	// contact it.
	nodeSilent = 30 * time.Second
)

// Place is where a stream is published, or was published last.
type Place struct {
	// Node is "" if the stream is on none of our nodes.
	Node string
	// URL is the node's address for other nodes; "" if it has no recent heartbeat or
	// no address.
	URL string
	// Held is set while the stream has a publisher or waits for one to reconnect.
	Held bool
}

// Locate returns where a stream is. For an unknown stream it returns the zero
// Place.
func (s *Service) Locate(ctx context.Context, streamID string) (Place, error) {
	row, err := db.New(s.config.Pool).GetStreamPlace(ctx, db.GetStreamPlaceParams{ID: streamID, AliveSince: s.config.Now().Add(-nodeSilent)})
	if errors.Is(err, pgx.ErrNoRows) {
		return Place{}, nil
	}
	if err != nil {
		return Place{}, fmt.Errorf("get stream place: %w", err)
	}
	return Place{Node: row.Node, URL: row.URL, Held: row.PublisherID != nil || row.Status == Live || row.Status == Reconnecting}, nil
}

// nodeURL is nil for a node that others can't reach.
func (s *Service) nodeURL() *string {
	if s.config.NodeURL == "" {
		return nil
	}
	return &s.config.NodeURL
}

// ShareMedia writes the media figures and viewers of this node's streams for other
// nodes. A node without an address runs alone and writes nothing.
func (s *Service) ShareMedia(ctx context.Context, streamIDs []string) error {
	if s.config.NodeURL == "" {
		return nil
	}
	p := db.ShareStreamMediaParams{Node: s.config.Node, Now: s.config.Now()}
	for _, id := range streamIDs {
		m, ok := s.config.Engine.Media(id)
		if !ok {
			continue
		}
		p.StreamIds, p.Viewers = append(p.StreamIds, id), append(p.Viewers, int32(m.Viewers))
		p.VideoKbps, p.AudioKbps, p.Fps = append(p.VideoKbps, int32(m.VideoKbps)), append(p.AudioKbps, int32(m.AudioKbps)), append(p.Fps, m.FPS)
		p.Widths, p.Heights = append(p.Widths, int32(m.Width)), append(p.Heights, int32(m.Height))
		p.VideoCodecs, p.AudioCodecs = append(p.VideoCodecs, m.VideoCodec), append(p.AudioCodecs, m.AudioCodec)
		p.BFrames, p.KeyIntervalMs = append(p.BFrames, m.BFrames), append(p.KeyIntervalMs, int32(m.KeyInterval.Milliseconds()))
		p.Ladders = append(p.Ladders, m.Ladder)
	}
	if len(p.StreamIds) == 0 {
		return nil
	}
	if err := db.New(s.config.Pool).ShareStreamMedia(ctx, p); err != nil {
		return fmt.Errorf("share what streams carry: %w", err)
	}
	return s.shareInspections(ctx, p.StreamIds)
}

// media returns the media figures of the tenant's streams: this node's own, or
// those that the stream's node has written.
func (s *Service) media(ctx context.Context, tenantID string, rows ...db.Stream) (map[string]Media, error) {
	list := map[string]Media{}
	var elsewhere []string
	for _, row := range rows {
		m, here := s.config.Engine.Media(row.ID)
		switch {
		case here:
			list[row.ID] = m
		case row.Node != "" && row.Node != s.config.Node && (onAir(row) || row.PublisherID != nil):
			elsewhere = append(elsewhere, row.ID)
		}
	}
	if len(elsewhere) == 0 {
		return list, nil
	}
	reported, err := db.New(s.config.Pool).ListStreamMedia(ctx, db.ListStreamMediaParams{
		TenantID: tenantID, Ids: elsewhere, Since: s.config.Now().Add(-mediaFresh),
	})
	if err != nil {
		return nil, fmt.Errorf("list what streams carry: %w", err)
	}
	for _, m := range reported {
		list[m.StreamID] = Media{
			VideoKbps: int(m.VideoKbps), AudioKbps: int(m.AudioKbps), FPS: m.Fps, Width: int(m.Width), Height: int(m.Height),
			VideoCodec: m.VideoCodec, AudioCodec: m.AudioCodec, Viewers: int(m.Viewers),
			BFrames: m.BFrames, KeyInterval: time.Duration(m.KeyIntervalMs) * time.Millisecond, Ladder: m.Ladder,
		}
	}
	return list, nil
}
