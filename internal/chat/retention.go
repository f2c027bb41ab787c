package chat

import (
	"context"

	"showfloor/gen/db"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
)

// DeleteOld deletes messages older than Config.KeepMessages, in channels of every
// kind. Replies to a deleted message keep its id.
func (s *Service) DeleteOld(ctx context.Context) error {
	if s.config.KeepMessages == 0 {
		return nil
	}
	before := s.config.Now().Add(-s.config.KeepMessages)
	return postgres.DeleteInBatches("messages", func(maxRows int32) (int64, error) {
		return db.New(s.config.Pool).DeleteMessagesBefore(ctx, db.DeleteMessagesBeforeParams{
			BeforeID: id.Earliest(id.Message, before), Before: before, MaxRows: maxRows,
		})
	})
}
