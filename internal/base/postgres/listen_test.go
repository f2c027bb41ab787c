package postgres_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/dbtest"
)

// TestAListenerReceivesCommittedNotifications checks that notifications arrive in order, also
// after the connection was lost.
func TestAListenerReceivesCommittedNotifications(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	connected, heard := make(chan struct{}, 4), make(chan string, 16)
	l := &postgres.Listener{
		Pool: pool, Channel: `a "channel"`, Log: slog.New(slog.DiscardHandler),
		Connected: func(context.Context) { connected <- struct{}{} },
		Heard:     func(_ context.Context, payload string) { heard <- payload },
	}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { l.Run(ctx) })
	t.Cleanup(func() {
		stop()
		work.Wait()
	})
	say := func(tx pgx.Tx, payload string) error {
		_, err := tx.Exec(t.Context(), "SELECT pg_notify($1, $2)", l.Channel, payload)
		return err
	}
	<-connected
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := say(tx, "never committed"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{"one", "two"} {
		if err := postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error { return say(tx, payload) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"one", "two"} {
		if got := <-heard; got != want {
			t.Fatalf("heard %q, want %q", got, want)
		}
	}
	if _, err := pool.Exec(t.Context(),
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"); err != nil {
		t.Fatal(err)
	}
	<-connected
	if err := postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error { return say(tx, "three") }); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "three" {
		t.Fatalf("heard %q", got)
	}
}
