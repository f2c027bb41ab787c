package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
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
