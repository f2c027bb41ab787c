package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/dbtest"
)

func TestSessionSettings(t *testing.T) {
	t.Parallel()
	url := dbtest.NewEmpty(t).Config().ConnString()
	for _, c := range []struct {
		name, suffix string
		options      postgres.Options
		want         map[string]string
	}{
		{"defaults", "", postgres.Options{}, map[string]string{
			"application_name": "showfloor", "statement_timeout": "30s", "idle_in_transaction_session_timeout": "30s", "timezone": "UTC",
		}},
		{"options", "", postgres.Options{ApplicationName: "x", StatementTimeout: 1500 * time.Millisecond}, map[string]string{
			"application_name": "x", "statement_timeout": "1500ms",
		}},
		{"the URL wins", "&statement_timeout=7000&application_name=mine", postgres.Options{ApplicationName: "x"}, map[string]string{
			"application_name": "mine", "statement_timeout": "7s",
		}},
	} {
		pool, err := postgres.Open(t.Context(), url+c.suffix, c.options)
		if err != nil {
			t.Fatal(err)
		}
		for setting, want := range c.want {
			var got string
			if err := pool.QueryRow(t.Context(), "SHOW "+setting).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s is %q, %v", c.name, setting, got, err)
			}
		}
		pool.Close()
	}
}

// TestPoolDropsEndedSessions: a connection that the server has closed while it was unused is replaced, and no query fails.
func TestPoolDropsEndedSessions(t *testing.T) {
	t.Parallel()
	pool, err := postgres.Open(t.Context(), dbtest.NewEmpty(t).Config().ConnString(), postgres.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	backend := func() (pid int) {
		if err := pool.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	former := backend()
	other, err := postgres.Open(t.Context(), pool.Config().ConnString(), postgres.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
	<-time.After(1200 * time.Millisecond) // shorter pauses aren't checked
	if pid := backend(); pid == former {
		t.Fatal("the session was not ended")
	}
}

func TestPoolSize(t *testing.T) {
	t.Parallel()
	url := dbtest.NewEmpty(t).Config().ConnString()
	type size struct {
		most, least int32
		unused      time.Duration
	}
	for suffix, want := range map[string]size{
		"":                  {3, 3, time.Minute},
		"&pool_max_conns=5": {5, 3, time.Minute},
		"&pool_min_conns=1&pool_max_conn_idle_time=5m": {3, 1, 5 * time.Minute},
	} {
		pool, err := postgres.Open(t.Context(), url+suffix, postgres.Options{MaxConns: 3})
		if err != nil {
			t.Fatal(err)
		}
		c := pool.Config()
		if got := (size{c.MaxConns, c.MinConns, c.MaxConnIdleTime}); got != want {
			t.Errorf("%q: %+v", suffix, got)
		}
		pool.Close()
	}
}

func TestTimesAreUTC(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)
	var one time.Time
	var many []time.Time
	err := dbtest.NewEmpty(t).QueryRow(t.Context(), "SELECT $1::timestamptz, ARRAY[$1::timestamptz]",
		want.In(time.FixedZone("", 7200))).Scan(&one, &many)
	if err != nil || one != want || len(many) != 1 || many[0] != want {
		t.Errorf("%v %v %v", one, many, err)
	}
}

func TestOpenReportsTheErrorWithoutThePassword(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	for url, want := range map[string]string{
		"postgres://me:" + password + "@127.0.0.1:1/shop":        `can't connect to database "shop" on 127.0.0.1:1 as "me"`,
		"postgres://me:" + password + "@/shop?host=/nowhere":     `can't connect to database "shop" on /nowhere as "me"`,
		"postgres://me:" + password + "#x@127.0.0.1:1/shop":      "",
		"postgres://me:" + password + "/x@127.0.0.1/shop":        "%-encoded",
		"host=127.0.0.1 port=none password=" + password:          "can't be read",
		"postgres://me:" + password + "@127.0.0.1:1/x?sslmode=q": "can't be read",
	} {
		pool, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err == nil {
			pool.Close()
			t.Errorf("opened %s", url)
			continue
		}
		text := err.Error()
		if !strings.Contains(text, want) || strings.Contains(text, password) || strings.Contains(text, "\n") {
			t.Errorf("%s: %s", url, text)
		}
	}
}

func TestOpenReportsTheServersError(t *testing.T) {
	t.Parallel()
	config := dbtest.NewEmpty(t).Config()
	url := strings.Replace(config.ConnString(), config.ConnConfig.Database, "no_such_database", 1)
	_, err := postgres.Open(t.Context(), url, postgres.Options{})
	if unreachable, ok := errors.AsType[*postgres.UnreachableError](err); !ok || unreachable.Database != "no_such_database" {
		t.Fatalf("error: %v", err)
	}
	if !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("error: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := postgres.Open(ctx, config.ConnString(), postgres.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}

func TestErrorsThatTheSenderCaused(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	if _, err := pool.Exec(t.Context(), "CREATE TABLE users (email text CONSTRAINT users_email UNIQUE, j jsonb)"); err != nil {
		t.Fatal(err)
	}
	insert := func(email, json string) error {
		_, err := pool.Exec(t.Context(), "INSERT INTO users VALUES ($1, $2)", email, json)
		return err
	}
	if err := insert("a", "{}"); err != nil {
		t.Fatal(err)
	}
	duplicate := insert("a", "{}")
	if !postgres.IsUnique(duplicate, "users_email") || !postgres.IsUnique(duplicate, "") || postgres.IsUnique(duplicate, "other") || postgres.IsUnstorable(duplicate) {
		t.Errorf("duplicate: %v", duplicate)
	}
	for name, err := range map[string]error{
		"NUL": insert("a\x00b", "{}"), "invalid UTF-8": insert("a\xff", "{}"), "NUL in jsonb": insert("b", `{"x":"\u0000"}`),
	} {
		if !postgres.IsUnstorable(err) || postgres.IsUnique(err, "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if postgres.IsUnique(nil, "") || postgres.IsUnstorable(nil) || postgres.IsUnstorable(errors.New("x")) {
		t.Error("no error, but recognised")
	}
}
