package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/jackc/pgx/v5"
)

// transaction is the pgx.Tx that InTx hands out. It keeps the functions to run after the commit.
type transaction struct {
	pgx.Tx

	// outer is the transaction that a savepoint belongs to; nil if this isn't a savepoint.
	outer *transaction
	after []func()
}

// AfterCommit makes InTx run fn once tx is committed: for effects that can't be rolled back and
// may be lost, such as a publication on the realtime channel. The functions of one transaction run
// one after the other, in the order of the calls, in InTx's goroutine and before InTx returns. So
// a lock that the caller of InTx holds orders the publications of several transactions.
//
// The functions don't run if the transaction is rolled back, if it runs again after a conflict
// (only the calls of the try that commits count), or if its commit gets no answer: then it may have
// been committed, and subscribers see the change when they next read the state. Those of a
// savepoint (tx.Begin) run if the savepoint is released and the transaction is committed. If the
// process ends after the commit, they are lost. Effects that must not be lost need a job or an
// event in the transaction.
//
// A function that panics is logged; the others run, and InTx's result stays the same. AfterCommit
// panics if tx isn't from InTx.
func AfterCommit(tx pgx.Tx, fn func()) {
	t, ok := tx.(*transaction)
	if !ok {
		panic(fmt.Sprintf("postgres.AfterCommit: %T is not a transaction of postgres.InTx", tx))
	}
	t.after = append(t.after, fn)
}

// Begin starts a savepoint.
func (t *transaction) Begin(ctx context.Context) (pgx.Tx, error) { //nolint:ireturn // as pgx has it
	tx, err := t.Tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &transaction{Tx: tx, outer: t}, nil
}

// Commit releases a savepoint, whose functions then depend on the outer transaction. InTx
// commits a whole transaction.
func (t *transaction) Commit(ctx context.Context) error {
	if err := t.Tx.Commit(ctx); err != nil {
		return err
	}
	if t.outer != nil {
		t.outer.after = append(t.outer.after, t.after...)
		t.after = nil
	}
	return nil
}

// runAfter runs the functions of AfterCommit.
func (t *transaction) runAfter(ctx context.Context) {
	for _, fn := range t.after {
		runLogged(ctx, fn)
	}
}

// runLogged runs fn and logs its panic. The log is the process's default: InTx has no other.
func runLogged(ctx context.Context, fn func()) {
	defer func() {
		if value := recover(); value != nil {
			slog.ErrorContext(ctx, "panic after a commit", "panic", value, "stack", string(debug.Stack()))
		}
	}()
	fn()
}
