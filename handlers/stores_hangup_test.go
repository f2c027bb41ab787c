package handlers_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/handlers/pipeline"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/base/stored"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// commits is a pgx.QueryTracer that calls before and after at each commit of a request whose
// bytes are counted.
type commits struct{ before, after func(ctx context.Context) }

type commitKey struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (c *commits) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	if query.SQL != "commit" || stored.From(ctx) == nil {
		return ctx
	}
	c.before(ctx)
	return context.WithValue(ctx, commitKey{}, true)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *commits) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if ctx.Value(commitKey{}) != nil {
		c.after(ctx)
	}
}

// TestHungUpRequestsAreCharged checks that a client that disconnects before or after the commit
// is charged the bytes that its request has written, with and without an Idempotency-Key, and so is one
// whose request's time ends after the commit.
func TestHungUpRequestsAreCharged(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context) {}
	tracer := &commits{nothing, nothing}
	config := dbtest.New(t).Config()
	config.ConnConfig.Tracer = tracer
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	now := time.Now()
	still := ratelimit.NewMemory(func() time.Time { return now }) // so that the bucket doesn't refill
	limiter := ratelimit.New(still, nil, slog.New(slog.DiscardHandler))
	s := apitest.New(t, apitest.Options{Pool: pool, Limits: pipeline.Limits{Limiter: limiter}})
	hasty := apitest.New(t, apitest.Options{Pool: pool, Limits: pipeline.Limits{Limiter: limiter}, RequestTime: 2 * time.Second})
	owner := s.Register(t)
	b := written("tenant-written", owner.TenantID, 128<<10)
	left := func() int { return limiter.PeekAll(t.Context(), b)[0].Remaining }
	metadata := map[string]any{} // an audit entry of the stream has it twice
	for i := range 50 {
		metadata[fmt.Sprint("key", i)] = strings.Repeat("x", 500)
	}
	stream := owner.Stream(t, map[string]any{"metadata": metadata})
	path := "/v1/me/streams/" + stream.ID
	product := `{"externalId":"MUG","name":"Mug","priceCents":100,"metadata":{"text":"` + strings.Repeat("x", 40_000) + `"}}`

	waits := make(chan struct{})
	wait := func(ctx context.Context) {
		waits <- struct{}{}
		<-ctx.Done()
	}
	for name, c := range map[string]struct {
		to                      *apitest.Server
		before, after           func(context.Context)
		method, path, body, key string
		least                   int // KiB
	}{
		"after the commit":           {s, nothing, wait, "PATCH", path, `{"name":"One"}`, "", 40},
		"after the commit, key":      {s, nothing, wait, "POST", path + "/rotate-key", "", "a", 1},
		"before the commit":          {s, wait, nothing, "POST", "/v1/me/catalog/products", product, "", 40},
		"before the commit, key":     {s, wait, nothing, "POST", "/v1/me/catalog/products", product, "b", 40},
		"time over after the commit": {hasty, nothing, wait, "PATCH", path, `{"name":"Two"}`, "", 40},
	} {
		t.Run(name, func(t *testing.T) {
			before := left()
			tracer.before, tracer.after = c.before, c.after
			ctx, hangUp := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, c.method, c.to.URL+c.path, strings.NewReader(c.body))
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+owner.Token)
			r.Header.Set("Content-Type", "application/json")
			if c.key != "" {
				r.Header.Set("Idempotency-Key", c.key)
			}
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				if answer, err := http.DefaultTransport.RoundTrip(r); err == nil {
					_ = answer.Body.Close()
				}
			}()
			select {
			case <-waits:
			case <-answered:
				t.Fatal("answered before the commit")
			}
			if c.to == s {
				hangUp()
			}
			<-answered
			hangUp()
			apitest.Until(t, "the charge", func() bool { return before-left() >= c.least })
		})
	}
}
