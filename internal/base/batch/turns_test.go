package batch

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTurnsComeOneAfterTheOther: a key has one holder, another key doesn't wait
// for it, and unused keys are removed.
func TestTurnsComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var turns Turns[string]
	release := turns.Take("a")
	turns.Take("b")() // doesn't wait
	count := 0
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			defer turns.Take("a", "b")()
			count++ // the race detector reports concurrent holders
		})
	}
	require.Zero(t, count)
	release()
	all.Wait()
	require.Equal(t, 100, count)
	require.Empty(t, turns.turns)
}
