package call

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/rooms/session"
)

var _ session.Dependent = (*Service)(nil)

// EmptySessions implements session.Dependent. A session has at most one call.
func (s *Service) EmptySessions(context.Context, []string) error { return nil }

// DeleteOfSessionsTx implements session.Dependent.
func (s *Service) DeleteOfSessionsTx(ctx context.Context, tx pgx.Tx, sessionIDs []string) error {
	if err := db.New(tx).DeleteCallsOfSessions(ctx, sessionIDs); err != nil {
		return fmt.Errorf("delete calls of sessions: %w", err)
	}
	return nil
}
