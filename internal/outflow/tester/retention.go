package tester

import (
	"context"
	"errors"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// DeleteOld deletes captures older than keep, and the rows of URLs that were
// deleted as long ago.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.since()
	return errors.Join(
		s.deleteBefore(ctx, before),
		postgres.DeleteInBatches(ctx, "capture URLs", func(maxRows int32) (int64, error) {
			return q.DeleteCaptureURLsBefore(ctx, db.DeleteCaptureURLsBeforeParams{Before: &before, MaxRows: maxRows})
		}),
	)
}
