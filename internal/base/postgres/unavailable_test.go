package postgres_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/dbtest"
)

// cutAll ends every connection of the pool on the database's side, as a crash does.
func cutAll(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	other, err := pgx.Connect(t.Context(), pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	if _, err := other.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
}

// TestATransactionBeginsOnALiveConnection begins a transaction after the server has
// closed all connections of the pool.
func TestATransactionBeginsOnALiveConnection(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	var held []*pgxpool.Conn
	for range 4 {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	for _, conn := range held {
		conn.Release()
	}
	cutAll(t, pool)
	runs := 0
	if err := postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		runs++
		return pay(t.Context(), tx, 1, 1)
	}); err != nil {
		t.Fatal(err)
	}
	if runs != 1 || cents(t, pool, 1) != 101 {
		t.Errorf("%d runs, %d cents", runs, cents(t, pool, 1))
	}
}

// TestATransactionIsNotRepeatedWhenItsConnectionIsLost checks that InTx returns an error
// then, because the transaction may have been committed.
func TestATransactionIsNotRepeatedWhenItsConnectionIsLost(t *testing.T) {
	t.Parallel()
	pool := accounts(t)
	runs := 0
	err := postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		runs++
		if err := pay(t.Context(), tx, 1, 1); err != nil {
			return err
		}
		cutAll(t, pool)
		return nil
	})
	if !postgres.IsUnavailable(err) || runs != 1 {
		t.Errorf("%d runs, error %v", runs, err)
	}
}

// closedPool returns the error of a statement on a closed pool.
func closedPool(t *testing.T) error {
	t.Helper()
	pool := dbtest.NewEmpty(t)
	other, err := pgxpool.NewWithConfig(t.Context(), pool.Config())
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	_, err = other.Exec(t.Context(), "SELECT 1")
	return err
}

// cutOff returns the error of a statement whose connection breaks without a message from
// the server.
func cutOff(t *testing.T) error {
	t.Helper()
	line := dbtest.NewLine(t)
	err := line.Pool.AcquireFunc(t.Context(), func(conn *pgxpool.Conn) error {
		line.Cut()
		_, err := conn.Exec(t.Context(), "SELECT 1")
		return err
	})
	return err
}

func TestErrorsThatCountAsUnavailable(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, refused := postgres.Open(t.Context(), "postgres://user@"+address+"/name", postgres.Options{})
	_, slow := postgres.Open(t.Context(), "postgres://user@"+address+"/name", postgres.Options{
		Dial: (&net.Dialer{Deadline: time.Now().Add(-time.Second)}).DialContext,
	})
	statement := func(sql string) error {
		_, err := pool.Exec(t.Context(), sql)
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"refused":             {refused, true},
		"no answer":           {slow, true},
		"wrapped":             {fmt.Errorf("begin: %w", refused), true},
		"no such table":       {statement("SELECT n FROM nothing"), false},
		"a slow statement":    {statement("SET statement_timeout = 1; SELECT pg_sleep(5)"), false},
		"a crashed backend":   {statement("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '57P02'; END $$"), true},
		"still starting":      {statement("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '57P03'; END $$"), true},
		"an error of our own": {errors.New("broken"), false},
		"another server, reset": {fmt.Errorf("send mail: %w", &net.OpError{
			Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET),
		}), false},
		"another server, refused": {fmt.Errorf("call processor: %w", &net.OpError{
			Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		}), false},
		"another server, silent": {fmt.Errorf("call processor: %w", syscall.ETIMEDOUT), false},
		"another server, cut":    {fmt.Errorf("call processor: %w", io.ErrUnexpectedEOF), false},
		"a closed pool":          {closedPool(t), true},
		"a cut connection":       {cutOff(t), true},
		"everything went well":   {nil, false},
	} {
		if got := postgres.IsUnavailable(c.err); got != c.want {
			t.Errorf("%s: %v, %v", name, got, c.err)
		}
	}
}
