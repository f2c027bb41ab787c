package bench

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"showfloor/handlers"
	"showfloor/handlers/pipeline"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/media/hub"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/testkit/redistest"
)

const (
	// middlewareRounds is the number of rounds per case; the cases take turns.
	middlewareRounds = 5
	// middlewareRequests is the number of requests per round, each timed separately.
	middlewareRequests = 4000
	// middlewareAim is the goal for all layers together.
	middlewareAim = 150 * time.Microsecond
)

// BenchmarkMiddleware measures the layers between net/http and the handler of
// POST /v1/me/streams, which does nothing here: all layers, each layer left out
// in turn, and the handler alone. Every request has an API key and a body of
// about 100 bytes.
func BenchmarkMiddleware(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	_, key, err := a.Accounts.CreateAPIKey(b.Context(), a.caller, account.APIKeyInput{Name: "bench"})
	require.NoError(b, err)
	rate := ratelimit.Rate{Events: 1_000_000, Per: time.Second, Burst: 1_000_000}
	limits := pipeline.Limits{
		Limiter: ratelimit.New(ratelimit.NewMemory(time.Now), nil, quiet()),
		Caller:  rate, Tenant: rate, Public: rate, Auth: rate, Email: rate, Capture: rate, Guesses: rate,
	}
	all := middleware(b, a, limits)
	cases := []*timing{
		{name: "bare", handler: bareCreate(nil), token: key},
		{name: "all", handler: bareCreate(all), token: key},
		{name: "all, JWT", handler: bareCreate(all), token: a.owner.Token},
		{name: "all, limits in Redis", handler: bareCreate(middleware(b, a, inRedis(b, limits))), token: key},
		{name: "all, Idempotency-Key", handler: bareCreate(all), token: key, once: true},
		{name: "without limits", handler: bareCreate(middleware(b, a, pipeline.Limits{})), token: key},
	}
	for _, layer := range all {
		if layer.Name == "authentication" {
			continue // the layers below it need the caller
		}
		rest := make([]pipeline.Layer, 0, len(all))
		for _, l := range all {
			if l.Name != layer.Name {
				rest = append(rest, l)
			}
		}
		cases = append(cases, &timing{name: "without " + layer.Name, handler: bareCreate(rest), token: key})
	}
	for b.Loop() {
		for range middlewareRounds {
			for _, c := range cases {
				c.measure(b)
			}
		}
	}
	bare, whole := cases[0].p50(), cases[1].p50()
	for _, c := range cases {
		fmt.Printf("%-40s %8.1f µs  %5.1f × bare  %+7.1f µs\n", c.name, us(c.p50()), float64(c.p50())/float64(bare), us(c.p50()-whole))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(us(bare), "bare-p50-us")
	b.ReportMetric(us(whole-bare), "middleware-p50-us")
	b.ReportMetric(us(middlewareAim), "aim-us")
	b.ReportMetric(float64(whole)/float64(bare), "ratio")
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func middleware(b *testing.B, a *services, limits pipeline.Limits) []pipeline.Layer {
	b.Helper()
	layers, err := handlers.Layers(a.config(b, limits))
	require.NoError(b, err)
	return layers
}

func inRedis(b *testing.B, limits pipeline.Limits) pipeline.Limits {
	b.Helper()
	shared, err := ratelimit.NewRedis(redistest.New(b).URL, time.Second)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, shared.Close()) })
	limits.Limiter = ratelimit.New(ratelimit.NewMemory(time.Now), shared, quiet())
	return limits
}

// bareCreate is POST /v1/me/streams with an empty handler behind the layers.
func bareCreate(layers []pipeline.Layer) http.Handler {
	e := echo.New()
	e.Use(pipeline.Chain(layers))
	e.POST("/v1/me/streams", func(c echo.Context) error {
		return c.Blob(http.StatusCreated, echo.MIMEApplicationJSON, []byte(`{}`))
	})
	return e
}

// timing is one case with the times of its requests.
type timing struct {
	name    string
	handler http.Handler
	token   string
	once    bool // each request has a new Idempotency-Key
	took    []time.Duration
}

func (c *timing) p50() time.Duration { return quantile(c.took, .5) }

func (c *timing) measure(b *testing.B) {
	b.Helper()
	const body = `{"name":"Launch of the summer collection","mode":"LOW_LATENCY","reconnectWindowSec":30,"recordingEnabled":true}`
	n := middlewareRequests
	if c.once {
		n /= 10 // each request waits for the disk
	}
	for i := range n {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/me/streams", strings.NewReader(body))
		require.NoError(b, err)
		r.RemoteAddr, r.RequestURI = "203.0.113.9:40000", "/v1/me/streams"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+c.token)
		if c.once {
			r.Header.Set("Idempotency-Key", fmt.Sprintf("%d-%d", len(c.took), i))
		}
		w := &nowhere{header: http.Header{}}
		start := time.Now()
		c.handler.ServeHTTP(w, r)
		c.took = append(c.took, time.Since(start))
		require.Equal(b, http.StatusCreated, w.status, c.name)
	}
}

// nowhere is a response writer that discards the answer.
type nowhere struct {
	header http.Header
	status int
}

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(status int)      { n.status = status }
