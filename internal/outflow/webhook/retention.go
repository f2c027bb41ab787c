package webhook

import (
	"context"
	"errors"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
)

// keepDeliveries is how long deliveries and their events are kept.
const keepDeliveries = 30 * 24 * time.Hour

// keepEndpoints is how long the rows of deleted endpoints are kept.
const keepEndpoints = 30 * 24 * time.Hour

// DeleteOld deletes finished deliveries, events without an open delivery, and the
// rows of deleted endpoints.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepDeliveries)
	return errors.Join(
		postgres.DeleteInBatches("deliveries", func(maxRows int32) (int64, error) {
			return q.DeleteDeliveriesBefore(ctx, db.DeleteDeliveriesBeforeParams{Before: before, MaxRows: maxRows})
		}),
		event.DeleteOld(ctx, s.config.Pool, before), // after the deliveries, which refer to them
		postgres.DeleteInBatches("webhook endpoints", func(maxRows int32) (int64, error) {
			p := db.DeleteWebhookEndpointsBeforeParams{Before: s.config.Now().Add(-keepEndpoints), MaxRows: maxRows}
			return q.DeleteWebhookEndpointsBefore(ctx, p)
		}),
	)
}
