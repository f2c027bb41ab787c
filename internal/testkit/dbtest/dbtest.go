// Package dbtest gives each test its own real database, migrated and empty.
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
//
//	func TestBid(t *testing.T) {
//		pool := dbtest.New(t)
//		…
//	}
//
// The databases are on the server at TEST_DATABASE_URL (the URL of a superuser;
// cmd/testdb starts a server for a whole test run). If it is unset, the first use
// starts a temporary server for this process, which takes about a second. Main
// stops it, and it also ends when the process is killed.
//
// The migrations run once per content of the schema folder, into a template that
// later runs and other processes use too; a new database is a copy of it.
package dbtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/postgres"
)

const (
	// closeTimeout is the time within which a test must release its connections.
	closeTimeout = 10 * time.Second
	// maxConns of one test's pool: several tests and packages share the server.
	maxConns = 10
)

// current is this process's server. It is global because TestMain can't pass
// values to the tests of its binary.
//
//nolint:gochecknoglobals // see above
var current process

// process holds the data that the tests of one test binary share.
type process struct {
	start sync.Once
	// inMain is set by Main, before any test runs.
	inMain  bool
	cluster *cluster
	err     error

	shareOnce sync.Once
	shared    *database
	shareErr  error
}

// Main runs a package's tests, removes their databases and exits. The functions in
// after, for example goleak.Find, run after that; an error of one of them fails the
// run.
func Main(m *testing.M, after ...func() error) {
	current.inMain = true
	code := m.Run()
	after = append([]func() error{current.stop}, after...)
	for _, f := range after {
		if err := f(); err != nil {
			fmt.Fprintln(os.Stderr, "after the tests:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code) //nolint:revive // TestMain calls this last
}

// New creates a migrated database for one test or benchmark and returns a pool of
// at most 10 connections to it. Both are removed when the test ends. Connections
// that the test hasn't released by then fail it.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	c := current.get(t)
	template, err := c.migratedTemplate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.open(t, template).pool
}

// NewSkewed is New for a database whose clock is ahead of this process's by this
// time, or behind it if the time is negative.
func NewSkewed(t testing.TB, ahead time.Duration) *pgxpool.Pool {
	t.Helper()
	pool := New(t)
	var sql strings.Builder
	sql.WriteString("CREATE SCHEMA skewed;")
	for _, f := range []struct{ name, volatility string }{
		{"now", "STABLE"}, {"transaction_timestamp", "STABLE"}, {"statement_timestamp", "STABLE"}, {"clock_timestamp", "VOLATILE"},
	} {
		fmt.Fprintf(&sql, "CREATE FUNCTION skewed.%[1]s() RETURNS timestamptz %[2]s LANGUAGE sql AS "+
			"$$ SELECT pg_catalog.%[1]s() + interval '%[3]d milliseconds' $$;", f.name, f.volatility, ahead.Milliseconds())
	}
	// Names that the search path finds before those of pg_catalog replace them.
	fmt.Fprintf(&sql, "ALTER DATABASE %s SET search_path = skewed, pg_catalog, public", pool.Config().ConnConfig.Database)
	if _, err := pool.Exec(t.Context(), sql.String()); err != nil {
		t.Fatal(err)
	}
	pool.Reset() // the setting is for new connections
	return pool
}

// NewEmpty is New without the migrations: for tests of these.
func NewEmpty(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return current.get(t).open(t, "template0").pool
}

// Shared returns the migrated database that all tests of this process share, for
// tests that use only their own rows (one tenant per test). Main removes it. The
// pool must not be closed.
func Shared(t testing.TB) *pgxpool.Pool {
	t.Helper()
	c := current.get(t)
	current.shareOnce.Do(func() {
		// Not the context of the first test, because other tests use the database too.
		ctx := context.WithoutCancel(t.Context())
		template, err := c.migratedTemplate(ctx)
		if err == nil {
			current.shared, err = c.create(ctx, template, 2*maxConns)
		}
		current.shareErr = err
	})
	if current.shareErr != nil {
		t.Fatal(current.shareErr)
	}
	return current.shared.pool
}

func (p *process) get(t testing.TB) *cluster {
	t.Helper()
	if !p.inMain {
		t.Fatal("the package needs func TestMain(m *testing.M) { dbtest.Main(m) }")
	}
	p.start.Do(func() { p.cluster, p.err = openCluster(context.WithoutCancel(t.Context())) })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.cluster
}

// stop removes the shared database and the server if they exist.
func (p *process) stop() error {
	if p.cluster == nil {
		return nil
	}
	if p.shared != nil {
		if err := p.shared.remove(); err != nil {
			return err
		}
	}
	return p.cluster.close()
}

// open creates a database that is removed when the test ends.
func (c *cluster) open(t testing.TB, template string) *database {
	t.Helper()
	db, err := c.create(t.Context(), template, maxConns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.remove(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// database is one database with its pool.
type database struct {
	cluster *cluster
	name    string
	pool    *pgxpool.Pool
}

// remove closes the pool and drops the database. Connections that are still
// acquired are cut and reported as an error.
func (d *database) remove() error {
	closed := make(chan struct{})
	go func() { d.pool.Close(); close(closed) }()
	var leak error
	select {
	case <-closed:
	case <-time.After(closeTimeout):
		leak = fmt.Errorf("%d connections to the test database were not given back", d.pool.Stat().AcquiredConns())
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	if leak == nil {
		d.waitForBackends(ctx)
	}
	if _, err := d.cluster.admin.Exec(ctx, "DROP DATABASE IF EXISTS "+d.name+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop the test database: %w", err)
	}
	return leak
}

// waitForBackends waits until the server has noticed that the connections are
// closed, usually a few milliseconds: DROP DATABASE sleeps for a tenth of a second
// if it finds an open connection.
func (d *database) waitForBackends(ctx context.Context) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for range 100 {
		var n int
		err := d.cluster.admin.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1", d.name).Scan(&n)
		if err != nil || n == 0 {
			return
		}
		<-ticker.C
	}
}

// create makes a copy of the template and opens it.
func (c *cluster) create(ctx context.Context, template string, conns int32) (*database, error) {
	name := newName()
	// Copying the files is two to three times as fast here as the default,
	// which writes every page to the log.
	if _, err := c.admin.Exec(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy", name, template)); err != nil {
		return nil, fmt.Errorf("create a test database: %w", err)
	}
	pool, err := postgres.Open(ctx, c.urlOf(name), postgres.Options{
		MaxConns: conns, MinConns: -1, // a connection in the making would survive a Reset
		ApplicationName: "showfloor-test",
	})
	if err != nil {
		return nil, fmt.Errorf("open a test database: %w", err)
	}
	return &database{cluster: c, name: name, pool: pool}, nil
}
