package ratelimit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/redistest"
)

// engine is the interface of both engines.
type engine interface {
	Take(ctx context.Context, buckets ...Bucket) ([]Result, error)
	Peek(ctx context.Context, buckets ...Bucket) ([]Result, error)
	Charge(ctx context.Context, buckets ...Bucket) error
}

type inMemory struct{ m *Memory }

func (s inMemory) Take(_ context.Context, buckets ...Bucket) ([]Result, error) {
	return s.m.Take(buckets...), nil
}

func (s inMemory) Peek(_ context.Context, buckets ...Bucket) ([]Result, error) {
	return s.m.Peek(buckets...), nil
}

func (s inMemory) Charge(_ context.Context, buckets ...Bucket) error {
	s.m.Charge(buckets...)
	return nil
}

// store tests an engine with one bucket at a time.
type store struct{ engine }

func (s store) take(ctx context.Context, p Policy, subject string) (Result, error) {
	return first(s.Take(ctx, Bucket{Policy: p, Subject: subject}))
}

func (s store) peek(ctx context.Context, p Policy, subject string) (Result, error) {
	return first(s.Peek(ctx, Bucket{Policy: p, Subject: subject}))
}

func first(results []Result, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

// patience is a timeout that even a busy machine doesn't reach.
const patience = 30 * time.Second

func onRedis(t *testing.T, server *redistest.Server) *Redis {
	t.Helper()
	r, err := NewRedis(server.URL, patience)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// onBoth runs a test on each engine, with its real clock.
func onBoth(t *testing.T, test func(t *testing.T, s store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, store{inMemory{NewMemory(time.Now)}})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, store{onRedis(t, redistest.New(t))})
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
		hourly := Policy{Name: "hourly", Rate: Rate{Events: 1, Per: time.Hour, Burst: 3}}
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
		other := Policy{Name: "other", Rate: hourly.Rate}
		require.True(t, ok(s.take(t.Context(), other, "ada")).Allowed, "policies are apart")
	})
}

func TestItFillsAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s store) {
		t.Helper()
		quick := Policy{Name: "quick", Rate: Rate{Events: 20, Per: time.Second, Burst: 2}}
		ok := must(t)
		for range 2 {
			require.True(t, ok(s.take(t.Context(), quick, "ada")).Allowed)
		}
		began := time.Now()
		require.Eventually(t, func() bool { return ok(s.take(t.Context(), quick, "ada")).Allowed }, time.Minute, time.Millisecond)
		require.GreaterOrEqual(t, time.Since(began), 25*time.Millisecond, "and not before its time")
	})
}

func TestAtOnceNoMoreThanTheBurst(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s store) {
		t.Helper()
		hourly := Policy{Name: "hourly", Rate: Rate{Events: 1, Per: time.Hour, Burst: 50}}
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

// TestSeveralBucketsCountTogether checks that an event counts in each of the buckets or, if
// one refuses, in none.
func TestSeveralBucketsCountTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s store) {
		t.Helper()
		key := Policy{Name: "key", Rate: Rate{Events: 1, Per: time.Hour, Burst: 3}}
		tenant := Policy{Name: "tenant", Rate: Rate{Events: 1, Per: time.Hour, Burst: 5}}
		both := func(subject string) []Result {
			results, err := s.Take(t.Context(), Bucket{Policy: key, Subject: subject}, Bucket{Policy: tenant, Subject: "acme"})
			require.NoError(t, err)
			require.Len(t, results, 2)
			return results
		}
		for left := 2; left >= 0; left-- {
			r := both("ada")
			require.True(t, allAllowed(r))
			require.Equal(t, left, r[0].Remaining)
			require.Equal(t, left+2, r[1].Remaining)
		}
		for range 5 {
			r := both("ada")
			require.False(t, r[0].Allowed)
			require.True(t, r[1].Allowed)
		}
		ok := must(t)
		require.Equal(t, 1, ok(s.peek(t.Context(), tenant, "acme")).Remaining, "an event that the key's bucket refuses isn't charged to the tenant's")
		require.True(t, allAllowed(both("bob")))
		require.True(t, allAllowed(both("bob")))
		for range 5 {
			r := both("bob")
			require.True(t, r[0].Allowed)
			require.False(t, r[1].Allowed)
			require.InDelta(t, time.Hour, r[1].RetryAfter, float64(time.Minute))
		}
		require.Equal(t, 0, ok(s.peek(t.Context(), key, "bob")).Remaining, "and not the other way round: one is left")
	})
}

