package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// listenCheck is after how much silence the connection is checked.
	listenCheck = 30 * time.Second
	// maxListenPause is the longest pause between attempts to connect. After the database is
	// back, notifications may be lost for that long, so their receivers act late.
	maxListenPause = time.Second
)

// Listener receives the notifications that transactions of any process send with pg_notify;
// they arrive after the commit. It uses a connection of its own, not one of the pool's.
type Listener struct {
	Pool    *pgxpool.Pool
	Channel string
	// Connected is called after each connect. Notifications from before it were not received.
	Connected func(ctx context.Context)
	// Heard is called with the payloads, one at a time, in the order of the commits.
	Heard func(ctx context.Context, payload string)
	Log   *slog.Logger
}

// Run listens until ctx ends, and reconnects if the connection is lost.
func (l *Listener) Run(ctx context.Context) {
	pause := time.Second / 10
	for ctx.Err() == nil {
		connected, err := l.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if connected {
			pause = time.Second / 10
		}
		l.Log.Warn("not listening to the database, trying again", "channel", l.Channel, "pause", pause, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, maxListenPause)
	}
}

// listen connects and receives notifications until the connection is lost or ctx ends.
func (l *Listener) listen(ctx context.Context) (connected bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, l.Pool.Config().ConnConfig)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{l.Channel}.Sanitize()); err != nil {
		return false, fmt.Errorf("listen: %w", err)
	}
	l.Connected(ctx)
	for {
		if err := l.next(ctx, conn); err != nil {
			return true, err
		}
	}
}

// next waits for one notification, and checks the connection if none arrives within listenCheck.
func (l *Listener) next(ctx context.Context, conn *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	n, err := conn.WaitForNotification(waiting)
	switch {
	case err == nil:
		l.Heard(ctx, n.Payload)
		return nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		checking, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		return conn.Ping(checking)
	default:
		return fmt.Errorf("wait for notification: %w", err)
	}
}
