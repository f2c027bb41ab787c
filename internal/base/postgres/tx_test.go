package postgres_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/stored"
	"showfloor/internal/testkit/dbtest"
)

func accounts(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := dbtest.NewEmpty(t)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE accounts AS SELECT id, 100 AS cents FROM generate_series(1, 2) id"); err != nil {
		t.Fatal(err)
	}
	return pool
}

func pay(ctx context.Context, tx pgx.Tx, id, cents int) error {
	_, err := tx.Exec(ctx, "UPDATE accounts SET cents = cents + $2 WHERE id = $1", id, cents)
	return err
}

func cents(t *testing.T, pool *pgxpool.Pool, id int) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(context.Background(), "SELECT cents FROM accounts WHERE id = $1", id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTransactionCommitsOrLeavesNothing(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	refusal := errors.New("refused")
	for _, c := range []struct {
		name  string
		fn    func(tx pgx.Tx) error
		err   error
		total int
	}{
		{"success", func(pgx.Tx) error { return nil }, nil, 101},
		{"error", func(pgx.Tx) error { return refusal }, refusal, 101},
	} {
		err := postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
			return errors.Join(pay(t.Context(), tx, 1, 1), c.fn(tx))
		})
		if !errors.Is(err, c.err) || cents(t, pool, 1) != c.total {
			t.Errorf("%s: %v, %d", c.name, err, cents(t, pool, 1))
		}
	}
	if err := postgres.InTx(t.Context(), pool, func(pgx.Tx) error { return refusal }); err != refusal { //nolint:errorlint // it must be the same
		t.Errorf("the error was changed: %v", err)
	}
}

// TestTransactionThatEndsInAnUnusualWay checks that after a panic, a test's FailNow
// or a cancelled context there are no changes and no connection in a transaction.
func TestTransactionThatEndsInAnUnusualWay(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	for name, end := range map[string]func(cancel func()){
		"panic":  func(func()) { panic("in fn") },
		"exit":   func(func()) { runtime.Goexit() },
		"cancel": func(cancel func()) { cancel() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var recovered any
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { recovered = recover() }()
			_ = postgres.InTx(ctx, pool, func(tx pgx.Tx) error {
				if err := pay(t.Context(), tx, 1, 1); err != nil {
					t.Error(err)
				}
				end(cancel)
				return nil
			})
		})
		wg.Wait()
		if (name == "panic") != (recovered != nil) {
			t.Errorf("%s: recovered %v", name, recovered)
		}
		if got := cents(t, pool, 1); got != 100 {
			t.Errorf("%s: %d", name, got)
		}
		if n := pool.Stat().AcquiredConns(); n != 0 {
			t.Errorf("%s: %d connections are out", name, n)
		}
		cancel()
	}
}

// TestDeadlockIsRetried lets two transactions lock the same two rows in
// opposite order; the one that PostgreSQL cancels runs again.
func TestDeadlockIsRetried(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	var meet sync.WaitGroup
	meet.Add(2)
	transfer := func(from, to int) error {
		first := true
		return postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
			if err := pay(t.Context(), tx, from, -10); err != nil {
				return err
			}
			if first {
				first = false
				meet.Done()
				meet.Wait()
			}
			return pay(t.Context(), tx, to, 10)
		})
	}
	results := make(chan error)
	go func() { results <- transfer(1, 2) }()
	go func() { results <- transfer(2, 1) }()
	if err := errors.Join(<-results, <-results); err != nil {
		t.Fatal(err)
	}
	if a, b := cents(t, pool, 1), cents(t, pool, 2); a != 100 || b != 100 {
		t.Errorf("%d and %d", a, b)
	}
}

func TestConflictsAreRetriedThreeTimes(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	conflict := &pgconn.PgError{Code: "40001"}
	for _, c := range []struct {
		name           string
		failures, runs int
		err            error
	}{
		{"none", 0, 1, nil}, {"three", 3, 4, nil}, {"four", 4, 4, conflict},
	} {
		runs := 0
		err := postgres.InTx(t.Context(), pool, func(pgx.Tx) error {
			if runs++; runs <= c.failures {
				return conflict
			}
			return nil
		})
		if runs != c.runs || !errors.Is(err, c.err) {
			t.Errorf("%s: %d runs, %v", c.name, runs, err)
		}
	}
	runs := 0
	if err := postgres.InTx(t.Context(), pool, func(pgx.Tx) error { runs++; return pgx.ErrNoRows }); runs != 1 || !errors.Is(err, pgx.ErrNoRows) {
		t.Errorf("another error: %d runs, %v", runs, err)
	}
}

