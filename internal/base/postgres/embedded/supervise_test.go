package embedded

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// dial connects like the pool: it waits while the server restarts.
func dial(ctx context.Context, s *Server) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(s.ConnString())
	if err != nil {
		return nil, err
	}
	config.DialFunc = s.Dial
	return pgx.ConnectConfig(ctx, config)
}

// kill kills the postmaster and returns when it is gone.
func kill(s *Server) {
	child := s.current().child
	child.signal(os.Kill)
	<-child.done
}

func TestKilledServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := mustStart(t, Options{Dir: newDir(t), restartPauses: []time.Duration{0, 0}})
	query[string](t, s, "CREATE TABLE kept AS SELECT 7 AS n")
	for restarts := 1; restarts <= 2; restarts++ {
		// A query that doesn't notice the postmaster's death keeps the shared memory, so
		// the next server can't start.
		const busy = "SELECT count(*) FROM generate_series(1, 1000000000)"
		cut := make(chan error, 1)
		go func() {
			conn, err := dial(context.Background(), s)
			if err == nil {
				_, err = conn.Exec(context.Background(), busy)
				_ = conn.Close(context.Background())
			}
			cut <- err
		}()
		eventually(t, "the query runs", func() bool {
			return query[int](t, s, "SELECT count(*) FROM pg_stat_activity WHERE query = '"+busy+"'") == 1
		})
		kill(s)
		conn, err := dial(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := conn.QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n); err != nil || n != 7 {
			t.Errorf("read %d, %v", n, err)
		}
		_ = conn.Close(t.Context())
		if err := <-cut; err == nil {
			t.Error("the query outlived its server")
		}
		if s.Restarts() != restarts || s.Err() != nil {
			t.Errorf("%d restarts, error %v", s.Restarts(), s.Err())
		}
	}
}

// TestServerThatEndsOftenIsStartedAgain checks that successful restarts use up no
// attempts, however soon the server ends again.
func TestServerThatEndsOftenIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := mustStart(t, Options{Dir: newDir(t), Fast: true, restartPauses: []time.Duration{0, time.Millisecond}})
	for restarts := 1; restarts <= 4; restarts++ {
		kill(s)
		conn, err := dial(t.Context(), s)
		if err != nil {
			t.Fatal(restarts, err)
		}
		_ = conn.Close(t.Context())
		if s.Restarts() != restarts || s.Err() != nil {
			t.Errorf("%d restarts, error %v", s.Restarts(), s.Err())
		}
	}
}

func TestPausesBetweenRestarts(t *testing.T) {
	t.Parallel()
	pauses := defaultRestartPauses()
	for _, c := range []struct {
		ends, failures int
		want           time.Duration
	}{
		{0, 0, 0},
		{0, 1, time.Second},
		{1, 0, time.Second},
		{1, 2, 4 * time.Second},
		{4, 0, 8 * time.Second},
		{4, 4, 8 * time.Second},
		{100, 0, 8 * time.Second},
	} {
		if got := restartPause(pauses, c.ends, c.failures); got != c.want {
			t.Errorf("after %d quick ends and %d failures: %v, not %v", c.ends, c.failures, got, c.want)
		}
	}
}

func TestServerThatCannotStartAgainEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breakIt func(data string) error
		says    []string
	}{
		"damaged": {
			func(data string) error { return os.Remove(filepath.Join(data, "global", "pg_control")) },
			[]string{"(2 attempts)", "could not open file", "global/pg_control", "restore a backup of "},
		},
		"a wrong setting": {
			func(data string) error {
				return appendFile(filepath.Join(data, "postgresql.conf"), "no_such_setting = 1\n")
			},
			[]string{"(2 attempts)", "contains errors", "see "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustStart(t, Options{Dir: newDir(t), Fast: true, restartPauses: []time.Duration{0, time.Millisecond}})
			if err := c.breakIt(s.home.data()); err != nil {
				t.Fatal(err)
			}
			kill(s)
			if _, err := dial(t.Context(), s); err == nil || !strings.Contains(err.Error(), "the private PostgreSQL server has ended") {
				t.Errorf("connect: %v", err)
			}
			<-s.Done()
			for _, part := range c.says {
				if !strings.Contains(s.Err().Error(), part) {
					t.Errorf("%q isn't in %q", part, s.Err())
				}
			}
			if strings.Contains(s.Err().Error(), "\n") {
				t.Errorf("not one line: %q", s.Err())
			}
		})
	}
}

func TestStopEndsTheAttemptsToStartAgain(t *testing.T) {
	t.Parallel()
	s := mustStart(t, Options{Dir: newDir(t), Fast: true, restartPauses: []time.Duration{0, time.Hour}})
	if err := appendFile(filepath.Join(s.home.data(), "postgresql.conf"), "no_such_setting = 1\n"); err != nil {
		t.Fatal(err)
	}
	kill(s)
	waiting := make(chan error, 1)
	go func() {
		_, err := dial(context.Background(), s)
		waiting <- err
	}()
	eventually(t, "the first attempt", func() bool {
		text, _ := os.ReadFile(s.log.path)
		return strings.Contains(string(text), "no_such_setting")
	})
	mustStop(t, s)
	if err := <-waiting; err == nil {
		t.Error("connected to a server that has stopped")
	}
	if s.Err() != nil {
		t.Error("an ordered stop is not an error: ", s.Err())
	}
}
