package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// maxRetries is how often a transaction that lost a conflict runs again.
	maxRetries = 3
	// The n-th retry waits a random time below n times this, so that two
	// losers of one conflict don't meet again.
	retryPause = 20 * time.Millisecond
	// rollbackTimeout bounds a rollback, which has to happen even when the
	// caller's context has ended.
	rollbackTimeout = 5 * time.Second
	// beginTime is for how long a transaction that could not even begin, because
	// the database recovers from a crash of its own, is tried again.
	beginTime = 2 * time.Second
)

// InTx runs fn in a transaction and commits it when fn returns nil; on an error
// or a panic it rolls back. fn's error comes back unchanged.
//
// After a serialization failure or a deadlock the whole of it runs again, up to
// three times: so fn may run several times and must not do anything that a
// rollback doesn't undo, such as a network call or appending to a variable
// outside. A Hook in the context runs with it.
//
// When the connection turns out to be lost before fn has run, InTx takes another
// one, for up to two seconds. A connection that is lost later is an error
// (IsUnavailable): nobody knows whether the commit came through.
func InTx(ctx context.Context, pool *pgxpool.Pool, fn func(tx pgx.Tx) error) error {
	for retry := 1; ; retry++ {
		err := runTx(ctx, pool, fn)
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

func runTx(ctx context.Context, pool *pgxpool.Pool, fn func(tx pgx.Tx) error) error {
	tx, err := begin(ctx, pool)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	// Also reached by a panic and by runtime.Goexit (a test that fails inside
	// fn); after the commit it does nothing.
	defer rollback(ctx, tx)
	if err := fn(tx); err != nil {
		return err
	}
	hook := HookFrom(ctx)
	if hook != nil {
		if err := hook.BeforeCommit(ctx, tx); err != nil {
			return err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if hook != nil {
		hook.AfterCommit()
	}
	return nil
}

// begin begins a transaction. A connection of the pool may have died unnoticed,
// and a database that crashed refuses new ones until it has recovered; a
// database that can't be reached at all is not waited for.
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

// rollback ends the transaction. When it fails the connection is broken, the
// pool drops it and the server rolls back by itself.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx)
}