// TestOnlyCommittedBytesCount checks that the bytes of tries that were rolled back are not
// in the context's counter.
func TestOnlyCommittedBytesCount(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	conflict := &pgconn.PgError{Code: "40001"}
	for _, c := range []struct {
		name    string
		results []error // of the tries
		want    int64
	}{
		{"success", []error{nil}, 101},
		{"success after two conflicts", []error{conflict, conflict, nil}, 101},
		{"error", []error{pgx.ErrNoRows}, 1},
		{"error after a conflict", []error{conflict, pgx.ErrNoRows}, 1},
	} {
		ctx, written := stored.Count(t.Context())
		stored.Add(ctx, 1) // by an earlier transaction
		try := 0
		_ = postgres.InTx(ctx, pool, func(pgx.Tx) error {
			stored.Add(ctx, 100)
			try++
			return c.results[try-1]
		})
		if got := written.Bytes(); got != c.want || try != len(c.results) {
			t.Errorf("%s: %d bytes after %d tries", c.name, got, try)
		}
	}
	ctx, written := stored.Count(t.Context())
	err := postgres.InTx(ctx, pool, func(tx pgx.Tx) error {
		stored.Add(ctx, 100)
		_, _ = tx.Exec(ctx, "SELECT no_such_column")
		return nil
	})
	if !errors.Is(err, pgx.ErrTxCommitRollback) || written.Bytes() != 0 {
		t.Errorf("failed commit: %d bytes, %v", written.Bytes(), err)
	}
}

// TestBytesThatMayBeStoredCount checks that the counter keeps the bytes of a transaction whose
// commit wasn't answered, and of one that the caller cancelled, even though it was rolled back.
// It doesn't keep those of a transaction that was rolled back because the server was too slow.
func TestBytesThatMayBeStoredCount(t *testing.T) {
	t.Parallel()
	pool, loss := dbtest.NewLossy(t)
	for _, c := range []struct {
		name string
		end  func(cancel context.CancelCauseFunc)
		want int64
	}{
		{"commit without an answer", func(context.CancelCauseFunc) { loss.Next("commit") }, 100},
		{"cancelled", func(cancel context.CancelCauseFunc) { cancel(nil) }, 100},
		{"timed out", func(cancel context.CancelCauseFunc) { cancel(context.DeadlineExceeded) }, 0},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		ctx, written := stored.Count(ctx)
		err := postgres.InTx(ctx, pool, func(pgx.Tx) error {
			stored.Add(ctx, 100)
			c.end(cancel)
			return nil
		})
		cancel(nil)
		if err == nil || written.Bytes() != c.want {
			t.Errorf("%s: %d bytes, %v", c.name, written.Bytes(), err)
		}
	}
	if loss.Lost() != 1 {
		t.Errorf("%d commits without an answer", loss.Lost())
	}
}

// TestSwallowedErrorIsAFailedCommit lets fn ignore the error of a statement.
// The commit must fail, because it can't contain fn's changes.
func TestSwallowedErrorIsAFailedCommit(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	err := postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		_ = pay(t.Context(), tx, 1, 1)
		_, _ = tx.Exec(t.Context(), "SELECT no_such_column")
		return nil
	})
	if !errors.Is(err, pgx.ErrTxCommitRollback) || cents(t, pool, 1) != 100 {
		t.Errorf("%v, %d", err, cents(t, pool, 1))
	}
}

// watcher is a hook that can refuse a commit.
type watcher struct {
	refuse          error
	before, commits int
}

func (w *watcher) BeforeCommit(ctx context.Context, tx pgx.Tx) error {
	w.before++
	if w.refuse != nil {
		return w.refuse
	}
	return pay(ctx, tx, 2, 1)
}

func (w *watcher) AfterCommit() { w.commits++ }

func TestAHookIsPartOfTheTransaction(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	hook := &watcher{}
	ctx := postgres.WithHook(t.Context(), hook)
	work := func(tx pgx.Tx) error { return pay(ctx, tx, 1, 10) }
	if err := postgres.InTx(ctx, pool, work); err != nil {
		t.Fatal(err)
	}
	hook.refuse = errors.New("refused")
	if err := postgres.InTx(ctx, pool, work); !errors.Is(err, hook.refuse) {
		t.Fatal(err)
	}
	failure := errors.New("failed before the hook")
	if err := postgres.InTx(ctx, pool, func(pgx.Tx) error { return failure }); !errors.Is(err, failure) {
		t.Fatal(err)
	}
	if hook.before != 2 || hook.commits != 1 || cents(t, pool, 1) != 110 || cents(t, pool, 2) != 101 {
		t.Fatal(hook.before, hook.commits, cents(t, pool, 1), cents(t, pool, 2))
	}
}

// TestASnapshotSeesOneState: a change that commits between two statements of a snapshot is in neither, and a snapshot writes nothing.
func TestASnapshotSeesOneState(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	read := func(tx pgx.Tx) (n int) {
		if err := tx.QueryRow(t.Context(), "SELECT cents FROM accounts WHERE id = 1").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	err := postgres.InSnapshot(t.Context(), pool, func(tx pgx.Tx) error {
		before := read(tx)
		err := postgres.InTx(t.Context(), pool, func(other pgx.Tx) error { return pay(t.Context(), other, 1, 1) })
		if after := read(tx); before != 100 || after != 100 {
			t.Errorf("the snapshot read %d, then %d", before, after)
		}
		return err
	})
	if err != nil || cents(t, pool, 1) != 101 {
		t.Errorf("%v, %d", err, cents(t, pool, 1))
	}
	err = postgres.InSnapshot(t.Context(), pool, func(tx pgx.Tx) error { return pay(t.Context(), tx, 1, 1) })
	if err == nil || cents(t, pool, 1) != 101 {
		t.Errorf("a snapshot has written: %v, %d", err, cents(t, pool, 1))
	}
}
