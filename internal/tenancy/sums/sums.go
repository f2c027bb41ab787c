// Package sums keeps sums and numbers of rows, so that figures and totals don't read the rows again: the mark up to which
// an area's sums of closed times are written, and the numbers of rows that triggers count (see the schema, row_counts).
package sums

import (
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
)

// settleTime is how long after the end of a time its rows may still be written, with the time of their transaction.
// Transactions that are open for longer delay the sums.
const settleTime = 10 * time.Minute

// day is the longest time that one transaction sums.
const day = 24 * time.Hour

// Writer writes sums. Both methods get the queries of a transaction.
type Writer struct {
	// Name is one of the constants above, Unit the length of the times that are summed: 24 h at most, and a divisor of it.
	Name string
	Unit time.Duration
	// First returns the time of the first row in [from, until), or until if there is none.
	First func(ctx context.Context, q *db.Queries, from, until time.Time) (time.Time, error)
	// Write writes the sums of the rows in [from, until), which are whole units of one day in UTC.
	Write func(ctx context.Context, q *db.Queries, from, until time.Time) error
}

// Run writes the sums of all units that ended at least 10 minutes before now and are not written yet, a day in each transaction.
// Two runs at the same time take turns.
func (w Writer) Run(ctx context.Context, pool *pgxpool.Pool, now time.Time) error {
	last := now.Add(-settleTime).UTC().Truncate(w.Unit)
	for more := true; more; {
		err := postgres.InTx(ctx, pool, func(tx pgx.Tx) (err error) {
			more, err = w.step(ctx, db.New(tx), last)
			return err
		})
		if err != nil {
			return fmt.Errorf("write sums of %s: %w", w.Name, err)
		}
	}
	return nil
}

// step writes the sums of one day at most. It reports whether more are due.
func (w Writer) step(ctx context.Context, q *db.Queries, last time.Time) (more bool, err error) {
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
	from := first.UTC().Truncate(w.Unit)
	until := from.Truncate(day).Add(day)
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

// AddRowCounts adds the changes that triggers have recorded to the numbers of rows, so that readers add up few rows.
func AddRowCounts(ctx context.Context, pool *pgxpool.Pool) error {
	if err := db.New(pool).AddRowCounts(ctx); err != nil {
		return fmt.Errorf("add row counts: %w", err)
	}
	return nil
}
