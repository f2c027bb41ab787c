package postgres_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/dbtest"
)

// effects records the functions that ran after commits.
type effects struct {
	mu   sync.Mutex
	list []string
}

// after records name once tx is committed.
func (e *effects) after(tx pgx.Tx, name string) {
	postgres.AfterCommit(tx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.list = append(e.list, name)
	})
}

func TestEffectsFollowTheCommitInOrder(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	var e effects
	hook := &watcher{}
	require.NoError(t, postgres.InTx(postgres.WithHook(t.Context(), hook), pool, func(tx pgx.Tx) error {
		postgres.AfterCommit(tx, func() {
			if got := cents(t, pool, 1); got != 101 || hook.commits != 1 {
				t.Errorf("%d cents, %d commits", got, hook.commits)
			}
		})
		e.after(tx, "first")
		e.after(tx, "second")
		require.Empty(t, e.list)
		return pay(t.Context(), tx, 1, 1)
	}))
	require.Equal(t, []string{"first", "second"}, e.list)
}

// TestOnlyTheCommittedTryHasEffects uses a real conflict of two serializable transactions.
func TestOnlyTheCommittedTryHasEffects(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	var e effects
	try := 0
	require.NoError(t, postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		try++
		if _, err := tx.Exec(t.Context(), "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"); err != nil {
			return err
		}
		var before int
		if err := tx.QueryRow(t.Context(), "SELECT cents FROM accounts WHERE id = 1").Scan(&before); err != nil {
			return err
		}
		e.after(tx, []string{"first try", "second try"}[try-1])
		if try == 1 {
			if _, err := pool.Exec(t.Context(), "UPDATE accounts SET cents = cents + 5 WHERE id = 1"); err != nil {
				return err
			}
		}
		return pay(t.Context(), tx, 1, 1)
	}))
	require.Equal(t, 2, try)
	require.Equal(t, 106, cents(t, pool, 1))
	require.Equal(t, []string{"second try"}, e.list)
}

func TestNoEffectsWithoutACommit(t *testing.T) {
	t.Parallel()
	pool, loss := dbtest.NewLossy(t)
	refusal := errors.New("refused")
	for name, end := range map[string]func(cancel func(), tx pgx.Tx) error{
		"error":         func(func(), pgx.Tx) error { return refusal },
		"panic":         func(func(), pgx.Tx) error { panic("in fn") },
		"cancel":        func(cancel func(), _ pgx.Tx) error { cancel(); return nil },
		"failed commit": func(_ func(), tx pgx.Tx) error { _, _ = tx.Exec(t.Context(), "SELECT no_such_column"); return nil },
		// The transaction is committed, but InTx doesn't know it.
		"no answer":     func(func(), pgx.Tx) error { loss.Next("commit"); return nil },
		"four failures": func(func(), pgx.Tx) error { return &pgconn.PgError{Code: "40001"} },
	} {
		var e effects
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		func() {
			defer func() {
				if recover() != nil {
					err = refusal
				}
			}()
			err = postgres.InTx(ctx, pool, func(tx pgx.Tx) error {
				e.after(tx, name)
				return end(cancel, tx)
			})
		}()
		cancel()
		require.Error(t, err, name)
		require.Empty(t, e.list, name)
	}
	require.Equal(t, 1, loss.Lost())
}

func TestAPanicAfterTheCommitStaysAlone(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	var e effects
	require.NoError(t, postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		e.after(tx, "before")
		postgres.AfterCommit(tx, func() { panic("an effect") })
		e.after(tx, "behind")
		return pay(t.Context(), tx, 1, 1)
	}))
	require.Equal(t, []string{"before", "behind"}, e.list)
	require.Equal(t, 101, cents(t, pool, 1))
	require.Zero(t, pool.Stat().AcquiredConns())
}

// TestEffectsOfASavepoint: in a transaction of several members, a member that fails
// loses only its own effects.
func TestEffectsOfASavepoint(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	var e effects
	bad := errors.New("bad member")
	member := func(tx pgx.Tx, name string, result error) error {
		return pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
			e.after(tx, name)
			return errors.Join(pay(t.Context(), tx, 1, 1), result)
		})
	}
	require.NoError(t, postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		require.NoError(t, member(tx, "a", nil))
		require.ErrorIs(t, member(tx, "b", bad), bad)
		e.after(tx, "all")
		require.NoError(t, pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
			require.ErrorIs(t, member(tx, "nested", bad), bad)
			return member(tx, "c", nil)
		}))
		// A released savepoint inside one that is rolled back.
		return ignore(bad, pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
			require.NoError(t, member(tx, "d", nil))
			return bad
		}))
	}))
	require.Equal(t, []string{"a", "all", "c"}, e.list)
	require.Equal(t, 102, cents(t, pool, 1))
}

// ignore returns err, or nil if it is the expected one.
func ignore(expected, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// TestEffectsOfAJoinedTransaction: the functions run once for the transaction, after the
// hooks of all contexts that it joins.
func TestEffectsOfAJoinedTransaction(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	var e effects
	one, two := &watcher{}, &watcher{}
	hooks := &postgres.Hooks{}
	require.NoError(t, postgres.InTx(postgres.WithHook(t.Context(), hooks), pool, func(tx pgx.Tx) error {
		hooks.Reset()
		for name, h := range map[string]*watcher{"one": one, "two": two} {
			hooks.Add(h)
			e.after(tx, name)
		}
		postgres.AfterCommit(tx, func() { require.Equal(t, 2, one.commits+two.commits) })
		return nil
	}))
	slices.Sort(e.list)
	require.Equal(t, []string{"one", "two"}, e.list)
}

func TestAfterCommitRefusesAForeignTransaction(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	require.Panics(t, func() { postgres.AfterCommit(tx, func() {}) })
}
