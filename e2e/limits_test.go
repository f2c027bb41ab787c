package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/redistest"
)

// attempt tries to log in and returns the status.
func attempt(t testing.TB, s *server) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/auth/login",
		strings.NewReader(`{"email":"nobody@example.test","password":"wrong password"}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// TestServersShareTheirLimits checks that two servers on one Redis count
// together, and that each counts alone while Redis is away.
func TestServersShareTheirLimits(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	limited := set("RATE_LIMIT_EMAIL", "1/h:3")
	one := serve(t, onTestDatabase, set("REDIS_URL", redis.URL), limited)
	two := serve(t, onTestDatabase, set("REDIS_URL", redis.URL), limited)
	require.Contains(t, one.said(), "Redis at REDIS_URL")
	for _, s := range []*server{one, two, one} {
		require.Equal(t, http.StatusUnauthorized, attempt(t, s))
	}
	for _, s := range []*server{one, two} {
		require.Equal(t, http.StatusTooManyRequests, attempt(t, s))
	}
	redis.Stop(t)
	for range 3 {
		require.Equal(t, http.StatusUnauthorized, attempt(t, two))
	}
	require.Equal(t, http.StatusTooManyRequests, attempt(t, two))
	require.Equal(t, 1, strings.Count(two.said(), "Redis doesn't answer"))

	alone := serve(t, onTestDatabase, set("REDIS_URL", redis.URL))
	require.Contains(t, alone.said(), "memory, since Redis at REDIS_URL doesn't answer")
	require.Equal(t, http.StatusUnauthorized, attempt(t, alone))
}

// TestHugeHeaders checks that they are refused before the request is processed.
func TestHugeHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	for size, want := range map[int]int{16 << 10: http.StatusOK, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/health", http.NoBody)
		require.NoError(t, err)
		req.Header.Set("X-Filler", strings.Repeat("x", size))
		resp, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, size)
	}
}
