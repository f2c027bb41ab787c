package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/stored"
)

const (
	// maxRetries is how often a transaction runs again after a conflict.
	maxRetries = 3
	// The n-th retry waits a random time below n times this, so that two
	// transactions in conflict don't collide again.
	retryPause = 20 * time.Millisecond
	// rollbackTimeout limits a rollback, which must happen even after the
	// caller's context has ended.
	rollbackTimeout = 5 * time.Second
	// beginTime is how long the begin of a transaction is retried while the
	// database recovers from a crash of its own.
	beginTime = 2 * time.Second
)

// InTx runs fn in a transaction and commits it if fn returns nil. On an error or
// a panic it rolls back. It returns fn's error unchanged.
//
// After a serialization failure or a deadlock it runs fn again in a new
// transaction, up to three times. So fn may run several times and must not do
// anything that a rollback doesn't undo, such as a network call or appending to
// a variable outside. Work that has to follow the commit is passed to AfterCommit. A Hook
// in the context runs with the transaction.
//
// The context's counter (stored.Count) keeps the bytes of a try that committed, whose commit got
// no answer, or that failed because the caller cancelled ctx. Otherwise a client that
// disconnects could write at no charge. The bytes of all other tries are dropped.
//
// If the connection turns out to be lost before fn has run, InTx takes another
// one, for up to two seconds. If a connection is lost later, InTx returns an
// error (IsUnavailable): the transaction may have been committed.
func InTx(ctx context.Context, pool *pgxpool.Pool, fn func(tx pgx.Tx) error) error {
	counter := stored.From(ctx)
	before := counter.Bytes()
	for retry := 1; ; retry++ {
		maybeCommitted, err := runTx(ctx, pool, fn)
		if err != nil && !maybeCommitted && !errors.Is(context.Cause(ctx), context.Canceled) {
			counter.Reset(before)
		}
		if !isConflict(err) || retry > maxRetries {
			return err
		}
		select {
		case <-time.After(rand.N(time.Duration(retry) * retryPause)):
		case <-ctx.Done():
			return err
		}
	}
}

// InSnapshot runs fn in a read-only transaction whose statements all see the same state, that of the first one. So what they read fits
// together, although other transactions commit in between. The rules of InTx apply.
func InSnapshot(ctx context.Context, pool *pgxpool.Pool, fn func(tx pgx.Tx) error) error {
	return InTx(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"); err != nil {
			return fmt.Errorf("set isolation level: %w", err)
		}
		return fn(tx)
	})
}

// runTx runs fn in one transaction. If it returns an error, maybeCommitted reports whether the
// transaction may have been committed all the same.
func runTx(ctx context.Context, pool *pgxpool.Pool, fn func(tx pgx.Tx) error) (maybeCommitted bool, err error) {
	begun, err := begin(ctx, pool)
	if err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	tx := &transaction{Tx: begun}
	// A panic and runtime.Goexit (a test that fails inside fn) also run this.
	// After the commit it does nothing.
	defer rollback(ctx, tx)
	if err := fn(tx); err != nil {
		return false, err
	}
	hook := HookFrom(ctx)
	if hook != nil {
		if err := hook.BeforeCommit(ctx, tx); err != nil {
			return false, err
		}
	}
	if err := ctx.Err(); err != nil { // Commit's error wouldn't tell that it has sent nothing
		return false, fmt.Errorf("commit: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return !isRefusedCommit(err), fmt.Errorf("commit: %w", err)
	}
	if hook != nil {
		hook.AfterCommit()
	}
	tx.runAfter(ctx)
	return false, nil
}

// begin begins a transaction. It retries, because a connection of the pool may
// be broken, and because a database that crashed refuses connections until it
// has recovered. It doesn't wait for a database that can't be reached at all.
func begin(ctx context.Context, pool *pgxpool.Pool) (pgx.Tx, error) { //nolint:ireturn // as pgx has it
	deadline := time.Now().Add(beginTime)
	for {
		tx, err := pool.Begin(ctx)
		if err == nil || !IsUnavailable(err) || isUnreachable(err) && sqlState(err) != cannotConnectNow || time.Now().After(deadline) {
			return tx, err
		}
		select {
		case <-time.After(rand.N(2 * retryPause)):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// rollback ends the transaction. If it fails, the connection is broken: the pool
// drops it and the server rolls back.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx)
}
