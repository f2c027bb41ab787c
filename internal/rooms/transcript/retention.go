package transcript

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/rooms/session"
)

// DeleteOld deletes lines older than Config.Keep.
func (s *Service) DeleteOld(ctx context.Context) error {
	if s.config.Keep == 0 {
		return nil
	}
	before := s.config.Now().Add(-s.config.Keep)
	return postgres.DeleteInBatches(ctx, "lines of transcripts", func(maxRows int32) (int64, error) {
		return db.New(s.config.Pool).DeleteTranscriptLinesBefore(ctx, db.DeleteTranscriptLinesBeforeParams{Before: before, MaxRows: maxRows})
	})
}

var _ session.Dependent = (*Service)(nil)

// EmptySessions implements session.Dependent.
func (s *Service) EmptySessions(ctx context.Context, ids []string) error {
	return postgres.DeleteInBatches(ctx, "lines of transcripts of sessions", func(maxRows int32) (int64, error) {
		return db.New(s.config.Pool).DeleteTranscriptLinesOfSessions(ctx, db.DeleteTranscriptLinesOfSessionsParams{Ids: ids, MaxRows: maxRows})
	})
}

// DeleteOfSessionsTx implements session.Dependent.
func (s *Service) DeleteOfSessionsTx(ctx context.Context, tx pgx.Tx, ids []string) error {
	if err := db.New(tx).DeleteTranscriptsOfSessions(ctx, ids); err != nil {
		return fmt.Errorf("delete transcripts of sessions: %w", err)
	}
	return nil
}
