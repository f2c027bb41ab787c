package session

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/postgres"
)

// sessionsAtOnce is how many sessions one transaction of Retention deletes.
const sessionsAtOnce = 100

// Retention deletes sessions that ended longer ago than the retention time, with
// their participants, calls, chat, pins and breakout rooms. Events, deliveries,
// audit entries and usage refer to a session by its id only, and stay. The counter
// that numbers its events is deleted, since no more events follow. Orders don't
// refer to sessions.
type Retention struct {
	pool *pgxpool.Pool
	keep time.Duration
	now  func() time.Time
}

// NewRetention makes a Retention. If keep is 0, sessions are never deleted.
func NewRetention(pool *pgxpool.Pool, keep time.Duration, now func() time.Time) *Retention {
	return &Retention{pool, keep, now}
}

// DeleteOld deletes expired sessions, the oldest first. It deletes a session's row
// last, so that the next run continues after an interruption.
func (r *Retention) DeleteOld(ctx context.Context) error {
	if r.keep == 0 {
		return nil
	}
	before := r.now().Add(-r.keep)
	for {
		ids, err := db.New(r.pool).ListSessionsEndedBefore(ctx, db.ListSessionsEndedBeforeParams{Before: before, MaxRows: sessionsAtOnce})
		if err != nil {
			return fmt.Errorf("list expired sessions: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		if err := r.empty(ctx, ids); err != nil {
			return err
		}
		if err := postgres.InTx(ctx, r.pool, func(tx pgx.Tx) error { return deleteSessions(ctx, db.New(tx), ids) }); err != nil {
			return fmt.Errorf("delete expired sessions: %w", err)
		}
	}
}

// empty deletes, in batches, the rows whose number per session is unlimited.
func (r *Retention) empty(ctx context.Context, ids []string) error {
	q := db.New(r.pool)
	for _, rows := range []struct {
		of  string
		del func(maxRows int32) (int64, error)
	}{
		{"messages of sessions", func(n int32) (int64, error) {
			return q.DeleteMessagesOfSessions(ctx, db.DeleteMessagesOfSessionsParams{Ids: ids, MaxRows: n})
		}},
		{"channel members of sessions", func(n int32) (int64, error) {
			return q.DeleteChannelMembersOfSessions(ctx, db.DeleteChannelMembersOfSessionsParams{Ids: ids, MaxRows: n})
		}},
		{"chat moderation of sessions", func(n int32) (int64, error) {
			return q.DeleteChannelModerationOfSessions(ctx, db.DeleteChannelModerationOfSessionsParams{Ids: ids, MaxRows: n})
		}},
		{"pins of sessions", func(n int32) (int64, error) {
			return q.DeletePinsOfSessions(ctx, db.DeletePinsOfSessionsParams{Ids: ids, MaxRows: n})
		}},
		{"participants of sessions", func(n int32) (int64, error) {
			return q.DeleteParticipantsOfSessions(ctx, db.DeleteParticipantsOfSessionsParams{Ids: ids, MaxRows: n})
		}},
	} {
		if err := postgres.DeleteInBatches(rows.of, rows.del); err != nil {
			return err
		}
	}
	return nil
}

// deleteSessions deletes sessions, and the rows written after they were emptied.
func deleteSessions(ctx context.Context, q *db.Queries, ids []string) error {
	if err := q.LockSessions(ctx, ids); err != nil {
		return fmt.Errorf("lock sessions: %w", err)
	}
	if err := q.DeleteChannelsOfSessions(ctx, ids); err != nil {
		return fmt.Errorf("delete channels: %w", err)
	}
	return q.DeleteSessions(ctx, ids)
}
