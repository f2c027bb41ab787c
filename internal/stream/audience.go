package stream

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// keepAudience is how long the audience's minutes are kept: a year and some, so
// that a month can be compared with the same one of the year before.
const keepAudience = 400 * 24 * time.Hour

// Audience is how many players watch a stream on this node.
type Audience struct {
	StreamID string
	Viewers  int
}

// RecordAudience writes down who watches at the moment, here and on SRS servers.
// Of each minute the greatest number stays, so that more samples, or the same one
// twice, do no harm.
func (s *Service) RecordAudience(ctx context.Context, list []Audience) error {
	q, now := db.New(s.config.Pool), s.config.Now().UTC()
	hour, minute := now.Truncate(time.Hour), int32(now.Minute())
	if len(list) > 0 {
		p := db.RecordAudienceParams{Node: s.config.Node, Hour: hour, Minute: minute}
		for _, a := range list {
			p.StreamIds = append(p.StreamIds, a.StreamID)
			p.Viewers = append(p.Viewers, int32(a.Viewers))
		}
		if err := q.RecordAudience(ctx, p); err != nil {
			return fmt.Errorf("record audience: %w", err)
		}
	}
	if err := q.RecordServerAudience(ctx, db.RecordServerAudienceParams{Hour: hour, Minute: minute}); err != nil {
		return fmt.Errorf("record audience of media servers: %w", err)
	}
	return nil
}
