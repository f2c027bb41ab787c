package handlers_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

func TestAKeyEndsWithTheKeyThatMadeIt(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var parent, child, grandchild api.APIKey
	expiry := s.Clock.Now().Add(time.Hour)
	owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "parent", "expiresAt": expiry}).Into(t, 201, &parent)
	s.With(t, *parent.Key).Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "child"}).Into(t, 201, &child)
	require.WithinDuration(t, expiry, child.ExpiresAt.MustGet().Time, time.Millisecond, "no later than its maker")
	s.With(t, *child.Key).Call(t, "POST", "/v1/me/api-keys",
		map[string]any{"name": "grandchild", "expiresAt": expiry.Add(-time.Minute)}).Into(t, 201, &grandchild)
	require.WithinDuration(t, expiry.Add(-time.Minute), grandchild.ExpiresAt.MustGet().Time, time.Millisecond, "earlier is fine")

	owner.Call(t, "DELETE", "/v1/me/api-keys/"+parent.ID, nil).Is(t, 200)
	for _, key := range []api.APIKey{parent, child, grandchild} {
		s.With(t, *key.Key).Call(t, "GET", "/v1/me", nil).Problem(t, 401, "key_revoked")
	}
}

func TestAFloodOfLoginsIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{PasswordMemory: 19 << 10, RequestTime: 5 * time.Minute}) // hashing is slow on a busy machine
	const flood = 200
	var limited, wrong atomic.Int64
	var wg sync.WaitGroup
	for range flood {
		wg.Go(func() {
			r := s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": "nobody@example.test", "password": "wrong password"})
			switch r.Status {
			case http.StatusTooManyRequests:
				limited.Add(1)
				if r.Header.Get("Retry-After") != "1" {
					t.Errorf("Retry-After is %q", r.Header.Get("Retry-After"))
				}
			case http.StatusUnauthorized:
				wrong.Add(1)
			default:
				t.Errorf("answered %d", r.Status)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(flood), limited.Load()+wrong.Load())
	require.NotZero(t, wrong.Load())
	require.NotZero(t, limited.Load(), "attempts beyond the queue get 429")
}

func TestMadeUpMethodsStayOutOfMetrics(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var methods []string
	s := apitest.New(t, apitest.Options{Observe: func(method, _ string, _ int, _ time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		methods = append(methods, method)
	}})
	s.With(t, "").Call(t, strings.Repeat("X", 5000), "/v1/health", nil).Problem(t, 405, "method_not_allowed")
	s.With(t, "").Call(t, "GET", "/v1/health", nil).Is(t, 200)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"other", "GET"}, methods)
}
