package dbtest

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/postgres"
)

// Line is a database that a test can freeze, like a frozen server or a network that
// loses all packets: connections stay open and new ones are accepted, but there are
// no answers.
type Line struct {
	// Pool connects through the line. Direct doesn't.
	Pool, Direct *pgxpool.Pool

	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	flows chan struct{} // closed while bytes pass
	away  bool
	conns map[net.Conn]struct{}
}

// NewLine creates a migrated database behind a line. Both are removed when the test ends.
func NewLine(t testing.TB) *Line {
	t.Helper()
	l := &Line{Direct: New(t), flows: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	close(l.flows)
	var err error
	if l.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	config := l.Direct.Config()
	network, address := pgconn.NetworkAddress(config.ConnConfig.Host, config.ConnConfig.Port)
	l.work.Go(func() { l.accept(network, address) })
	config.ConnConfig.DialFunc = postgres.MarkDial(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", l.listener.Addr().String())
	})
	if l.Pool, err = pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Thaw()
		l.Pool.Close()
		l.close()
	})
	return l
}

// Freeze brings the database to a standstill.
func (l *Line) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flows = make(chan struct{})
}

// Thaw ends a Freeze.
func (l *Line) Thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.flows:
	default:
		close(l.flows)
	}
}

// SetAway makes the database unavailable like a crash: all connections close, and new
// ones close at once. away false makes it available again.
func (l *Line) SetAway(away bool) {
	l.mu.Lock()
	l.away = away
	l.mu.Unlock()
	if away {
		l.Cut()
	}
}

// Cut closes all connections.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
}

func (l *Line) close() {
	_ = l.listener.Close()
	l.SetAway(true)
	l.work.Wait()
}

func (l *Line) accept(network, address string) {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.work.Go(func() { l.carry(conn, network, address) })
	}
}

// carry passes bytes on until one end closes.
func (l *Line) carry(conn net.Conn, network, address string) {
	defer conn.Close()
	if !l.keep(conn) {
		return
	}
	defer l.forget(conn)
	l.wait()
	database, err := (&net.Dialer{}).DialContext(context.Background(), network, address)
	if err != nil {
		return
	}
	defer database.Close()
	if !l.keep(database) {
		return
	}
	defer l.forget(database)
	var both sync.WaitGroup
	both.Go(func() { l.pass(database, conn) })
	both.Go(func() { l.pass(conn, database) })
	both.Wait()
}

// pass copies bytes while the line is not frozen, and closes to at the end.
func (l *Line) pass(to, from net.Conn) {
	defer to.Close()
	_, _ = io.Copy(to, &gated{from, l})
}

type gated struct {
	from io.Reader
	line *Line
}

// Read implements io.Reader.
func (g *gated) Read(p []byte) (int, error) {
	n, err := g.from.Read(p)
	g.line.wait()
	return n, err
}

// wait returns when bytes pass.
func (l *Line) wait() {
	l.mu.Lock()
	flows := l.flows
	l.mu.Unlock()
	<-flows
}

// keep records a connection, so that it can be cut; false if the database is away.
func (l *Line) keep(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.away {
		l.conns[conn] = struct{}{}
	}
	return !l.away
}

func (l *Line) forget(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}
