package mail

import (
	"context"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// keepMails is how long mails are kept, sent or not.
const keepMails = 30 * 24 * time.Hour

// DeleteOld deletes old mails.
func (s *Service) DeleteOld(ctx context.Context) error {
	before := s.config.Now().Add(-keepMails)
	return postgres.DeleteInBatches(ctx, "mails", func(maxRows int32) (int64, error) {
		return db.New(s.config.Pool).DeleteMailsBefore(ctx, db.DeleteMailsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
