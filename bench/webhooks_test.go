package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/media/hub"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/webhook"
	"showfloor/jobs"
)

const (
	webhookRounds = 5
	// deliveries and noops are the numbers per round: one to three seconds of work. The queue marks
	// the last jobs as completed up to 250 ms late, so fewer would measure that.
	deliveries, noops = 8000, 8000
)

// BenchmarkWebhooks compares deliveries to a sink in a separate process with
// jobs that do nothing. The server's own queue configuration runs both, on a
// database that syncs its commits. The jobs are added before the measurement,
// which ends when the queue has marked the last one as completed. It also measures how
// fast events are emitted, 500 in a transaction, and fanned out into deliveries.
func BenchmarkWebhooks(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	_, _, err := a.Webhooks.CreateWebhook(b.Context(), a.caller, webhook.EndpointInput{URL: newSink(b) + "/hook"})
	require.NoError(b, err)

	var delivered, idle, ratio, emitted, fanned []float64
	for b.Loop() {
		for range webhookRounds {
			a.insertNoops(b, noops)
			idle = append(idle, noops/a.work(b).Seconds())
			start := time.Now()
			a.emit(b, deliveries)
			emitted, start = append(emitted, deliveries/time.Since(start).Seconds()), time.Now()
			require.NoError(b, a.Webhooks.FanOut(b.Context()))
			fanned = append(fanned, deliveries/time.Since(start).Seconds())
			delivered = append(delivered, deliveries/a.work(b).Seconds())
			ratio = append(ratio, delivered[len(delivered)-1]/idle[len(idle)-1])
		}
	}
	var arrived int
	require.NoError(b, a.pool.QueryRow(b.Context(),
		`SELECT count(*) FROM webhook_deliveries WHERE status = 'delivered' AND attempts = 1`).Scan(&arrived))
	require.Equal(b, b.N*webhookRounds*deliveries, arrived)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(emitted, .5), "emitted/s")
	b.ReportMetric(quantile(fanned, .5), "fanned-out/s")
	b.ReportMetric(quantile(idle, .5), "noop-jobs/s")
	b.ReportMetric(quantile(delivered, .5), "deliveries/s")
	b.ReportMetric(quantile(ratio, .5), "ratio") // within one round
}

// laneEvents is how many events of one subject are delivered in each round.
const laneEvents = 1000

// BenchmarkWebhookLane delivers events of one subject, each of which waits for
// the first attempt of the one before. The baseline is plain POSTs of the same
// size, one after the other.
func BenchmarkWebhookLane(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	sink := newSink(b)
	_, _, err := a.Webhooks.CreateWebhook(b.Context(), a.caller, webhook.EndpointInput{URL: sink + "/hook"})
	require.NoError(b, err)
	client := &http.Client{Timeout: time.Minute}
	var delivered, plain, ratio []float64
	for b.Loop() {
		for range webhookRounds {
			start := time.Now()
			for range laneEvents {
				resp, err := client.Post(sink, "application/json", strings.NewReader(strings.Repeat("x", 250)))
				require.NoError(b, err)
				require.NoError(b, resp.Body.Close())
			}
			plain = append(plain, laneEvents/time.Since(start).Seconds())
			a.emitOf(b, laneEvents, func() string { return "str_one" })
			require.NoError(b, a.Webhooks.FanOut(b.Context()))
			delivered = append(delivered, laneEvents/a.work(b).Seconds())
			ratio = append(ratio, delivered[len(delivered)-1]/plain[len(plain)-1])
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(plain, .5), "plain-POSTs/s")
	b.ReportMetric(quantile(delivered, .5), "deliveries/s")
	b.ReportMetric(quantile(ratio, .5), "ratio") // within one round
}

// latencyEvents is how many events are emitted in each round, each after the arrival of the one before.
const latencyEvents = 300

// BenchmarkWebhookLatency measures the time from the commit of an event to the arrival of its delivery.
func BenchmarkWebhookLatency(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	arrivals := make(chan time.Time, 10)
	addr := serveHTTP(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrivals <- time.Now()
		w.WriteHeader(http.StatusNoContent)
	}))
	_, _, err := a.Webhooks.CreateWebhook(b.Context(), a.caller, webhook.EndpointInput{URL: "http://" + addr + "/hook"})
	require.NoError(b, err)
	client, err := jobs.New(jobs.Config{Pool: a.pool, Areas: a.Areas, Node: "node_bench", Log: quiet()})
	require.NoError(b, err)
	require.NoError(b, client.Start(context.WithoutCancel(b.Context())))
	defer func() { require.NoError(b, client.Stop(context.Background())) }()
	var emit, arrive []float64
	for b.Loop() {
		for range latencyEvents {
			start := time.Now()
			a.emitOf(b, 1, func() string { return id.New(id.Stream) })
			committed := time.Now()
			emit = append(emit, milliseconds(committed.Sub(start)))
			arrive = append(arrive, milliseconds((<-arrivals).Sub(committed)))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(emit, .5), "emit-p50-ms")
	b.ReportMetric(quantile(emit, .95), "emit-p95-ms")
	b.ReportMetric(quantile(arrive, .5), "p50-ms")
	b.ReportMetric(quantile(arrive, .95), "p95-ms")
}

