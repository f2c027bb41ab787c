package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const most = 200

// heldQuery is a query that can be blocked, and that reports its input.
type heldQuery struct {
	open  chan struct{}
	asked chan []int
}

var errBad = errors.New("one of them is bad")

// query doubles numbers; a negative number makes it fail for all.
func (g *heldQuery) query(ctx context.Context, in []int) ([]int, error) {
	g.asked <- in
	select {
	case <-g.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := make([]int, len(in))
	for i, n := range in {
		if n < 0 {
			return nil, errBad
		}
		out[i] = 2 * n
	}
	return out, nil
}

// held makes a batcher whose first query, for 0, is blocked while the questions in wait.
// answers waits for the answers to these questions.
func held(t *testing.T, in ...int) (g *heldQuery, answers func() map[int]string) {
	t.Helper()
	g = &heldQuery{open: make(chan struct{}), asked: make(chan []int, 100)}
	b := New(most, g.query)
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[int]string{}
	ask := func(n int) {
		wg.Go(func() {
			out, err := b.Do(t.Context(), n)
			mu.Lock()
			defer mu.Unlock()
			got[n] = fmt.Sprint(out, err)
		})
	}
	ask(0)
	require.Equal(t, []int{0}, <-g.asked, "the first one goes alone and at once")
	for _, n := range in {
		ask(n)
	}
	require.Eventually(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.waiting) == len(in)
	}, time.Minute, time.Millisecond)
	return g, func() map[int]string { wg.Wait(); return got }
}

func TestCallersDuringAQueryShareTheNext(t *testing.T) {
	t.Parallel()
	g, answers := held(t, 1, 2, 3)
	close(g.open)
	require.Equal(t, map[int]string{0: "0 <nil>", 1: "2 <nil>", 2: "4 <nil>", 3: "6 <nil>"}, answers())
	require.ElementsMatch(t, []int{1, 2, 3}, <-g.asked)
	require.Empty(t, g.asked)
}

func TestOneBadQuestionFailsAlone(t *testing.T) {
	t.Parallel()
	g, answers := held(t, 1, -1, 3)
	close(g.open)
	require.Equal(t, map[int]string{0: "0 <nil>", 1: "2 <nil>", -1: "0 " + errBad.Error(), 3: "6 <nil>"}, answers())
	require.Len(t, g.asked, 4, "together, then each alone")
}

func TestACancelledCallerDoesNotEndTheOthersQuery(t *testing.T) {
	t.Parallel()
	g := &heldQuery{open: make(chan struct{}), asked: make(chan []int, 100)}
	b := New(most, g.query)
	impatient, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := b.Do(impatient, 1)
		left <- err
	}()
	<-g.asked
	answer := make(chan int)
	go func() {
		out, _ := b.Do(t.Context(), 2)
		answer <- out
	}()
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	close(g.open)
	require.Equal(t, 4, <-answer)
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	in := make([]int, most+1)
	for i := range in {
		in[i] = i + 1
	}
	g, answers := held(t, in...)
	close(g.open)
	require.Len(t, answers(), most+2)
	require.Len(t, <-g.asked, most)
	require.Len(t, <-g.asked, 1)
}
