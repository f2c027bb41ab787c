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

// DeleteOld deletes intervals that began longer ago than Config.Keep.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.pool), firstKey(s.now().Add(-s.keep))
	return postgres.DeleteInBatches(ctx, "usage intervals", func(maxRows int32) (int64, error) {
		return q.DeleteUsageIntervalsBefore(ctx, db.DeleteUsageIntervalsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
