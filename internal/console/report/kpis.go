package report

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// KPIs are the platform's key figures.
type KPIs struct {
	At time.Time
	// Tenants are counted by status.
	Tenants map[string]int64
	// NewTenants signed up in the last 30 days, NewTenantsBefore in the 30 days before that.
	NewTenants, NewTenantsBefore int64
	// Users are the ACTIVE users.
	Users, Viewers int64
	// Now counts what is active at present.
	Now db.CountActiveNowRow
	// Recordings are those that are READY, with the bytes of their files.
	Recordings, RecordingBytes int64
	OpenTickets                int64
}

const newTenantDays = 30

// GetKPIs returns the figures as of now.
func (s *Service) GetKPIs(ctx context.Context) (k KPIs, err error) {
	q := db.New(s.pool)
	k.At, k.Tenants = s.now(), map[string]int64{}
	counts, err := q.CountTenantsByPlanAndStatus(ctx)
	if err != nil {
		return k, fmt.Errorf("count tenants: %w", err)
	}
	for _, c := range counts {
		k.Tenants[c.Status] += c.N
	}
	since := k.At.AddDate(0, 0, -newTenantDays)
	if k.NewTenants, err = q.CountTenantsSince(ctx, db.CountTenantsSinceParams{Since: since, Until: k.At.Add(time.Minute)}); err != nil {
		return k, fmt.Errorf("count new tenants: %w", err)
	}
	k.NewTenantsBefore, err = q.CountTenantsSince(ctx, db.CountTenantsSinceParams{Since: since.AddDate(0, 0, -newTenantDays), Until: since})
	if err != nil {
		return k, fmt.Errorf("count new tenants: %w", err)
	}
	for _, kept := range []struct {
		to         *int64
		scope, key string
	}{{&k.Users, "users", "ACTIVE"}, {&k.Recordings, "recordings", ""}, {&k.RecordingBytes, "recording_bytes", ""}} {
		if *kept.to, err = q.GetKeptNumber(ctx, db.GetKeptNumberParams{Scope: kept.scope, Key: kept.key}); err != nil {
			return k, fmt.Errorf("get number of %s: %w", kept.scope, err)
		}
	}
	if k.Now, err = q.CountActiveNow(ctx); err != nil {
		return k, fmt.Errorf("count what is active: %w", err)
	}
	if k.Viewers, err = countViewers(ctx, q, k.At); err != nil {
		return k, err
	}
	k.OpenTickets, err = s.openTickets(ctx)
	return k, err
}

// countViewers returns the viewers of all live streams together.
func countViewers(ctx context.Context, q *db.Queries, now time.Time) (int64, error) {
	last := now.Add(-time.Minute)
	n, err := q.CountPlatformViewers(ctx, db.CountPlatformViewersParams{
		Minute: int32(now.UTC().Minute()), Hour: now.UTC().Truncate(time.Hour),
		LastMinute: int32(last.UTC().Minute()), LastHour: last.UTC().Truncate(time.Hour),
	})
	if err != nil {
		return 0, fmt.Errorf("count viewers: %w", err)
	}
	return n, nil
}
