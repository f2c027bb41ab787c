package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

// LostError is a failure of the network below a connection to the database. The driver returns
// network errors as they are, so without this type they look like those of any other server.
type LostError struct{ Cause error }

func (e *LostError) Error() string { return "connection to the database: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Cause }

// MarkDial makes the errors of the connections that dial opens *LostError, by which IsUnavailable
// recognises them. Open does it; code that replaces the DialFunc of a pool's configuration must call MarkDial.
func MarkDial(dial pgconn.DialFunc) pgconn.DialFunc {
	faults := &faults{}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
				faults.note()
			}
			return nil, err // the driver turns it into a pgconn.ConnectError
		}
		return &conn{c, faults}, nil
	}
}

// faults has the time of the last failure of any connection that one DialFunc opened or could not open.
type faults struct{ last atomic.Pointer[time.Time] }

func (f *faults) note() { f.last.Store(new(time.Now())) }

// conn is a connection to the database whose errors are *LostError.
type conn struct {
	net.Conn

	faults *faults
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.lost(err)
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.lost(err)
}

// lost marks an error as *LostError, and notes its time. An end of the stream isn't noted: the driver reads one after each query that was
// cancelled, and silent sees those of other connections.
func (c *conn) lost(err error) error {
	err = lost(err)
	if _, is := errors.AsType[*LostError](err); is && !errors.Is(err, io.EOF) {
		c.faults.note()
	}
	return err
}

// Stale returns the result of the wrapped connection's Stale, if it has that method.
func (c *conn) Stale() bool {
	below, ok := c.Conn.(interface{ Stale() bool })
	return ok && below.Stale()
}

// NetConn returns the wrapped connection.
func (c *conn) NetConn() net.Conn { return c.Conn }

// silent reports whether the other end of a connection, which is unused since a time, is open as far as this machine knows, and has sent
// nothing. It needs no answer of the server. A server that ends a session sends an error or the end of the stream; one that disappears
// doesn't, so the result is false if another connection has failed since. It is false also if the connection isn't a socket.
func silent(c net.Conn, since time.Time) bool {
	for {
		wrapper, ok := c.(interface{ NetConn() net.Conn }) // TLS, ours
		if !ok {
			break
		}
		if ours, is := c.(*conn); is {
			if failed := ours.faults.last.Load(); failed != nil && !failed.Before(since) {
				return false
			}
		}
		c = wrapper.NetConn()
	}
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) { // Read would wait for a reader that the driver has left behind
		_, _, failure := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		quiet = errors.Is(failure, unix.EAGAIN)
	})
	return err == nil && quiet
}

// lost marks an error as *LostError. It doesn't mark deadline errors, whose type the driver and TLS check, nor
// the errors after our own Close.
func lost(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
		return err
	}
	return &LostError{err}
}
