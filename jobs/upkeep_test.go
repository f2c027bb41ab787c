package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/queue"
	"showfloor/internal/testkit/dbtest"
)

// TestUpkeep: each chore is done at the start and then in its rounds, also beside chores that fail.
func TestUpkeep(t *testing.T) {
	t.Parallel()
	var often, seldom atomic.Int64
	count := func(n *atomic.Int64) func(context.Context) error {
		return func(context.Context) error { n.Add(1); return nil }
	}
	w := &upkeep{chores: []chore{
		{"fail", 1, func(context.Context) error { return errors.New("no database") }},
		{"fall", 1, func(context.Context) error { panic("a fault") }},
		{"often", 1, count(&often)},
		{"seldom", 3, count(&seldom)},
	}}
	for round := range 7 {
		err := w.Work(t.Context(), &river.Job[UpkeepArgs]{Args: UpkeepArgs{Round: round}})
		require.ErrorContains(t, err, "fail: no database")
		require.ErrorContains(t, err, "fall: panic: a fault")
	}
	require.EqualValues(t, 7, often.Load())
	require.EqualValues(t, 3, seldom.Load(), "rounds 0, 3 and 6")
}

// TestUpkeepDoesAFewChoresAtATime: three at most, and another one first in each round.
func TestUpkeepDoesAFewChoresAtATime(t *testing.T) {
	t.Parallel()
	const n = 2 * upkeepAtOnce
	started, proceed := make(chan int, n), make(chan struct{})
	w := &upkeep{}
	for i := range n {
		w.chores = append(w.chores, chore{"wait", 1, func(context.Context) error {
			started <- i
			<-proceed
			return nil
		}})
	}
	for round := range 3 {
		done := make(chan error, 1)
		go func() { done <- w.Work(t.Context(), &river.Job[UpkeepArgs]{Args: UpkeepArgs{Round: round}}) }()
		var first []int
		for range upkeepAtOnce {
			first = append(first, <-started)
		}
		require.ElementsMatch(t, []int{round, round + 1, round + 2}, first)
		for range n - upkeepAtOnce {
			require.Empty(t, started, "more run only after one has ended")
			proceed <- struct{}{}
			<-started
		}
		for range upkeepAtOnce {
			proceed <- struct{}{}
		}
		require.NoError(t, <-done)
	}
}

// TestJobsOfFormerKindsAreDeleted: unless a server of the former version runs them.
func TestJobsOfFormerKindsAreDeleted(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	client, err := river.NewClient(riverpgxv5.New(pool), queue.Config(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	for kind, state := range map[string]string{"order_reconcile": "available", "recording_sweep": "retryable", "job_rescue": "running", "mail": "available"} {
		inserted, err := client.Insert(t.Context(), UpkeepArgs{}, nil)
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), "UPDATE river_job SET kind = $2, state = $3 WHERE id = $1", inserted.Job.ID, kind, state)
		require.NoError(t, err)
	}
	require.NoError(t, deleteFormer(t.Context(), pool))
	rows, err := pool.Query(t.Context(), "SELECT kind FROM river_job ORDER BY kind")
	require.NoError(t, err)
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"job_rescue", "mail"}, left)
}
