package usage

import (
	"context"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// DefaultKeep is how long intervals are kept: the billing period and the one before it, with
// time to investigate a complaint.
const DefaultKeep = 92 * 24 * time.Hour

// keepResources is how long the sums by resource are kept: as long as a history by stream reaches back, and a day.
const keepResources = maxDays + 24*time.Hour

// DeleteOld deletes intervals that began longer ago than Config.Keep, and sums by resource longer ago than keepResources.
func (s *Service) DeleteOld(ctx context.Context) error {
	q := db.New(s.pool)
	oldest := s.now().Add(-keepResources).UTC().Truncate(24 * time.Hour)
	err := postgres.DeleteInBatches(ctx, "usage of resources", func(maxRows int32) (int64, error) {
		return q.DeleteUsageResourceDaysBefore(ctx, db.DeleteUsageResourceDaysBeforeParams{Before: oldest, MaxRows: maxRows})
	})
	if err != nil {
		return err
	}
	before := firstKey(s.now().Add(-s.keep))
	return postgres.DeleteInBatches(ctx, "usage intervals", func(maxRows int32) (int64, error) {
		return q.DeleteUsageIntervalsBefore(ctx, db.DeleteUsageIntervalsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
