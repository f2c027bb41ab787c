package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/batch"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
)

// overdueAtOnce is the maximum number of sessions that CloseOverdueBreakouts reads at once.
const overdueAtOnce = 100

// CloseDueBreakoutsArgs is the job that closes breakout rooms of a session whose time
// has ended.
type CloseDueBreakoutsArgs struct {
	TenantID string `json:"tenantId"`
	// SessionID is the parent.
	SessionID string `json:"sessionId"`
}

// Kind is the job's name.
func (CloseDueBreakoutsArgs) Kind() string { return "session_close_due_breakouts" }

var _ river.JobArgs = CloseDueBreakoutsArgs{}

// closingTime is when rooms close that are opened now, with the precision that the API
// shows; nil for a duration of 0, which means never.
func (s *Service) closingTime(duration time.Duration) *time.Time {
	if duration == 0 {
		return nil
	}
	return new(s.config.Now().Add(duration).Truncate(time.Millisecond))
}

// scheduleClosing adds the job that closes rooms at their time, if they have one.
func (s *Service) scheduleClosing(ctx context.Context, tx pgx.Tx, parent db.Session, at *time.Time) error {
	if at == nil {
		return nil
	}
	_, err := s.config.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{
		Args: CloseDueBreakoutsArgs{TenantID: parent.TenantID, SessionID: parent.ID}, InsertOpts: &river.InsertOpts{ScheduledAt: *at},
	}})
	if err != nil {
		return fmt.Errorf("insert job that closes breakouts: %w", err)
	}
	return nil
}

// CloseDueBreakouts closes the breakout rooms of a session whose time has ended. It
// returns how long the next one stays open, or 0 if no other room has an end.
func (s *Service) CloseDueBreakouts(ctx context.Context, tenantID, sessionID string) (wait time.Duration, err error) {
	release, err := s.takeTurns(ctx, tenantID, sessionID)
	if err != nil {
		return 0, err
	}
	defer release()
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		parent, err := LockTx(ctx, tx, tenantID, sessionID)
		if err != nil {
			return err
		}
		open, err := lockOpenBreakouts(ctx, tx, parent)
		if err != nil {
			return err
		}
		var due []db.Session
		due, wait = dueRooms(open, s.config.Now())
		a := &announcements{}
		if err := s.endBreakouts(ctx, tx, a, parent, due, nil); err != nil {
			return err
		}
		return s.announce(ctx, tx, a)
	})
	if problem.Is(err, "not_found") { // retention has deleted it
		return 0, nil
	}
	return wait, err
}

// dueRooms returns the rooms whose time has ended, and how long the next one stays
// open; 0 if no other room has an end.
func dueRooms(open []db.Session, now time.Time) (due []db.Session, wait time.Duration) {
	for _, room := range open {
		switch {
		case room.ClosesAt == nil:
		case !room.ClosesAt.After(now):
			due = append(due, room)
		case wait == 0 || room.ClosesAt.Sub(now) < wait:
			wait = room.ClosesAt.Sub(now)
		}
	}
	return due, wait
}

// CloseOverdueBreakouts closes breakout rooms whose time has ended, for example
// because their job was lost. Each session has its own transaction, and a failure
// doesn't stop the others.
func (s *Service) CloseOverdueBreakouts(ctx context.Context) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	var errs []error
	for after, more := "", true; more; {
		rows, err := q.ListOverdueBreakouts(ctx, db.ListOverdueBreakoutsParams{Now: now, After: after, MaxRows: overdueAtOnce})
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("list overdue breakouts: %w", err))...)
		}
		errs = append(errs, batch.Each(rows, func(r db.ListOverdueBreakoutsRow) error {
			_, err := s.CloseDueBreakouts(ctx, r.TenantID, r.ParentSessionID)
			return err
		}))
		if more = len(rows) == overdueAtOnce; more {
			after = rows[len(rows)-1].ParentSessionID
		}
	}
	return errors.Join(errs...)
}
