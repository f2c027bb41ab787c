package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/dbtest"
)

// TestPlannedStatementsArePlannedForTheirArguments: PostgreSQL keeps no plan for all arguments, as it does for the pool itself.
func TestPlannedStatementsArePlannedForTheirArguments(t *testing.T) {
	t.Parallel()
	pool, err := postgres.Open(t.Context(), dbtest.NewEmpty(t).Config().ConnString(), postgres.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	_, err = pool.Exec(t.Context(), `CREATE TABLE things AS
		SELECT n AS id, CASE WHEN n % 10000 = 0 THEN 'rare' ELSE 'common' END AS kind
		FROM generate_series(1, 20000) AS n`)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"CREATE INDEX things_kind_idx ON things (kind, id)", "CREATE INDEX things_idx ON things (id)", "ANALYZE things",
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if keepsPlan(t, pool, postgres.Planned{Pool: pool}) {
		t.Error("one plan is kept for all arguments")
	}
	if !keepsPlan(t, pool, pool) {
		t.Error("the pool kept no generic plan")
	}
}

// keepsPlan executes a statement ten times and reports whether one of its executions used a plan for all arguments.
func keepsPlan(t *testing.T, pool *pgxpool.Pool, on db.DBTX) (kept bool) {
	t.Helper()
	const list = "SELECT id FROM things WHERE $1::text IS NULL OR kind = $1::text ORDER BY id DESC LIMIT 1"
	for _, kind := range []any{nil, "common", "common", nil, "common", "common", "common", "rare", "rare", "common"} {
		var id int
		if err := on.QueryRow(t.Context(), list, kind).Scan(&id); err != nil {
			t.Fatal(err)
		}
	}
	err := pool.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_prepared_statements
		WHERE statement = $1 AND generic_plans > 0`, list).Scan(&kept)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}
