package analytics

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
)

// Overview is a tenant at a glance.
type Overview struct {
	db.CountTenantRow

	At           time.Time
	Viewers      int64
	LiveSessions int64
	// Today is since midnight, UTC.
	Today Point
}

// GetOverview returns an overview of the caller's tenant. Viewers are the viewers of the
// last samples, which are taken every few seconds.
func (s *Service) GetOverview(ctx context.Context, c tenancy.Caller) (Overview, error) {
	q, now := db.New(s.pool), s.now().UTC()
	counts, err := q.CountTenant(ctx, c.TenantID)
	if err != nil {
		return Overview{}, fmt.Errorf("count tenant: %w", err)
	}
	last := now.Add(-time.Minute)
	viewers, err := q.CountViewers(ctx, db.CountViewersParams{
		TenantID: c.TenantID, Hour: now.Truncate(time.Hour), Minute: int32(now.Minute()),
		LastHour: last.Truncate(time.Hour), LastMinute: int32(last.Minute()),
	})
	if err != nil {
		return Overview{}, fmt.Errorf("count viewers: %w", err)
	}
	live, err := q.CountLiveSessions(ctx, c.TenantID)
	if err != nil {
		return Overview{}, fmt.Errorf("count live sessions: %w", err)
	}
	midnight := now.Truncate(Day.length())
	today, err := s.GetAnalytics(ctx, c, &midnight, new(midnight.Add(Day.length())), Day)
	if err != nil {
		return Overview{}, err
	}
	return Overview{CountTenantRow: counts, At: now, Viewers: viewers, LiveSessions: live, Today: today.Points[0]}, nil
}
