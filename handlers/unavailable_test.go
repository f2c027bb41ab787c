package handlers_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestDatabaseFailures breaks the database in every way that isn't our fault. Clients
// get a Retry-After, the log has one warning for each cause and no error, and the
// server works again once the database does.
func TestDatabaseFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// fail breaks it; mend is nil where there is nothing to mend.
		fail, mend func(t *testing.T, line *dbtest.Line)
		// reads and writes are the problem codes of the answers to reads and writes,
		// "" for no problem; maybe also allows none.
		reads, writes string
		maybe         bool
	}{
		{
			name: "every backend is ended", reads: "database_unavailable", writes: "database_unavailable", maybe: true,
			fail: endBackends,
		},
		{
			name: "the server is away", reads: "database_unavailable", writes: "database_unavailable",
			fail: func(_ *testing.T, line *dbtest.Line) { line.SetAway(true) },
			mend: func(_ *testing.T, line *dbtest.Line) { line.SetAway(false) },
		},
		{
			name: "the server stands still", reads: "timeout", writes: "timeout",
			fail: func(_ *testing.T, line *dbtest.Line) { line.Freeze() },
			mend: func(_ *testing.T, line *dbtest.Line) { line.Thaw() },
		},
		{
			name: "it takes no writes", writes: "database_unavailable",
			fail: func(t *testing.T, line *dbtest.Line) { t.Helper(); setReadOnly(t, line, "on") },
			mend: func(t *testing.T, line *dbtest.Line) { t.Helper(); setReadOnly(t, line, "off") },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			line, log := dbtest.NewLine(t), new(logged)
			patient := apitest.New(t, apitest.Options{Pool: line.Pool})
			s := apitest.New(t, apitest.Options{Pool: line.Pool, RequestTime: frozenTime, Log: slog.New(slog.NewTextHandler(log, nil))})
			owner := s.With(t, patient.Register(t).Token)
			c.fail(t, line)
			for range 3 {
				failsWith(t, owner.Call(t, "GET", "/v1/me/streams", nil), http.StatusOK, c.reads, c.maybe)
				failsWith(t, owner.Call(t, "POST", "/v1/me/streams", map[string]any{"name": "x"}), http.StatusCreated, c.writes, c.maybe)
			}
			require.Empty(t, log.lines("level=ERROR"))
			require.LessOrEqual(t, len(log.lines("answered with 503")), 2, "%s", log.lines("503"))
			if c.mend != nil {
				c.mend(t, line)
			}
			apitest.Until(t, "the server to work again", func() bool {
				return owner.Call(t, "GET", "/v1/me/streams", nil).Status == http.StatusOK &&
					owner.Call(t, "POST", "/v1/me/streams", map[string]any{"name": "x"}).Status == http.StatusCreated
			})
		})
	}
}

func failsWith(t *testing.T, r apitest.Response, success int, code string, maybe bool) {
	t.Helper()
	if code == "" || maybe && r.Status == success {
		r.Is(t, success)
		return
	}
	r.Problem(t, http.StatusServiceUnavailable, code)
	require.NotEmpty(t, r.Header.Get("Retry-After"))
}

func endBackends(t *testing.T, line *dbtest.Line) {
	t.Helper()
	exec(t, line.Direct, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
}

// setReadOnly makes the database read-only for every new session, or writable again.
// When it becomes read-only, the pool replaces all its sessions.
func setReadOnly(t *testing.T, line *dbtest.Line, value string) {
	t.Helper()
	exec(t, line.Direct, "BEGIN READ WRITE; ALTER DATABASE "+pgx.Identifier{line.Pool.Config().ConnConfig.Database}.Sanitize()+
		" SET default_transaction_read_only = "+value+"; COMMIT")
	if value == "on" {
		line.Pool.Reset()
	}
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
}

// logged is a server's log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lines returns the lines that contain the text.
func (l *logged) lines(text string) (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			list = append(list, line)
		}
	}
	return list
}

// TestUnbuiltOperationsAreNoErrors checks that a 501 is logged like any other answer.
func TestUnbuiltOperationsAreNoErrors(t *testing.T) {
	t.Parallel()
	log := new(logged)
	s := apitest.New(t, apitest.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	owner, unbuilt := s.Register(t), unbuiltOperations()
	for _, op := range operations(t) {
		if unbuilt[strings.ToLower(op.id)] && strings.HasPrefix(op.path, "/v1/me") {
			owner.Call(t, op.method, op.at("none"), nil).Problem(t, http.StatusNotImplemented, "not_implemented")
			require.NotEmpty(t, log.lines("status=501"))
			require.Empty(t, log.lines("level=ERROR"))
			return
		}
	}
	t.Skip("every operation is built")
}
