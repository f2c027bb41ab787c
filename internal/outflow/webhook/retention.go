package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
)

// keepDeliveries is how long deliveries and their events are kept.
const keepDeliveries = 30 * 24 * time.Hour

// keepEndpoints is how long the rows of deleted endpoints are kept.
const keepEndpoints = 30 * 24 * time.Hour

// keepJobs is how long the completed jobs of deliveries are kept. Nothing reads them, and there is one for each delivery. Other jobs
// are kept for River's 24 hours.
const keepJobs = time.Hour

// DeleteOld deletes the completed jobs of deliveries, finished deliveries, events without an open delivery, and the
// rows of deleted endpoints.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepDeliveries)
	return errors.Join(
		s.deleteOldAttempts(ctx),
		postgres.DeleteInBatches(ctx, "jobs of deliveries", func(maxRows int32) (int64, error) {
			return s.deleteJobs(ctx, s.config.Now().Add(-keepJobs), maxRows)
		}),
		postgres.DeleteInBatches(ctx, "deliveries", func(maxRows int32) (int64, error) {
			return q.DeleteDeliveriesBefore(ctx, db.DeleteDeliveriesBeforeParams{Before: before, MaxRows: maxRows})
		}),
		event.DeleteOld(ctx, s.config.Pool, before), // after the deliveries, which refer to them
		postgres.DeleteInBatches(ctx, "webhook endpoints", func(maxRows int32) (int64, error) {
			p := db.DeleteWebhookEndpointsBeforeParams{Before: s.config.Now().Add(-keepEndpoints), MaxRows: maxRows}
			return q.DeleteWebhookEndpointsBefore(ctx, p)
		}),
	)
}

// deleteJobs deletes completed jobs, the oldest first.
func (s *Service) deleteJobs(ctx context.Context, before time.Time, maxRows int32) (int64, error) {
	tag, err := s.config.Pool.Exec(ctx, `
		DELETE FROM river_job WHERE id = ANY (ARRAY(
			SELECT id FROM river_job WHERE state = 'completed' AND finalized_at < $1 AND queue = $2 ORDER BY finalized_at LIMIT $3))`,
		before, Queue, maxRows)
	if err != nil {
		return 0, fmt.Errorf("delete jobs: %w", err)
	}
	return tag.RowsAffected(), nil
}
