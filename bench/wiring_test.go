// Package bench holds the benchmarks that tell whether the server is as fast as
// it is meant to be. Each measures its subject and a baseline in one run and
// prints the ratio, which travels between machines; see README.md.
package bench

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/account"
	"showfloor/internal/event"
	"showfloor/internal/idempotency"
	"showfloor/internal/media/hub"
	"showfloor/internal/onair"
	"showfloor/internal/postgres"
	"showfloor/internal/postgres/embedded"
	"showfloor/internal/secret"
	"showfloor/internal/signing"
	"showfloor/internal/stream"
	"showfloor/internal/tester"
	"showfloor/internal/webhook"
	"showfloor/jobs"
	"showfloor/schema"
)

// durable starts a PostgreSQL server with the settings of production, which
// syncs every commit, and opens a migrated database on it.
func durable(b *testing.B) *pgxpool.Pool {
	b.Helper()
	server, err := embedded.Start(b.Context(), embedded.Options{Dir: publicDir(b), BinDir: os.Getenv("PG_BIN"), Log: quiet()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Stop(context.Background())) })
	pool, err := postgres.Open(b.Context(), server.ConnString(), postgres.Options{})
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	require.NoError(b, postgres.Migrate(b.Context(), pool, schema.FS, quiet()))
	return pool
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// areas are the services over one database, wired as cmd/showfloor does it.
type areas struct {
	pool     *pgxpool.Pool
	events   *event.Log
	accounts *account.Service
	streams  *stream.Service
	webhooks *webhook.Service
	tester   *tester.Service
	owner    account.Login

	idempotency *idempotency.Service

	caller account.Caller
}

// newAreas opens the services and registers a tenant. The engine asks h, which
// may be filled in later.
func newAreas(b *testing.B, h *hub.Hub) *areas {
	b.Helper()
	a := &areas{pool: durable(b)}
	box, err := secret.NewBox(make([]byte, secret.KeySize))
	require.NoError(b, err)
	inserter, err := jobs.NewInserter(a.pool, quiet())
	require.NoError(b, err)
	keys, err := signing.New(b.Context(), signing.Config{Pool: a.pool, Box: box, Log: quiet()})
	require.NoError(b, err)
	a.accounts = account.New(account.Config{Pool: a.pool, Keys: keys, Log: quiet()})
	a.events = event.NewLog(inserter, time.Now)
	a.idempotency = idempotency.New(idempotency.Config{Pool: a.pool, Box: box, Log: quiet()})
	a.webhooks = webhook.New(webhook.Config{
		Pool: a.pool, Box: box, Events: a.events, Schedule: webhook.DefaultSchedule(), AllowPrivate: true,
	})
	a.tester = tester.New(tester.Config{Pool: a.pool})
	a.streams = stream.New(stream.Config{
		Pool: a.pool, Events: a.events, Jobs: inserter, Engine: onair.Engine{Hub: h}, Node: "node_bench",
		PlaybackKey: box.Derive("playback"), PublicURL: "http://localhost", IngestURL: "rtmp://localhost/live",
	})
	a.owner, err = a.accounts.Register(b.Context(), account.Registration{
		TenantName: "Bench", Name: "Bench", Email: "bench@example.com", Password: "correct horse battery",
	}, account.Origin{})
	require.NoError(b, err)
	a.caller = account.Caller{
		TenantID: a.owner.Tenant.ID, UserID: a.owner.User.ID, Role: account.Owner, Scopes: account.Owner.Scopes(),
	}
	return a
}

// serveHTTP serves h on a loopback port until the benchmark ends.
func serveHTTP(b *testing.B, h http.Handler) (addr string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// quantile of some figures, by the nearest rank; q is from 0 to 1.
func quantile[T ~int64 | ~float64](of []T, q float64) T {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
