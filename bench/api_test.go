package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"showfloor/handlers"
	"showfloor/handlers/pipeline"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/account"
)

const (
	// apiRounds is the number of rounds per case. The cases take turns, so that
	// a busy moment of the machine affects all of them.
	apiRounds    = 5
	apiRoundTime = 600 * time.Millisecond
	apiConns     = 16
)

// BenchmarkGetStream compares GET /v1/me/streams/{id}, with an API key and with a
// JWT, with a bare echo handler that reads the same row by its primary key on the
// same pool. A child process sends the requests over persistent connections.
func BenchmarkGetStream(b *testing.B) {
	h := hub.New(hub.Config{})
	a := newServices(b, h)
	s, err := a.Streams.CreateStream(b.Context(), a.caller, stream.Input{Name: "Launch", Mode: stream.LowLatency})
	require.NoError(b, err)
	_, key, err := a.Accounts.CreateAPIKey(b.Context(), a.caller, account.APIKeyInput{Name: "bench"})
	require.NoError(b, err)

	ours, bare := serveHTTP(b, router(b, a)), serveHTTP(b, bareRouter(a))
	g := newGenerator(b)
	cases := []load{
		{Addr: bare, Path: "/streams/" + s.ID},
		{Addr: ours, Path: "/v1/me/streams/" + s.ID, Token: key},
		{Addr: ours, Path: "/v1/me/streams/" + s.ID, Token: a.owner.Token},
	}
	for _, c := range cases { // warms up connections, prepared statements and the heap
		g.run(b, c)
	}
	rates := make([][]float64, len(cases))
	for b.Loop() {
		for range apiRounds {
			for i, c := range cases {
				rates[i] = append(rates[i], g.run(b, c))
			}
		}
	}
	baseline := quantile(rates[0], .5)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(baseline, "bare-req/s")
	b.ReportMetric(quantile(rates[1], .5), "key-req/s")
	b.ReportMetric(quantile(rates[2], .5), "jwt-req/s")
	b.ReportMetric(quantile(rates[1], .5)/baseline, "key-ratio")
	b.ReportMetric(quantile(rates[2], .5)/baseline, "jwt-ratio")
}

// router returns the API as the server serves it, metrics included.
func router(b *testing.B, a *services) http.Handler {
	b.Helper()
	e, err := handlers.New(a.config(b, pipeline.Limits{}))
	require.NoError(b, err)
	return e
}

// config returns the server's configuration.
func (a *services) config(b *testing.B, limits pipeline.Limits) handlers.Config {
	b.Helper()
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "requests", Help: "As the server counts."},
		[]string{"method", "route", "status"})
	return handlers.Config{
		Pipeline: pipeline.Config{
			Settings: pipeline.Settings{PublicURL: "https://localhost", Origins: []string{"*"}, Limits: limits},
			Observe: func(method, route string, status int, took time.Duration) {
				requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
			},
			Log: quiet(),
		},
		Areas: a.Areas, Live: http.NotFoundHandler(), Pages: http.NotFoundHandler(), Metrics: http.NotFoundHandler(),
	}
}

// bareStream is the row in the format of the bare handler.
type bareStream struct {
	ID                 string     `json:"id"`
	TenantID           string     `json:"tenantId"`
	Name               string     `json:"name"`
	Mode               string     `json:"mode"`
	Status             string     `json:"status"`
	KeyLast4           string     `json:"keyLast4"`
	ProjectID          *string    `json:"projectId"`
	ReconnectWindowSec int32      `json:"reconnectWindowSec"`
	RecordingEnabled   bool       `json:"recordingEnabled"`
	StartedAt          *time.Time `json:"startedAt"`
	EndedAt            *time.Time `json:"endedAt"`
	CreatedAt          time.Time  `json:"createdAt"`
	UpdatedAt          time.Time  `json:"updatedAt"`
}

// bareRouter does the minimum for such a request: no authentication, no checks,
// no metrics.
func bareRouter(a *services) http.Handler {
	e := echo.New()
	e.GET("/streams/:id", func(c echo.Context) error {
		var s bareStream
		err := a.pool.QueryRow(c.Request().Context(), `SELECT id, tenant_id, name, mode, status, key_last4, project_id,
			reconnect_window_sec, recording_enabled, started_at, ended_at, created_at, updated_at FROM streams WHERE id = $1`,
			c.Param("id")).Scan(&s.ID, &s.TenantID, &s.Name, &s.Mode, &s.Status, &s.KeyLast4, &s.ProjectID,
			&s.ReconnectWindowSec, &s.RecordingEnabled, &s.StartedAt, &s.EndedAt, &s.CreatedAt, &s.UpdatedAt)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, s)
	})
	return e
}

// load is a command to the generator.
type load struct {
	Addr  string `json:"addr"`
	Path  string `json:"path"`
	Token string `json:"token"`
}

// generator sends requests from a separate process, so that its CPU time
// doesn't count as the server's.
type generator struct {
	orders  *json.Encoder
	results *json.Decoder
}

const generatorEnv = "SHOWFLOOR_BENCH_GENERATOR"

func newGenerator(b *testing.B) *generator {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestGenerator$", "-test.v=false")
	cmd.Env = append(os.Environ(), generatorEnv+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	cmd.Stderr = os.Stderr
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		require.NoError(b, in.Close())
		require.NoError(b, cmd.Wait())
	})
	return &generator{json.NewEncoder(in), json.NewDecoder(out)}
}

// run returns the requests per second.
func (g *generator) run(b *testing.B, l load) (rate float64) {
	b.Helper()
	require.NoError(b, g.orders.Encode(l))
	require.NoError(b, g.results.Decode(&rate))
	require.Positive(b, rate, "the generator's error is above")
	return rate
}

// TestGenerator is the generator's process. As a test it does nothing.
func TestGenerator(t *testing.T) {
	if os.Getenv(generatorEnv) == "" {
		t.Skip("runs as a child of the benchmarks")
	}
	orders, results := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var l load
		if err := orders.Decode(&l); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		rate, err := l.rate()
		if err != nil {
			fmt.Fprintln(os.Stderr, "generator:", err)
		}
		if err := results.Encode(rate); err != nil {
			t.Fatal(err)
		}
	}
}

// rate sends requests for the time of one round.
func (l load) rate() (float64, error) {
	var wg sync.WaitGroup
	var done atomic.Int64
	errs := make(chan error, apiConns)
	start := time.Now()
	for range apiConns {
		wg.Go(func() { errs <- l.requests(start.Add(apiRoundTime), &done) })
	}
	wg.Wait()
	took := time.Since(start)
	for range apiConns {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return float64(done.Load()) / took.Seconds(), nil
}

// requests sends one request after the other on one connection.
func (l load) requests(until time.Time, done *atomic.Int64) error {
	conn, err := net.Dial("tcp", l.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	request := "GET " + l.Path + " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
	if l.Token != "" {
		request += "Authorization: Bearer " + l.Token + "\r\n"
	}
	request += "\r\n"
	r := bufio.NewReader(conn)
	for time.Now().Before(until) {
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", resp.Status, body)
		}
		done.Add(1)
	}
	return nil
}