// emit emits n events of different subjects, so that none waits for another.
func (a *services) emit(b *testing.B, n int) {
	b.Helper()
	a.emitOf(b, n, func() string { return id.New(id.Stream) })
}

// emitOf emits n events, each of the subject that next returns.
func (a *services) emitOf(b *testing.B, n int, next func() string) {
	b.Helper()
	const batch = 500
	for done := 0; done < n; done += batch {
		err := postgres.InTx(b.Context(), a.pool, func(tx pgx.Tx) error {
			for range min(batch, n) {
				subject := next()
				err := a.Events.EmitTx(b.Context(), tx, event.Event{
					TenantID: a.caller.TenantID, Name: "stream.started", Subject: subject,
					Data: map[string]any{"streamId": subject, "name": "Launch", "mode": "LOW_LATENCY", "projectId": nil},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(b, err)
	}
}

// noopArgs is a job that does nothing, in the deliveries' queue.
type noopArgs struct {
	Number int `json:"number"`
}

func (noopArgs) Kind() string                 { return "bench_noop" }
func (noopArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: webhook.Queue} }

type noop struct {
	river.WorkerDefaults[noopArgs]
}

func (noop) Work(context.Context, *river.Job[noopArgs]) error { return nil }

func (a *services) insertNoops(b *testing.B, n int) {
	b.Helper()
	params := make([]river.InsertManyParams, n)
	for i := range params {
		params[i].Args = noopArgs{i}
	}
	_, err := a.queue(b).InsertManyFast(b.Context(), params)
	require.NoError(b, err)
}

// queue returns the server's queue with the no-op worker added.
func (a *services) queue(b *testing.B) *river.Client[pgx.Tx] {
	b.Helper()
	config := jobs.Config{Pool: a.pool, Areas: a.Areas, Node: "node_bench", Log: quiet()}.River()
	river.AddWorker(config.Workers, noop{})
	client, err := river.NewClient(riverpgxv5.New(a.pool), config)
	require.NoError(b, err)
	return client
}

// work runs the queue until it is empty and returns the time that it took.
func (a *services) work(b *testing.B) time.Duration {
	b.Helper()
	_, err := a.pool.Exec(b.Context(), `VACUUM ANALYZE river_job, webhook_deliveries, events`)
	require.NoError(b, err)
	client, start := a.queue(b), time.Now()
	require.NoError(b, client.Start(context.WithoutCancel(b.Context())))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for busy := true; busy; <-tick.C {
		err := a.pool.QueryRow(b.Context(),
			`SELECT EXISTS (SELECT FROM river_job WHERE queue = $1 AND state IN ('available', 'running', 'retryable', 'scheduled'))`,
			webhook.Queue).Scan(&busy)
		require.NoError(b, err)
	}
	took := time.Since(start)
	require.NoError(b, client.Stop(b.Context()))
	_, err = a.pool.Exec(b.Context(), `DELETE FROM river_job`)
	require.NoError(b, err)
	return took
}

const sinkEnv = "SHOWFLOOR_BENCH_SINK"

// newSink starts a process that answers every POST with 204, and returns its URL.
func newSink(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSink$", "-test.v=false")
	cmd.Env, cmd.Stderr = append(os.Environ(), sinkEnv+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		require.NoError(b, in.Close())
		_, _ = io.Copy(io.Discard, out)
		require.NoError(b, cmd.Wait())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err)
	return strings.TrimSpace(line)
}

// TestSink is the sink's process. As a test it does nothing.
func TestSink(t *testing.T) {
	if os.Getenv(sinkEnv) == "" {
		t.Skip("runs as a child of the benchmarks")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = server.Serve(listener) }()
	fmt.Println("http://" + listener.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it or ends
	_ = server.Close()
}
