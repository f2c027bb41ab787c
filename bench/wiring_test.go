// Package bench holds the benchmarks that show whether the server meets its
// performance goals. Each measures its subject and a baseline in one run and
// prints the ratio, which is comparable between machines; see README.md.
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

	"showfloor/gen/db"
	"showfloor/internal/areas"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/postgres/embedded"
	"showfloor/internal/base/secret"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
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
	require.NoError(b, postgres.Migrate(b.Context(), pool, schema.FS, schema.SearchIndexes(), quiet()))
	return pool
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// services are the areas on one database, and a tenant in it.
type services struct {
	*areas.Areas

	pool   *pgxpool.Pool
	owner  account.Login
	caller tenancy.Caller
}

// newServices opens the areas and registers a tenant. The stream engine uses h,
// which may be filled in later.
func newServices(b *testing.B, h *hub.Hub) *services {
	b.Helper()
	return newServicesAt(b, h, time.Now)
}

// newServicesAt is newServices with a clock.
func newServicesAt(b *testing.B, h *hub.Hub, now func() time.Time) *services {
	b.Helper()
	return newServicesWith(b, h, now, areas.Settings{})
}

// newServicesWith is newServicesAt with the addresses of the SFU and of the push providers.
func newServicesWith(b *testing.B, h *hub.Hub, now func() time.Time, set areas.Settings) *services {
	b.Helper()
	return newServicesOn(b, durable(b), h, now, set)
}

// newServicesOn is newServicesWith on a pool.
func newServicesOn(b *testing.B, pool *pgxpool.Pool, h *hub.Hub, now func() time.Time, set areas.Settings) *services {
	b.Helper()
	a := &services{pool: pool}
	box, err := secret.NewBox(make([]byte, secret.KeySize))
	require.NoError(b, err)
	a.Areas, err = areas.Open(b.Context(), areas.Config{
		Settings: areas.Settings{
			PublicURL: "http://localhost", IngestURL: "rtmp://localhost/live", AllowPrivate: true, SFUURL: set.SFUURL, Push: set.Push,
		},
		Pool: a.pool, Box: box, Log: quiet(), Node: "node_bench", Engine: mediagate.Engine{Hub: h}, Now: now,
	})
	require.NoError(b, err)
	a.owner, err = a.Accounts.Register(b.Context(), account.Registration{
		TenantName: "Bench", Name: "Bench", Email: "bench@example.com", Password: "correct horse battery",
	}, tenancy.Origin{})
	require.NoError(b, err)
	// The benchmarks exceed the limits of the FREE plan.
	require.NoError(b, db.New(a.pool).SetTenantPlan(b.Context(), db.SetTenantPlanParams{ID: a.owner.Tenant.ID, Plan: "ENTERPRISE", Now: time.Now()}))
	a.caller = tenancy.Caller{
		TenantID: a.owner.Tenant.ID, UserID: a.owner.User.ID, Role: tenancy.Owner, Scopes: tenancy.Owner.Scopes(),
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

// quantile returns a quantile of some values by the nearest rank; q is from 0 to 1.
func quantile[T ~int64 | ~float64](of []T, q float64) T {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
