package webhook

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// keepDeliveries is how long deliveries and their events are kept.
const keepDeliveries = 30 * 24 * time.Hour

// deleteBatch is how many rows one statement deletes: far from its time limit on
// any machine, and no lock is held for long.
const deleteBatch = 5000

// DeleteOld deletes deliveries that are done, and events that nobody waits for.
// What it has deleted when it fails stays deleted.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepDeliveries)
	err := inBatches(func() (int64, error) {
		return q.DeleteDeliveriesBefore(ctx, db.DeleteDeliveriesBeforeParams{Before: before, MaxRows: deleteBatch})
	})
	if err != nil {
		return fmt.Errorf("delete old deliveries: %w", err)
	}
	err = inBatches(func() (int64, error) {
		return q.DeleteEventsBefore(ctx, db.DeleteEventsBeforeParams{Before: before, MaxRows: deleteBatch})
	})
	if err != nil {
		return fmt.Errorf("delete old events: %w", err)
	}
	return nil
}

// inBatches deletes until there are fewer than a batch.
func inBatches(del func() (int64, error)) error {
	for {
		if n, err := del(); err != nil || n < deleteBatch {
			return err
		}
	}
}