// TestSeveralBucketsAtOnce checks that concurrent events get exactly as many as the tighter
// bucket allows.
func TestSeveralBucketsAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s store) {
		t.Helper()
		key := Policy{Name: "key", Rate: Rate{Events: 1, Per: time.Hour, Burst: 30}}
		tenant := Policy{Name: "tenant", Rate: Rate{Events: 1, Per: time.Hour, Burst: 50}}
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				for range 10 {
					r, err := s.Take(t.Context(), Bucket{Policy: key, Subject: []string{"ada", "bob", "eve"}[i%3]}, Bucket{Policy: tenant, Subject: "acme"})
					if err != nil {
						t.Error(err)
					} else if allAllowed(r) {
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
	hourly := Policy{Name: "hourly", Rate: Rate{Events: 1, Per: time.Hour, Burst: 1}}
	for range 3 {
		require.True(t, m.Peek(Bucket{Policy: hourly, Subject: "ada"})[0].Allowed)
		require.True(t, must(t)(store{r}.peek(t.Context(), hourly, "ada")).Allowed)
	}
	require.Zero(t, m.buckets())
	require.Zero(t, r.client.(*redis.Client).DBSize(t.Context()).Val())
}

func TestRedisDropsFullBuckets(t *testing.T) {
	t.Parallel()
	r := onRedis(t, redistest.New(t))
	quick := Policy{Name: "quick", Rate: Rate{Events: 1, Per: 2 * time.Second, Burst: 2}}
	require.True(t, must(t)(store{r}.take(t.Context(), quick, "ada")).Allowed)
	require.Equal(t, int64(1), r.client.(*redis.Client).DBSize(t.Context()).Val())
	require.Eventually(t, func() bool { return r.client.(*redis.Client).DBSize(t.Context()).Val() == 0 }, time.Minute, time.Millisecond)
}

func TestProcessesShareRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	one, two := onRedis(t, server), onRedis(t, server)
	hourly := Policy{Name: "hourly", Rate: Rate{Events: 1, Per: time.Hour, Burst: 1}}
	require.True(t, must(t)(store{one}.take(t.Context(), hourly, "ada")).Allowed)
	require.False(t, must(t)(store{two}.take(t.Context(), hourly, "ada")).Allowed)
}

func TestARedisURLIsNotShown(t *testing.T) {
	t.Parallel()
	_, err := NewRedis("redis://ada:secret@host:port%zz/0", Timeout)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

// TestCosts checks that an event can count as several, and that one which costs more than
// the burst needs a full bucket.
func TestCosts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s store) {
		t.Helper()
		p := Policy{Name: "bytes", Rate: Rate{Events: 100, Per: time.Hour, Burst: 10}}
		take := func(subject string, cost int) Result {
			return must(t)(first(s.Take(t.Context(), Bucket{Policy: p, Subject: subject, Cost: cost})))
		}
		require.Equal(t, 4, take("ada", 6).Remaining)
		refused := take("ada", 5)
		require.False(t, refused.Allowed)
		require.InDelta(t, 36*time.Second, refused.RetryAfter, float64(2*time.Second), "until one more of 100 an hour is back")
		require.True(t, take("ada", 4).Allowed, "an event that fits is allowed")
		require.False(t, take("ada", 0).Allowed, "0 counts as 1")

		require.True(t, take("bob", 1000).Allowed, "a full bucket allows any cost")
		require.False(t, take("bob", 1).Allowed)
		take("eve", 1)
		require.False(t, take("eve", 1000).Allowed)
	})
}

// TestCharge checks that a charge beyond the burst is a debt of up to 24 hours, and that
// Take refuses until it is paid.
func TestCharge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s store) {
		t.Helper()
		p := Policy{Name: "bytes", Rate: Rate{Events: 100, Per: time.Hour, Burst: 100}}
		charge := func(subject string, cost int) {
			require.NoError(t, s.Charge(t.Context(), Bucket{Policy: p, Subject: subject, Cost: cost}))
		}
		ok := must(t)
		charge("ada", 0)
		charge("ada", -1)
		require.Equal(t, 99, ok(s.peek(t.Context(), p, "ada")).Remaining, "nothing was charged")
		charge("ada", 60)
		require.Equal(t, 39, ok(s.peek(t.Context(), p, "ada")).Remaining)
		charge("ada", 239)
		r := ok(s.take(t.Context(), p, "ada"))
		require.False(t, r.Allowed)
		require.InDelta(t, 2*time.Hour, r.RetryAfter, float64(time.Minute), "199 and the next one have to be paid off")

		lenient := p
		lenient.Burst = 1000 // a second policy for the same bucket
		require.True(t, ok(s.peek(t.Context(), lenient, "ada")).Allowed)

		charge("bob", 1_000_000_000)
		charge("bob", 1_000_000_000)
		require.InDelta(t, 24*time.Hour, ok(s.peek(t.Context(), p, "bob")).Full, float64(time.Minute))

		slow := Policy{Name: "slow", Rate: Rate{Events: 1, Per: time.Hour, Burst: 48}}
		for range 48 {
			require.True(t, ok(s.take(t.Context(), slow, "eve")).Allowed)
		}
		require.NoError(t, s.Charge(t.Context(), Bucket{Policy: slow, Subject: "eve", Cost: 1}))
		require.InDelta(t, 48*time.Hour, ok(s.peek(t.Context(), slow, "eve")).Full, float64(time.Minute), "a charge gives nothing back")
	})
}

// allAllowed reports whether every bucket allowed the event.
func allAllowed(results []Result) bool {
	for _, r := range results {
		if !r.Allowed {
			return false
		}
	}
	return true
}
