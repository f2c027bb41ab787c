package account

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/passwordhash"
)

func TestPasswords(t *testing.T) {
	t.Parallel()
	h := newHasher(passwordhash.StandardMemory, passwordhash.NewWorker(nil, nil))
	hash, err := h.hash(t.Context(), "correct horse battery")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$"), "OWASP's parameters: %s", hash)
	again, err := h.hash(t.Context(), "correct horse battery")
	require.NoError(t, err)
	require.NotEqual(t, hash, again, "salted")
	for password, want := range map[string]bool{"correct horse battery": true, "correct horse batterz": false, "": false} {
		ok, err := h.matches(t.Context(), password, hash)
		require.NoError(t, err)
		require.Equal(t, want, ok, password)
	}
	for _, password := range []string{"", "no user has this password"} {
		ok, err := h.matches(t.Context(), password, "")
		require.NoError(t, err)
		require.False(t, ok, "no user, no match: not even with the dummy's own password")
	}
	_, err = h.matches(t.Context(), "x", "not a hash")
	require.Error(t, err)
}

// TestHashingIsBounded fills the slots by hand: the next call waits and can be
// cancelled.
func TestHashingIsBounded(t *testing.T) {
	t.Parallel()
	const parallel = 2
	h := newHasher(passwordhash.StandardMemory, passwordhash.NewWorker(nil, nil), passwordhash.NewWorker(nil, nil))
	var taken []*passwordhash.Worker
	for range parallel {
		w, err := h.acquire(t.Context())
		require.NoError(t, err)
		taken = append(taken, w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.hash(ctx, "x")
	require.ErrorIs(t, err, context.Canceled)
	_, err = h.matches(ctx, "x", "")
	require.ErrorIs(t, err, context.Canceled)

	done := make(chan error, 1)
	go func() {
		_, err := h.hash(t.Context(), "x")
		done <- err
	}()
	select {
	case <-done:
		t.Fatal("there was no slot")
	default:
	}
	h.release(taken[0])
	require.NoError(t, <-done)
	h.release(taken[1])

	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := h.matches(t.Context(), "x", ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, h.slots, parallel, "every slot was given back")
}

// TestLastUsedWorkerIsUsedFirst hashes one password after the other: all on one worker.
func TestLastUsedWorkerIsUsedFirst(t *testing.T) {
	t.Parallel()
	h := newHasher(64, passwordhash.NewWorker(nil, nil), passwordhash.NewWorker(nil, nil), passwordhash.NewWorker(nil, nil))
	used := map[*passwordhash.Worker]bool{}
	for range 5 {
		w, err := h.acquire(t.Context())
		require.NoError(t, err)
		used[w] = true
		h.release(w)
	}
	require.Len(t, used, 1)
}

// TestLoginsAreRefusedByTheirExpectedWait counts the logins that may wait for one worker.
func TestLoginsAreRefusedByTheirExpectedWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workers int
		took    time.Duration
		want    int
	}{
		{workers: 1, took: 40 * time.Millisecond, want: 51},
		{workers: 2, took: 40 * time.Millisecond, want: 101},
		{workers: 1, took: 400 * time.Millisecond, want: 6},
		{workers: 1, took: 20 * time.Second, want: 1},
	} {
		q := loginQueue{workers: c.workers, average: c.took}
		for range c.want {
			require.NoError(t, q.ready())
			require.NoError(t, q.join())
		}
		for _, err := range []error{q.ready(), q.join()} {
			p, ok := problem.As(err)
			require.True(t, ok)
			require.Equal(t, problem.RateLimited, p.Kind)
			require.Equal(t, time.Second, p.RetryAfter)
		}
		q.leave()
		require.NoError(t, q.join())
	}

	q := loginQueue{workers: 1, average: firstAverage}
	for range 100 {
		q.observe(time.Second)
	}
	require.InDelta(t, time.Second, q.average, float64(10*time.Millisecond), "the average follows the hashes")
}

// TestRequestEndsBeforeItsHash ends a request while its hash is computed: the caller returns, and the worker is busy until
// the hash is done.
func TestRequestEndsBeforeItsHash(t *testing.T) {
	t.Parallel()
	h := newHasher(64, passwordhash.NewWorker(nil, nil))
	ctx, cancel := context.WithCancel(t.Context())
	finish := make(chan struct{})
	_, err := onWorker(ctx, h, func(*passwordhash.Worker) (bool, error) {
		cancel()
		<-finish
		return true, nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, h.slots)
	close(finish)
	_, err = h.hash(t.Context(), "x")
	require.NoError(t, err)
}
