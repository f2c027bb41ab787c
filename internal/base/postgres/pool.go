// Package postgres is the program's access to its database: the pool, transactions,
// migrations, and the meaning of errors.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTimeout limits one attempt to connect.
const connectTimeout = 5 * time.Second

const (
	// maxIdleTime is how long a connection stays open unused. Fewer connections keep their caches warm: each one parses and plans every
	// statement itself.
	maxIdleTime = time.Minute
	// checkAfter is how long a connection is unused before the pool checks that the server hasn't closed it.
	checkAfter = time.Second
	// pingAfter is how long a connection is unused before the pool pings the server through it.
	pingAfter = 30 * time.Second
)

// Options of Open. A zero value stands for the default in brackets.
type Options struct {
	// MaxConns is the largest number of connections that the pool opens [20].
	MaxConns int32
	// MinConns is the number of connections that stay open, so that a few requests at once need not wait for new ones [4, MaxConns at
	// most]. A negative number stands for 0.
	MinConns int32
	// ApplicationName is the name in pg_stat_activity ["showfloor"].
	ApplicationName string
	// StatementTimeout ends a statement that runs longer [30 s]. It protects
	// the pool from a query that never returns.
	StatementTimeout time.Duration
	// IdleInTransactionTimeout ends a transaction that runs no statement for longer,
	// and with it the locks it holds [30 s].
	IdleInTransactionTimeout time.Duration
	// Dial makes the network connections [net.Dialer]. The Dial of the private server
	// waits while that server restarts. The pool hands out no connection whose
	// net.Conn has a method Stale() bool that returns true.
	Dial pgconn.DialFunc
}

func (o Options) withDefaults() Options {
	if o.MaxConns == 0 {
		o.MaxConns = 20
	}
	if o.MinConns == 0 {
		o.MinConns = 4
	}
	o.MinConns = min(max(o.MinConns, 0), o.MaxConns)
	if o.ApplicationName == "" {
		o.ApplicationName = "showfloor"
	}
	if o.StatementTimeout == 0 {
		o.StatementTimeout = 30 * time.Second
	}
	if o.IdleInTransactionTimeout == 0 {
		o.IdleInTransactionTimeout = 30 * time.Second
	}
	return o
}

// Open connects to the database that the URL (or keyword string) names and checks that
// it answers. Every session works in UTC, and a timestamptz is scanned as UTC.
// Settings in the URL override Options. No error contains the password.
func Open(ctx context.Context, url string, o Options) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The parser's own message may contain a part of the password.
		return nil, errors.New("the database URL can't be read: it has to look like postgres://user:password@host:5432/name, " +
			"with special characters in the password %-encoded")
	}
	configure(config, o.withDefaults(), func(name string) bool { return strings.Contains(url, name) })
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, unreachable(config.ConnConfig, err)
	}
	return pool, nil
}

// configure applies the options that the URL doesn't set.
func configure(config *pgxpool.Config, o Options, set func(name string) bool) {
	if !set("pool_max_conns") {
		config.MaxConns = o.MaxConns
	}
	if !set("pool_min_conns") {
		config.MinConns = min(o.MinConns, config.MaxConns)
	}
	if !set("pool_max_conn_idle_time") {
		config.MaxConnIdleTime = maxIdleTime
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	defaults := map[string]string{
		"application_name":                    o.ApplicationName,
		"statement_timeout":                   milliseconds(o.StatementTimeout),
		"idle_in_transaction_session_timeout": milliseconds(o.IdleInTransactionTimeout),
		"timezone":                            "UTC",
	}
	for name, value := range defaults {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	if o.Dial != nil {
		config.ConnConfig.DialFunc = o.Dial
	}
	config.ConnConfig.DialFunc = MarkDial(config.ConnConfig.DialFunc)
	onError := config.ConnConfig.OnPgError // closes connections after fatal errors
	config.ConnConfig.OnPgError = func(conn *pgconn.PgConn, failure *pgconn.PgError) bool {
		// A server that became a standby stays one. A new connection may reach the new
		// primary.
		return failure.Code != readOnly && onError(conn, failure)
	}
	config.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) {
		line, ok := conn.PgConn().Conn().(interface{ Stale() bool })
		return !ok || !line.Stale(), nil
	}
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool {
		return p.IdleDuration > pingAfter ||
			p.IdleDuration > checkAfter && !silent(p.Conn.PgConn().Conn(), time.Now().Add(-p.IdleDuration))
	}
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
			Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
		return nil
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// unreachable names the server that doesn't answer.
func unreachable(config *pgx.ConnConfig, err error) error {
	where := config.Host
	if !strings.HasPrefix(where, "/") {
		where = net.JoinHostPort(where, strconv.Itoa(int(config.Port)))
	}
	return &UnreachableError{Server: where, Database: config.Database, User: config.User, Cause: err}
}

// UnreachableError reports that no connection to the database could be made.
type UnreachableError struct {
	Server, Database, User string
	Cause                  error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("can't connect to database %q on %s as %q: %s", e.Database, e.Server, e.User, reason(e.Cause))
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// reason returns the essential part of the driver's error, which repeats the address
// and lists every attempt on a separate line.
func reason(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Error()
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return network.Error()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
