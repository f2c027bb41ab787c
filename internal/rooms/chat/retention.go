package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/rooms/session"
)

// keepStreamPins is how long pins in streams' rooms are kept. A recording takes them over when it is READY, so this is longer
// than a broadcast.
const keepStreamPins = 30 * 24 * time.Hour

// keepTimeouts is how long a row of channel_restrictions stays after its timeout has ended. Lists leave ended timeouts out by the
// database's clock; an hour is longer than clocks differ.
const keepTimeouts = time.Hour

// DeleteOld deletes old messages, pins in streams' rooms older than keepStreamPins, and the rows of ended timeouts in the list of
// restrictions.
func (s *Service) DeleteOld(ctx context.Context) error {
	pins := postgres.DeleteInBatches(ctx, "pins", func(maxRows int32) (int64, error) {
		return db.New(s.config.Pool).DeleteStreamPinsBefore(ctx, db.DeleteStreamPinsBeforeParams{
			Before: s.config.Now().Add(-keepStreamPins), MaxRows: maxRows,
		})
	})
	timeouts := postgres.DeleteInBatches(ctx, "ended timeouts", func(maxRows int32) (int64, error) {
		return db.New(s.config.Pool).DeleteEndedTimeouts(ctx, db.DeleteEndedTimeoutsParams{
			Before: new(s.config.Now().Add(-keepTimeouts)), MaxRows: maxRows,
		})
	})
	return errors.Join(pins, timeouts, s.deleteOldMessages(ctx))
}

// deleteOldMessages deletes messages older than Config.KeepMessages, in channels of every
// kind. Replies to a deleted message keep its id.
func (s *Service) deleteOldMessages(ctx context.Context) error {
	keep, err := s.config.KeepMessages, error(nil)
	if s.config.Retention != nil {
		keep, err = s.config.Retention(ctx)
	}
	if err != nil || keep == 0 {
		return err
	}
	before := s.config.Now().Add(-keep)
	return postgres.DeleteInBatches(ctx, "messages", func(maxRows int32) (int64, error) {
		return db.New(s.config.Pool).DeleteMessagesBefore(ctx, db.DeleteMessagesBeforeParams{
			BeforeID: id.Earliest(id.Message, before), Before: before, MaxRows: maxRows,
		})
	})
}

var _ session.Dependent = (*Service)(nil)

// EmptySessions implements session.Dependent.
func (s *Service) EmptySessions(ctx context.Context, ids []string) error {
	q := db.New(s.config.Pool)
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
	} {
		if err := postgres.DeleteInBatches(ctx, rows.of, rows.del); err != nil {
			return err
		}
	}
	return nil
}

// DeleteOfSessionsTx implements session.Dependent. It deletes the channels first,
// which waits for transactions that write in them.
func (s *Service) DeleteOfSessionsTx(ctx context.Context, tx pgx.Tx, ids []string) error {
	q := db.New(tx)
	deleted, err := q.DeleteChannelsOfSessions(ctx, ids)
	if err != nil {
		return fmt.Errorf("delete channels of sessions: %w", err)
	}
	if err := q.DeleteChatOfSessions(ctx, ids); err != nil {
		return fmt.Errorf("delete chat of sessions: %w", err)
	}
	subjects := make([]event.Subject, len(deleted))
	for i, row := range deleted {
		subjects[i] = event.Subject{TenantID: row.TenantID, ID: subjectOf(row.ID)}
	}
	return event.DeleteSubjectsTx(ctx, tx, subjects)
}
