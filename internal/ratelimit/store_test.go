package ratelimit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/redistest"
)

// store is what both engines offer.
type store interface {
	take(ctx context.Context, p Policy, subject string) (Result, error)
	peek(ctx context.Context, p Policy, subject string) (Result, error)
}

type inMemory struct{ m *Memory }

func (s inMemory) take(_ context.Context, p Policy, subject string) (Result, error) {
	return s.m.Take(p, subject), nil
}

func (s inMemory) peek(_ context.Context, p Policy, subject string) (Result, error) {
	return s.m.Peek(p, subject), nil
}

type inRedis struct{ *Redis }

func (s inRedis) take(ctx context.Context, p Policy, subject string) (Result, error) {
	return s.Take(ctx, p, subject)
}

func (s inRedis) peek(ctx context.Context, p Policy, subject string) (Result, error) {
	return s.Peek(ctx, p, subject)
}

// patience is a timeout that a busy machine doesn't reach.
const patience = 30 * time.Second

func onRedis(t *testing.T, server *redistest.Server) *Redis {
	t.Helper()
	r, err := NewRedis(server.URL, patience)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// onBoth runs a test against each engine, on its real clock.
func onBoth(t *testing.T, test func(t *testing.T, s store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, inMemory{NewMemory(time.Now)})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, inRedis{onRedis(t, redistest.New(t))})
	})
}

func must(t *testing.T) func(r Result, err error) Result {
	t.Helper()
	return func(r Result, err error) Result {
		t.Helper()
		require.NoError(t, err)
		return r
	}
}

func TestBurstThenWait(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s store) {
		t.Helper()
		hourly := Policy{"hourly", Rate{Events: 1, Per: time.Hour, Burst: 3}}
		ok := must(t)
		for left := 2; left >= 0; left-- {
			require.True(t, ok(s.peek(t.Context(), hourly, "ada")).Allowed)
			r := ok(s.take(t.Context(), hourly, "ada"))
			require.True(t, r.Allowed)
			require.Equal(t, left, r.Remaining)
			require.InDelta(t, time.Hour*time.Duration(3-left), r.Full, float64(time.Minute))
			require.Equal(t, left == 0, r.RetryAfter > 0)
		}
		for _, ask := range []func(context.Context, Policy, string) (Result, error){s.take, s.peek} {
			r := ok(ask(t.Context(), hourly, "ada"))
			require.False(t, r.Allowed)
			require.Zero(t, r.Remaining)
			require.InDelta(t, time.Hour, r.RetryAfter, float64(time.Minute))
			require.LessOrEqual(t, r.RetryAfter, time.Hour)
			require.InDelta(t, 3*time.Hour, r.Full, float64(time.Minute))
		}
		require.True(t, ok(s.take(t.Context(), hourly, "bob")).Allowed, "subjects are apart")
		other := Policy{"other", hourly.Rate}
		require.True(t, ok(s.take(t.Context(), other, "ada")).Allowed, "policies are apart")
	})
}

func TestItFillsAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s store) {
		t.Helper()
		quick := Policy{"quick", Rate{Events: 20, Per: time.Second, Burst: 2}}
		ok := must(t)
		for range 2 {
			require.True(t, ok(s.take(t.Context(), quick, "ada")).Allowed)
		}
		began := time.Now()
		require.Eventually(t, func() bool { return ok(s.take(t.Context(), quick, "ada")).Allowed }, 10*time.Second, time.Millisecond)
		require.GreaterOrEqual(t, time.Since(began), 25*time.Millisecond, "and not before its time")
	})
}

func TestAtOnceNoMoreThanTheBurst(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s store) {
		t.Helper()
		hourly := Policy{"hourly", Rate{Events: 1, Per: time.Hour, Burst: 50}}
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for range 10 {
					r, err := s.take(t.Context(), hourly, "ada")
					if err != nil {
						t.Error(err)
					}
					if r.Allowed {
						allowed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		require.Equal(t, int64(50), allowed.Load())
	})
}

func TestPeekingLeavesNoTrace(t *testing.T) {
	t.Parallel()
	m := NewMemory(time.Now)
	server := redistest.New(t)
	r := onRedis(t, server)
	hourly := Policy{"hourly", Rate{Events: 1, Per: time.Hour, Burst: 1}}
	for range 3 {
		require.True(t, m.Peek(hourly, "ada").Allowed)
		require.True(t, must(t)(r.Peek(t.Context(), hourly, "ada")).Allowed)
	}
	require.Zero(t, m.buckets())
	require.Zero(t, r.client.DBSize(t.Context()).Val())
}

func TestRedisForgetsWhatIsFull(t *testing.T) {
	t.Parallel()
	r := onRedis(t, redistest.New(t))
	quick := Policy{"quick", Rate{Events: 20, Per: time.Second, Burst: 2}}
	require.True(t, must(t)(r.Take(t.Context(), quick, "ada")).Allowed)
	require.Equal(t, int64(1), r.client.DBSize(t.Context()).Val())
	require.Eventually(t, func() bool { return r.client.DBSize(t.Context()).Val() == 0 }, 10*time.Second, time.Millisecond)
}

func TestProcessesShareRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	one, two := onRedis(t, server), onRedis(t, server)
	hourly := Policy{"hourly", Rate{Events: 1, Per: time.Hour, Burst: 1}}
	require.True(t, must(t)(one.Take(t.Context(), hourly, "ada")).Allowed)
	require.False(t, must(t)(two.Take(t.Context(), hourly, "ada")).Allowed)
}

func TestARedisURLIsNotShown(t *testing.T) {
	t.Parallel()
	_, err := NewRedis("redis://ada:secret@host:port%zz/0", Timeout)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}
