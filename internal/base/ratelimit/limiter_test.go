package ratelimit

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/redistest"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// TestWithoutRedisMemoryCounts stops Redis and starts it again.
func TestWithoutRedisMemoryCounts(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	var log lines
	l := New(NewMemory(time.Now), onRedis(t, server), slog.New(slog.NewTextHandler(&log, nil)))
	require.Equal(t, "Redis at REDIS_URL", l.Engine())
	p := Policy{Name: "hourly", Rate: Rate{Events: 1, Per: time.Hour, Burst: 2}}
	require.True(t, l.Take(t.Context(), p, "ada").Allowed)
	require.Equal(t, 1, l.Take(t.Context(), p, "bob").Remaining)

	server.Stop(t)
	var wg sync.WaitGroup
	for range 20 { // at once; all must be answered
		wg.Go(func() { l.Take(t.Context(), p, "others") })
	}
	wg.Wait()
	require.True(t, l.Take(t.Context(), p, "ada").Allowed)
	require.True(t, l.Peek(t.Context(), p, "ada").Allowed)
	require.True(t, l.Take(t.Context(), p, "ada").Allowed, "memory didn't know of the first")
	require.False(t, l.Take(t.Context(), p, "ada").Allowed)
	require.Contains(t, l.Engine(), "memory")
	require.NoError(t, l.Check(t.Context()))
	require.Equal(t, 1, log.count("Redis doesn't answer"), "said once")

	server.Start(t)
	require.Eventually(t, func() bool {
		l.Peek(t.Context(), p, "ada")
		return l.Engine() == "Redis at REDIS_URL"
	}, 30*time.Second, 5*time.Millisecond)
	require.Equal(t, 1, log.count("Redis answers again"))
	require.True(t, l.Take(t.Context(), p, "ada").Allowed, "this Redis is a fresh one")

	server.Stop(t)
	require.NoError(t, l.Check(t.Context()))
	require.Contains(t, l.Engine(), "memory", "the check notices by itself")
	server.Start(t)
	require.NoError(t, l.Check(t.Context()))
	require.Equal(t, "Redis at REDIS_URL", l.Engine())
}

// TestARedisThatHangsDelaysOneRequest checks that only the request that asks a
// hanging Redis waits for its timeout, and that other requests don't wait.
func TestARedisThatHangsDelaysOneRequest(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	shared, err := NewRedis(server.URL, Timeout)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	l := New(NewMemory(time.Now), shared, slog.New(slog.DiscardHandler))
	p := Policy{Name: "hourly", Rate: Rate{Events: 1, Per: time.Hour, Burst: 2}}
	server.Freeze(t)
	require.True(t, l.Take(t.Context(), p, "ada").Allowed)
	require.True(t, l.down.Load())
	due := l.tryAt.Load()
	l.tryAt.Store(due + int64(time.Hour)) // so that no probe begins on a slow machine
	for range 100 {
		l.Take(t.Context(), p, "bob")
	}
	require.Equal(t, due+int64(time.Hour), l.tryAt.Load(), "none of them asked")
	l.tryAt.Store(due)
	server.Thaw(t)
	require.Eventually(t, func() bool {
		l.Peek(t.Context(), p, "ada")
		return l.Engine() == "Redis at REDIS_URL"
	}, 30*time.Second, 5*time.Millisecond)
}

func TestWithoutAnyRedis(t *testing.T) {
	t.Parallel()
	l := New(NewMemory(time.Now), nil, slog.New(slog.DiscardHandler))
	require.Equal(t, "memory", l.Engine())
	require.NoError(t, l.Check(t.Context()))
	p := Policy{Name: "hourly", Rate: Rate{Events: 1, Per: time.Hour, Burst: 1}}
	require.True(t, l.Peek(t.Context(), p, "ada").Allowed)
	require.True(t, l.Take(t.Context(), p, "ada").Allowed)
	require.False(t, l.Take(t.Context(), p, "ada").Allowed)
}
