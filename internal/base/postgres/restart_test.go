package postgres_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/postgres/embedded"
)

// TestPoolDropsConnectionsOfAnEndedServer checks that after a restart of the private server
// no query gets a connection to the earlier run, however short the time in between.
func TestPoolDropsConnectionsOfAnEndedServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, embedded.Options{Dir: newDir(t), Fast: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	pool, err := postgres.Open(ctx, server.ConnString(), postgres.Options{MaxConns: 20, Dial: server.Dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for restart := 1; restart <= 2; restart++ {
		fill(ctx, t, pool)
		pid := postmaster(t, server)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for tick := time.NewTicker(5 * time.Millisecond); server.Restarts() < restart; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatal("the server wasn't started again")
			}
		}
		if n := pool.Stat().IdleConns(); n != 20 {
			t.Fatalf("%d idle connections are left to try", n)
		}
		fill(ctx, t, pool) // each of the old connections is requested
	}
}

// newDir creates a folder that PostgreSQL's account can access, with a path that is short
// enough for a socket.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill makes all connections of the pool query at the same time.
func fill(ctx context.Context, t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		if _, err := conn.Exec(ctx, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
}

// postmaster returns the process id of the private server.
func postmaster(t *testing.T, server *embedded.Server) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(server.DataDir(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
