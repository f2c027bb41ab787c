package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// plansEnv is the name of a file that gets the plans of the statements of BenchmarkLists.
const plansEnv = "SHOWFLOOR_BENCH_PLANS"

// statement is a statement with its arguments, as a request sent it.
type statement struct {
	sql  string
	args []any
}

// statements records the reading statements of a pool while it is on.
type statements struct {
	mu   sync.Mutex
	on   bool
	seen []statement
}

// TraceQueryStart records a statement.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on && reads(data.SQL) {
		s.seen = append(s.seen, statement{data.SQL, slices.Clone(data.Args)})
	}
	return ctx
}

// TraceQueryEnd does nothing.
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// reads reports whether a statement is a SELECT; sqlc puts a comment with the name before it.
func reads(sql string) bool {
	for line := range strings.Lines(sql) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
			return strings.HasPrefix(line, "SELECT") || strings.HasPrefix(line, "WITH")
		}
	}
	return false
}

// record runs f and returns its statements.
func (s *statements) record(f func()) []statement {
	s.mu.Lock()
	s.on, s.seen = true, nil
	s.mu.Unlock()
	f()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = false
	return s.seen
}

// printPlans writes the plan of each statement, with the time and the pages of one run.
func printPlans(b *testing.B, w io.Writer, pool *pgxpool.Pool, name string, seen []statement) {
	b.Helper()
	fmt.Fprintf(w, "\n=== %s\n", name)
	for _, s := range seen {
		title, _, _ := strings.Cut(strings.TrimSpace(s.sql), "\n")
		fmt.Fprintf(w, "\n%s\n", title)
		rows, err := pool.Query(b.Context(), `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) `+s.sql, s.args...)
		require.NoError(b, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil { // a statement of a batch or with a mode of its own
			fmt.Fprintf(w, "  no plan: %v\n", err)
			continue
		}
		for _, line := range lines {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
}

// tracedPool is a pool of a new server that records its statements.
func tracedPool(b *testing.B, to *statements) *pgxpool.Pool {
	b.Helper()
	config := durable(b).Config()
	config.ConnConfig.Tracer = to
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	return pool
}

// plansFile opens the file of SHOWFLOOR_BENCH_PLANS; nil without the setting.
func plansFile(b *testing.B) *os.File {
	b.Helper()
	name := os.Getenv(plansEnv)
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, f.Close()) })
	return f
}
