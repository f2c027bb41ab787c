package stream

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// keepConnections is how long the rows of ended connections are kept: longer
// than a late report of an SRS server can take.
const keepConnections = 30 * 24 * time.Hour

// DeleteOld deletes the rows of connections that ended long ago, and of audiences
// longer ago.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepConnections)
	if _, err := q.DeletePublishersBefore(ctx, &before); err != nil {
		return fmt.Errorf("delete old publishers: %w", err)
	}
	if _, err := q.DeletePlaysBefore(ctx, &before); err != nil {
		return fmt.Errorf("delete old plays: %w", err)
	}
	if _, err := q.DeleteAudienceBefore(ctx, s.config.Now().Add(-keepAudience)); err != nil {
		return fmt.Errorf("delete old audience: %w", err)
	}
	return nil
}
