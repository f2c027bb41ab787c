package webhook

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// keepDeliveries is how long deliveries and their events are kept.
const keepDeliveries = 30 * 24 * time.Hour

// DeleteOld deletes deliveries that are done, and events that nobody waits for.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepDeliveries)
	if _, err := q.DeleteDeliveriesBefore(ctx, before); err != nil {
		return fmt.Errorf("delete old deliveries: %w", err)
	}
	if _, err := q.DeleteEventsBefore(ctx, before); err != nil {
		return fmt.Errorf("delete old events: %w", err)
	}
	return nil
}
