package postgres_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/dbtest"
	"showfloor/schema"
)

// numbers is a schema whose migrations fail or count double if they run twice.
func numbers() fs.FS {
	return fstest.MapFS{
		"0001_table.sql": {Data: []byte("-- +goose Up\nCREATE TABLE numbers (n int);\n-- +goose Down\nDROP TABLE numbers;\n")},
		"0002_row.sql":   {Data: []byte("-- +goose Up\nSELECT pg_sleep(0.1);\nINSERT INTO numbers VALUES (1);\n")},
		"0003_index.sql": {Data: []byte("-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY numbers_idx ON numbers (n);\n")},
	}
}

func count(t *testing.T, pool *pgxpool.Pool, table string) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFourProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	type result struct {
		output []byte
		err    error
	}
	results := make(chan result)
	for range 4 {
		go func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), migrateVariable+"="+pool.Config().ConnString())
			output, err := cmd.CombinedOutput()
			results <- result{output, err}
		}()
	}
	for range 4 {
		if r := <-results; r.err != nil {
			t.Errorf("%v: %s", r.err, r.output)
		}
	}
	if n := count(t, pool, "numbers"); n != 1 {
		t.Errorf("the migrations ran %d times", n)
	}
	count(t, pool, "river_job")
}

func TestMigrateTheRealSchemaTwice(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	for _, migrates := range []bool{true, false} {
		var text bytes.Buffer
		if err := postgres.Migrate(t.Context(), pool, schema.FS, schema.SearchIndexes(), slog.New(slog.NewTextHandler(&text, nil))); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "migrated") != migrates {
			t.Errorf("log: %q", text.String())
		}
	}
}

func TestDatabaseOfANewerProgramIsRefused(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	if err := postgres.Migrate(t.Context(), pool, numbers(), nil, quiet()); err != nil {
		t.Fatal(err)
	}
	older := numbers().(fstest.MapFS)
	delete(older, "0003_index.sql")
	err := postgres.Migrate(t.Context(), pool, older, nil, quiet())
	if err == nil || !strings.Contains(err.Error(), "at version 3, but this program knows only 2") {
		t.Errorf("error: %v", err)
	}
}

// TestFailedMigrationRunsAgain checks that a migration has no time limit, that
// a failed one is rolled back completely, and that it runs again once it has
// been corrected.
func TestFailedMigrationRunsAgain(t *testing.T) {
	t.Parallel()
	config := dbtest.NewEmpty(t).Config()
	pool, err := postgres.Open(t.Context(), config.ConnString()+"&statement_timeout=50", postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	broken := numbers().(fstest.MapFS)
	broken["0002_row.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nINSERT INTO numbers VALUES (7);\nSELECT no_such_column;\n")}
	err = postgres.Migrate(t.Context(), pool, broken, nil, quiet())
	if err == nil || !strings.Contains(err.Error(), "no_such_column") || !strings.Contains(err.Error(), "0002_row.sql") {
		t.Fatalf("error: %v", err)
	}
	if err := postgres.Migrate(t.Context(), pool, numbers(), nil, quiet()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, pool, "numbers WHERE n = 1"); n != 1 || count(t, pool, "numbers") != 1 {
		t.Error("the failed migration left rows")
	}
}

// TestMigrationWaitsForALockInSteps: a migration whose lock_timeout ends is rolled back, and runs again until it gets the lock.
func TestMigrationWaitsForALockInSteps(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	if err := postgres.Migrate(t.Context(), pool, numbers(), nil, quiet()); err != nil {
		t.Fatal(err)
	}
	writer, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Exec(t.Context(), "INSERT INTO numbers VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	warnings := 0
	log := slog.New(slog.NewTextHandler(writerFunc(func(line []byte) {
		if !bytes.Contains(line, []byte("0004_lock.sql")) || !bytes.Contains(line, []byte("level=WARN")) {
			return
		}
		if warnings++; warnings > 1 {
			return
		}
		if err := writer.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}), nil))
	locking := numbers().(fstest.MapFS)
	locking["0004_lock.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nSET LOCAL lock_timeout = '20ms';\n" +
		"INSERT INTO numbers VALUES (3);\nLOCK TABLE numbers IN SHARE ROW EXCLUSIVE MODE;\n")}
	if err := postgres.Migrate(t.Context(), pool, locking, nil, log); err != nil {
		t.Fatal(err)
	}
	if warnings == 0 {
		t.Error("the migration didn't wait for the writer")
	}
	if n := count(t, pool, "numbers WHERE n = 3"); n != 1 {
		t.Errorf("the migration's statements ran %d times", n)
	}
}

