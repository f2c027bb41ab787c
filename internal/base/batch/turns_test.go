package batch

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTurnsComeOneAfterTheOther: a key has one holder, another key doesn't wait
// for it, and unused keys are removed.
func TestTurnsComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var turns Turns[string]
	take := func(keys ...string) func() {
		release, err := turns.Take(t.Context(), keys...)
		assert.NoError(t, err)
		return release
	}
	release := take("a")
	take("b")() // doesn't wait
	count := 0
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			defer take("a", "b")()
			count++ // the race detector reports concurrent holders
		})
	}
	require.Zero(t, count)
	release()
	all.Wait()
	require.Equal(t, 100, count)
	require.Empty(t, turns.turns)
}

// TestAWaitForATurnEndsWithItsContext: a caller that no longer waits holds none of its keys.
func TestAWaitForATurnEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var turns Turns[string]
	release, err := turns.Take(t.Context(), "b")
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = turns.Take(ended, "a", "b")
	require.ErrorIs(t, err, context.Canceled)
	again, err := turns.Take(t.Context(), "a")
	require.NoError(t, err)
	again()
	release()
	require.Empty(t, turns.turns)
}
