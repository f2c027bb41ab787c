package stream

import (
	"context"
	"errors"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// keepConnections is how long the rows of ended connections are kept: longer than
// a report of an SRS server can be delayed.
const keepConnections = 30 * 24 * time.Hour

// DeleteOld deletes rows of connections that ended more than keepConnections ago,
// the health of streams after keepHealth,
// and audience rows older than KeepAudience.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	ended := now.Add(-keepConnections)
	return errors.Join(
		postgres.DeleteInBatches(ctx, "publishers", func(maxRows int32) (int64, error) {
			return q.DeletePublishersBefore(ctx, db.DeletePublishersBeforeParams{Before: &ended, MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "plays", func(maxRows int32) (int64, error) {
			return q.DeletePlaysBefore(ctx, db.DeletePlaysBeforeParams{Before: &ended, MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "stream health", func(maxRows int32) (int64, error) {
			return q.DeleteStreamHealthBefore(ctx, db.DeleteStreamHealthBeforeParams{Before: now.Add(-keepHealth), MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "audience", func(maxRows int32) (int64, error) {
			return q.DeleteAudienceBefore(ctx, db.DeleteAudienceBeforeParams{Before: now.Add(-KeepAudience), MaxRows: maxRows})
		}),
	)
}
