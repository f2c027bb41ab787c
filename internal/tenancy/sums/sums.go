// Package sums keeps sums and row counts, so that figures and totals don't read the rows again: the mark up to which
// an area's sums of closed hours are written, and the row counts that triggers keep (see the schema, row_counts).
package sums

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// The names of the sums.
const (
	Figures = "figures"
	Audit   = "audit"
	// Activity are the sums of the platform's reports.
	Activity = "activity"
)

// settleTime is how long after the end of an hour its sums are written. A transaction writes rows with the time at which it began,
// so its rows of that hour may be committed later. A transaction that is open for longer than this delays the sums.
const settleTime = 10 * time.Minute

const (
	// unit is the length of the times whose sums are written.
	unit = time.Hour
	// day is the longest time that one transaction sums.
	day = 24 * time.Hour
	// dayLimit is the time limit of a transaction that sums a day. If it fails, the run continues with an hour in each
	// transaction. It is less than half of the job's time limit, so that the hours have the greater part.
	dayLimit = 20 * time.Second
)

// Writer writes sums. Both methods get the queries of a transaction.
type Writer struct {
	// Name is one of the constants above.
	Name string
	// First returns the time of the first row in [from, until), or until if there is none.
	First func(ctx context.Context, q *db.Queries, from, until time.Time) (time.Time, error)
	// Write writes the sums of the rows in [from, until), which are whole hours of one day in UTC.
	Write func(ctx context.Context, q *db.Queries, from, until time.Time) error

	dayLimit time.Duration // instead of the constant, for tests
}

// Run writes the sums of all hours that ended at least 10 minutes before now and are not written yet, a day in each transaction,
// or an hour if a day fails. Two runs at the same time take turns.
func (w Writer) Run(ctx context.Context, pool *pgxpool.Pool, now time.Time) error {
	last := now.Add(-settleTime).UTC().Truncate(unit)
	for span, more := day, true; more; {
		next, err := w.sum(ctx, pool, last, span)
		switch {
		case err == nil:
			more = next
		case span > unit && ctx.Err() == nil:
			span = unit
		default:
			return fmt.Errorf("write sums of %s: %w", w.Name, err)
		}
	}
	return nil
}

// sum writes the sums of one span at most, in a transaction. It reports whether more are due.
func (w Writer) sum(ctx context.Context, pool *pgxpool.Pool, last time.Time, span time.Duration) (more bool, err error) {
	if span == day {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmp.Or(w.dayLimit, dayLimit))
		defer cancel()
	}
	err = postgres.InTx(ctx, pool, func(tx pgx.Tx) (err error) {
		more, err = w.sumTx(ctx, db.New(tx), last, span)
		return err
	})
	return more, err
}

// sumTx is sum in a transaction.
func (w Writer) sumTx(ctx context.Context, q *db.Queries, last time.Time, span time.Duration) (more bool, err error) {
	mark, err := q.LockSummedUntil(ctx, db.LockSummedUntilParams{Name: w.Name, Before: last.Add(settleTime / 2)})
	if err != nil {
		return false, fmt.Errorf("lock mark: %w", err)
	}
	if mark.Open || !mark.Until.Before(last) {
		return false, nil
	}
	first, err := w.First(ctx, q, mark.Until, last)
	if err != nil {
		return false, fmt.Errorf("find first row: %w", err)
	}
	from := first.UTC().Truncate(unit)
	until := from.Truncate(span).Add(span)
	if until.After(last) {
		until = last
	}
	if from.Before(until) {
		if err := w.Write(ctx, q, from, until); err != nil {
			return false, err
		}
	}
	return until.Before(last), q.SetSummedUntil(ctx, db.SetSummedUntilParams{Name: w.Name, Until: until})
}

// AddRowCounts adds the changes that triggers have recorded to the row counts, so that readers add up few rows. It deletes
// counts of 0.
func AddRowCounts(ctx context.Context, pool *pgxpool.Pool) error {
	return postgres.InTx(ctx, pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := q.AddRowCounts(ctx); err != nil {
			return fmt.Errorf("add row counts: %w", err)
		}
		if err := q.DeleteZeroRowCounts(ctx); err != nil {
			return fmt.Errorf("delete row counts of 0: %w", err)
		}
		return nil
	})
}
