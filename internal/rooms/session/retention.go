package session

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
)

// sessionsAtOnce is how many sessions one transaction of Retention deletes.
const sessionsAtOnce = 100

// Dependent is an area with rows that belong to sessions and are deleted with them.
// Its methods may run again after an interruption.
type Dependent interface {
	// EmptySessions deletes, in batches, the rows whose number per session is
	// unlimited.
	EmptySessions(ctx context.Context, sessionIDs []string) error
	// DeleteOfSessionsTx deletes all other rows, and those that were written since
	// EmptySessions, in the transaction that has locked the sessions and deletes them.
	DeleteOfSessionsTx(ctx context.Context, tx pgx.Tx, sessionIDs []string) error
}

// Retention deletes sessions that ended longer ago than the retention time, with
// their participants, breakout rooms and the rows of dependent areas. Events,
// deliveries, audit entries and usage refer to a session by its id only, and stay.
// The counter that numbers its events is deleted, since no more events follow.
// Orders don't refer to sessions.
type Retention struct {
	pool       *pgxpool.Pool
	keep       time.Duration
	now        func() time.Time
	dependents []Dependent
}

// NewRetention makes a Retention. If keep is 0, sessions are never deleted.
func NewRetention(pool *pgxpool.Pool, keep time.Duration, now func() time.Time, dependents ...Dependent) *Retention {
	return &Retention{pool, keep, now, dependents}
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
		if err := postgres.InTx(ctx, r.pool, func(tx pgx.Tx) error { return r.delete(ctx, tx, ids) }); err != nil {
			return fmt.Errorf("delete expired sessions: %w", err)
		}
	}
}

// empty deletes, in batches, the rows whose number per session is unlimited.
func (r *Retention) empty(ctx context.Context, ids []string) error {
	for _, d := range r.dependents {
		if err := d.EmptySessions(ctx, ids); err != nil {
			return err
		}
	}
	return postgres.DeleteInBatches(ctx, "participants of sessions", func(n int32) (int64, error) {
		return db.New(r.pool).DeleteParticipantsOfSessions(ctx, db.DeleteParticipantsOfSessionsParams{Ids: ids, MaxRows: n})
	})
}

// delete deletes sessions, and the rows written after they were emptied.
func (r *Retention) delete(ctx context.Context, tx pgx.Tx, ids []string) error {
	locked, err := db.New(tx).LockSessions(ctx, ids)
	if err != nil {
		return fmt.Errorf("lock sessions: %w", err)
	}
	for _, d := range r.dependents {
		if err := d.DeleteOfSessionsTx(ctx, tx, ids); err != nil {
			return err
		}
	}
	subjects := make([]event.Subject, len(locked))
	for i, row := range locked {
		subjects[i] = event.Subject{TenantID: row.TenantID, ID: row.ID}
	}
	if err := event.DeleteSubjectsTx(ctx, tx, subjects); err != nil {
		return err
	}
	return db.New(tx).DeleteSessions(ctx, ids)
}
