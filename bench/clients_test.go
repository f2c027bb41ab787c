package bench

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/secret"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/account"
)

const (
	// clientCount clients send requests at the same time, for clientTime in
	// all, in rounds that take turns with the baseline.
	clientCount  = 500
	clientTime   = 30 * time.Second
	clientRounds = 3
)

// BenchmarkClients lets 500 clients with API keys read (60 %) and write (40 %) on
// the built server as fast as it answers. The baseline is bare echo handlers with
// the same reads, inserts and updates, each in a transaction, on the same database.
func BenchmarkClients(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	s := startServer(b, serverBinary(b), publicDir(b), "DATABASE_URL="+a.pool.Config().ConnString(),
		"MASTER_KEY="+base64.StdEncoding.EncodeToString(make([]byte, secret.KeySize)), "RATE_LIMIT_CALLER=1000000/s", "RATE_LIMIT_TENANT=1000000/s", "LOG_LEVEL=warn")
	st, err := a.Streams.CreateStream(b.Context(), a.caller, stream.Input{Name: "Launch", Mode: stream.LowLatency})
	require.NoError(b, err)
	ours := traffic{Addr: strings.TrimPrefix(s.api, "http://"), Clients: clientCount, For: clientTime / clientRounds, Calls: []call{
		{Name: "get", Weight: 40, Method: http.MethodGet, Path: "/v1/me/streams/" + st.ID},
		{Name: "list", Weight: 10, Method: http.MethodGet, Path: "/v1/me/streams?limit=20"},
		{Name: "me", Weight: 10, Method: http.MethodGet, Path: "/v1/me"},
		{Name: "create", Weight: 30, Method: http.MethodPost, Path: "/v1/me/streams", Body: `{"name":"Launch","mode":"LOW_LATENCY"}`},
		{Name: "rotate", Weight: 10, Method: http.MethodPost, Path: "/v1/me/streams/" + st.ID + "/rotate-key"},
	}}
	for range 50 {
		_, key, err := a.Accounts.CreateAPIKey(b.Context(), a.caller, account.APIKeyInput{Name: "bench"})
		require.NoError(b, err)
		ours.Tokens = append(ours.Tokens, key)
	}
	bare := ours
	bare.Addr, bare.Tokens = serveHTTP(b, bareStreams(a, st.ID)), nil
	var us, them outcome
	for b.Loop() {
		for range clientRounds {
			us.add(ours.start(b)())
			them.add(bare.start(b)())
		}
	}
	require.Zero(b, us.failures(), "%v", us.Statuses)
	reads, writes := []string{"get", "list", "me"}, []string{"create", "rotate"}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(us.failures()), "5xx")
	b.ReportMetric(float64(len(us.of()))/clientTime.Seconds(), "req/s")
	b.ReportMetric(float64(len(us.of()))/float64(len(them.of())), "rate-ratio")
	b.ReportMetric(milliseconds(quantile(us.of(reads...), .5)), "read-p50-ms")
	b.ReportMetric(milliseconds(quantile(us.of(reads...), .99)), "read-p99-ms")
	b.ReportMetric(milliseconds(quantile(us.of(writes...), .5)), "write-p50-ms")
	b.ReportMetric(milliseconds(quantile(us.of(writes...), .99)), "write-p99-ms")
	b.ReportMetric(milliseconds(quantile(them.of(), .5)), "bare-p50-ms")
	b.ReportMetric(milliseconds(quantile(them.of(), .99)), "bare-p99-ms")
	b.ReportMetric(float64(quantile(us.of(), .99))/float64(quantile(them.of(), .99)), "p99-ratio")
	s.stop(b)
}

// add adds the results of another round.
func (o *outcome) add(more outcome) {
	if o.Took == nil {
		o.Took, o.Statuses = map[string][]time.Duration{}, map[int]int{}
	}
	for name, took := range more.Took {
		o.Took[name] = append(o.Took[name], took...)
	}
	for status, n := range more.Statuses {
		o.Statuses[status] += n
	}
}

// bareStreams does the minimum for those requests: no authentication, no
// checks, no audit log.
func bareStreams(a *services, existing string) http.Handler {
	e := echo.New()
	const columns = `id, tenant_id, name, mode, status, key_last4, project_id, reconnect_window_sec, recording_enabled,
		started_at, ended_at, created_at, updated_at`
	read := func(rows pgx.CollectableRow) (bareStream, error) {
		var s bareStream
		err := rows.Scan(&s.ID, &s.TenantID, &s.Name, &s.Mode, &s.Status, &s.KeyLast4, &s.ProjectID,
			&s.ReconnectWindowSec, &s.RecordingEnabled, &s.StartedAt, &s.EndedAt, &s.CreatedAt, &s.UpdatedAt)
		return s, err
	}
	query := func(c echo.Context, status int, sql string, args ...any) error {
		rows, err := a.pool.Query(c.Request().Context(), sql, args...)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, read)
		if err != nil {
			return err
		}
		return c.JSON(status, list)
	}
	e.GET("/v1/me/streams/:id", func(c echo.Context) error {
		return query(c, http.StatusOK, "SELECT "+columns+" FROM streams WHERE id = $1", c.Param("id"))
	})
	e.GET("/v1/me/streams", func(c echo.Context) error {
		return query(c, http.StatusOK, "SELECT "+columns+" FROM streams WHERE tenant_id = $1 ORDER BY id DESC LIMIT 20", a.caller.TenantID)
	})
	e.GET("/v1/me", func(c echo.Context) error {
		return query(c, http.StatusOK, "SELECT "+columns+" FROM streams WHERE id = $1", existing)
	})
	write := func(sql string, args func() []any) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := postgres.InTx(c.Request().Context(), a.pool, func(tx pgx.Tx) error {
				_, err := tx.Exec(c.Request().Context(), sql, args()...)
				return err
			})
			if err != nil {
				return err
			}
			return c.JSON(http.StatusCreated, bareStream{ID: existing})
		}
	}
	e.POST("/v1/me/streams", write(`INSERT INTO streams (id, tenant_id, name, mode, key_hash, key_last4, created_at, updated_at)
		VALUES ($1, $2, 'Launch', 'LOW_LATENCY', $3, '1234', now(), now())`, func() []any {
		return []any{id.New(id.Stream), a.caller.TenantID, []byte(secret.Text(32))}
	}))
	e.POST("/v1/me/streams/:id/rotate-key", write("UPDATE streams SET key_hash = $1, updated_at = now() WHERE id = $2", func() []any {
		return []any{[]byte(secret.Text(32)), existing}
	}))
	return e
}
