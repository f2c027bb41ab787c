package batch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLanesBatchByKey: questions about one key share queries, those about another
// key don't wait for it, and an idle lane is removed.
func TestLanesBatchByKey(t *testing.T) {
	t.Parallel()
	open, asked := make(chan struct{}), make(chan string, 100)
	l := NewKeyed(most, func(ctx context.Context, key string, in []int) ([]string, error) {
		asked <- fmt.Sprint(key, in)
		if key == "held" {
			select {
			case <-open:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		out := make([]string, len(in))
		for i, n := range in {
			out[i] = fmt.Sprint(key, n)
		}
		return out, nil
	})
	var wg sync.WaitGroup
	ask := func(n int) {
		wg.Go(func() {
			out, err := l.Do(t.Context(), "held", n)
			if err != nil || out != fmt.Sprint("held", n) {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
	ask(0)
	require.Equal(t, "held[0]", <-asked)
	ask(1)
	ask(2)
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		b := l.open["held"]
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.waiting) == 2
	}, time.Minute, time.Millisecond)

	out, err := l.Do(t.Context(), "other", 7)
	require.NoError(t, err)
	require.Equal(t, "other7", out, "while the other lane is held")
	require.Equal(t, "other[7]", <-asked)

	close(open)
	wg.Wait()
	require.Contains(t, []string{"held[1 2]", "held[2 1]"}, <-asked)
	require.Empty(t, asked)
	require.Empty(t, l.open)
}