// TestABuildOfAnIndexWaitsForWritersWithoutALimit: the database's own lock_timeout would end it, and it would begin again and again.
func TestABuildOfAnIndexWaitsForWritersWithoutALimit(t *testing.T) {
	t.Parallel()
	empty := dbtest.NewEmpty(t)
	pool, err := postgres.Open(t.Context(), empty.Config().ConnString()+"&lock_timeout=20", postgres.Options{})
	require.NoError(t, err)
	defer pool.Close()
	before := numbers().(fstest.MapFS)
	delete(before, "0003_index.sql")
	require.NoError(t, postgres.Migrate(t.Context(), pool, before, nil, quiet()))
	writer, err := empty.Begin(t.Context())
	require.NoError(t, err)
	_, err = writer.Exec(t.Context(), "INSERT INTO numbers VALUES (2)")
	require.NoError(t, err)
	time.AfterFunc(200*time.Millisecond, func() { _ = writer.Commit(context.Background()) })
	var warnings bytes.Buffer
	log := slog.New(slog.NewTextHandler(&warnings, &slog.HandlerOptions{Level: slog.LevelWarn}))
	require.NoError(t, postgres.Migrate(t.Context(), pool, numbers(), nil, log))
	require.Empty(t, warnings.String())
}

// TestIndexesOfSearches: Migrate adds them to a database that got the extension later, and builds an invalid one again.
func TestIndexesOfSearches(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	valid := "pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname LIKE '%search_idx' AND i.indisvalid"
	require.Equal(t, 4, count(t, pool, valid))
	for _, statement := range []string{
		"DROP INDEX users_search_idx",
		"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'tenants_search_idx'::regclass",
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	require.Equal(t, 2, count(t, pool, valid))
	require.NoError(t, postgres.Migrate(t.Context(), pool, schema.FS, schema.SearchIndexes(), quiet()))
	require.Equal(t, 4, count(t, pool, valid))
}

// TestTheExtensionOfSearchesMayBeInAnySchema: some services install it in a schema that isn't in search_path.
func TestTheExtensionOfSearchesMayBeInAnySchema(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	for _, statement := range []string{
		"DROP EXTENSION pg_trgm CASCADE", "CREATE SCHEMA extensions", "CREATE EXTENSION pg_trgm SCHEMA extensions",
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, postgres.Migrate(t.Context(), pool, schema.FS, schema.SearchIndexes(), quiet()))
	require.Equal(t, 4, count(t, pool, "pg_class WHERE relname LIKE '%search_idx'"))
}

// TestAnIndexThatCannotBeBuiltDoesNotStopTheStart checks that Migrate warns and goes on.
func TestAnIndexThatCannotBeBuiltDoesNotStopTheStart(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	var warnings bytes.Buffer
	wrong := []postgres.Index{{Name: "wrong_idx", Table: "users", Columns: []string{"none"}, Extension: "pg_trgm", OperatorClass: "gin_trgm_ops"}}
	require.NoError(t, postgres.Migrate(t.Context(), pool, schema.FS, wrong, slog.New(slog.NewTextHandler(&warnings, nil))))
	require.Contains(t, warnings.String(), "wrong_idx")
}

type writerFunc func(line []byte)

func (f writerFunc) Write(line []byte) (int, error) {
	f(line)
	return len(line), nil
}

func BenchmarkMigrateNothing(b *testing.B) {
	pool := dbtest.New(b)
	for b.Loop() {
		if err := postgres.Migrate(b.Context(), pool, schema.FS, schema.SearchIndexes(), quiet()); err != nil {
			b.Fatal(err)
		}
	}
}
