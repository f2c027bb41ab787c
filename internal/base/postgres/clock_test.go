package postgres_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/dbtest"
)

// localClock is a machine's clock that may be wrong and can be set.
type localClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// Now returns a time without a monotonic reading, as if the machine's clock were
// set all the time.
func (c *localClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead).Round(0)
}

func (c *localClock) set(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
}

// requireWithin requires that the clock's time lies between two answers of the
// database, or a little before the first.
func requireWithin(t *testing.T, c *postgres.Clock, pool *pgxpool.Pool) {
	t.Helper()
	var before, after time.Time
	const ask = "SELECT clock_timestamp()"
	if err := pool.QueryRow(t.Context(), ask).Scan(&before); err != nil {
		t.Fatal(err)
	}
	now := c.Now()
	if err := pool.QueryRow(t.Context(), ask).Scan(&after); err != nil {
		t.Fatal(err)
	}
	if now.After(after) || now.Before(before.Add(-time.Second)) {
		t.Errorf("%s isn't between %s and %s", now, before, after)
	}
}

func TestClockFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	for _, ahead := range []time.Duration{0, 10 * time.Second, time.Hour, -time.Hour, -50 * 365 * 24 * time.Hour} {
		local := &localClock{ahead: ahead}
		c, err := postgres.NewClock(t.Context(), pool, local.Now)
		if err != nil {
			t.Fatal(err)
		}
		requireWithin(t, c, pool)
		if off := (c.Skew() - ahead).Abs(); off > time.Second {
			t.Errorf("%s ahead counts as %s", ahead, c.Skew())
		}
		local.set(ahead + time.Hour) // a step of the machine's clock
		if err := c.Measure(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		requireWithin(t, c, pool)
		local.set(ahead - time.Hour)
		if err := c.Measure(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		requireWithin(t, c, pool)
	}
}

func TestClockIgnoresSlowAnswers(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	c, err := postgres.NewClock(t.Context(), pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `CREATE SCHEMA slow; CREATE FUNCTION slow.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
		$$ SELECT pg_catalog.clock_timestamp() FROM pg_sleep(0.3) $$`); err != nil {
		t.Fatal(err)
	}
	late, err := pgxpool.NewWithConfig(t.Context(), slowed(pool))
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	before := c.Skew()
	if err := c.Measure(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if moved := (c.Skew() - before).Abs(); moved > 100*time.Millisecond {
		t.Errorf("the clock moved by %s", moved)
	}
}

func slowed(pool *pgxpool.Pool) *pgxpool.Config {
	config := pool.Config()
	config.ConnConfig.RuntimeParams["search_path"] = "slow, pg_catalog"
	return config
}

func TestSkewIsLoggedOnce(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	local := &localClock{ahead: -10 * time.Second}
	c, err := postgres.NewClock(t.Context(), pool, local.Now)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	ended, end := context.WithCancel(t.Context())
	end()
	for range 3 { // each time until the clock waits for its next measurement
		c.Run(ended, pool, slog.New(slog.NewTextHandler(&out, nil)))
	}
	if n := strings.Count(out.String(), "database's differ"); n != 1 {
		t.Errorf("%d warnings: %s", n, out.String())
	}
	for _, ahead := range []time.Duration{0, 10 * time.Second} {
		local.set(ahead)
		if err := c.Measure(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		c.Run(ended, pool, slog.New(slog.NewTextHandler(&out, nil)))
	}
	if n := strings.Count(out.String(), "database's differ"); n != 2 { // the one above counts too
		t.Errorf("%d warnings: %s", n, out.String())
	}
}
