package stream

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// KeepAudience is how long the audience per minute is kept: more than a year, so
// that a month can be compared with the same month of the year before.
const KeepAudience = 400 * 24 * time.Hour

// Audience is the number of players of a stream on this node.
type Audience struct {
	StreamID string
	Viewers  int
}

// RecordAudience records the current audience, here and on SRS servers. The
// maximum of each minute is kept, so additional or repeated samples have no
// effect.
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

// AudienceSum is the audience of a stream in the time in which samples are kept.
type AudienceSum struct {
	// PeakViewers is the highest number of players at one time, WatchedMinutes the sum over all players.
	PeakViewers, WatchedMinutes int64
}

// SumAudience sums the audience of one of the tenant's streams.
func (s *Service) SumAudience(ctx context.Context, tenantID, streamID string) (AudienceSum, error) {
	row, err := db.New(s.config.Pool).SumStreamAudience(ctx, db.SumStreamAudienceParams{TenantID: tenantID, StreamID: streamID})
	if err != nil {
		return AudienceSum{}, fmt.Errorf("sum the audience of a stream: %w", err)
	}
	return AudienceSum(row), nil
}
