package sfu

import (
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// short is a listener whose first accepts fail for lack of file descriptors.
type short struct {
	net.Listener

	times int
}

func (l *short) Accept() (net.Conn, error) {
	if l.times--; l.times >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

func listening(t *testing.T, shortages int) *guard {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := newGuard(&short{l, shortages}, 10_000)
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func dial(t *testing.T, g *guard) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestAShortageDoesntEndAListener: callers of Accept stop at the first error.
func TestAShortageDoesntEndAListener(t *testing.T) {
	t.Parallel()
	g := listening(t, 2)
	dial(t, g)
	conn, err := g.Accept()
	require.NoError(t, err)
	require.NoError(t, g.Close())
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = g.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.Empty(t, g.conns)
	require.Empty(t, g.each)
}

func TestOneAddressHasSoManyConnections(t *testing.T) {
	t.Parallel()
	g := listening(t, 0)
	accepted := make(chan net.Conn, g.maxConnsEach+1)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := g.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	})
	for range g.maxConnsEach {
		dial(t, g)
	}
	first := <-accepted
	for range g.maxConnsEach - 1 {
		<-accepted
	}
	_, err := dial(t, g).Read(make([]byte, 1))
	require.Error(t, err, "one too many is closed")
	require.NoError(t, first.Close())
	_ = first.Close() // the second Close doesn't count
	dial(t, g)
	<-accepted
	require.NoError(t, g.Close())
	accepting.Wait()
}

func TestASilentConnectionIsClosed(t *testing.T) {
	t.Parallel()
	g := listening(t, 0)
	g.first, g.idle, g.write = time.Millisecond, time.Minute, time.Millisecond
	dial(t, g)
	conn, err := g.Accept()
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	for err = nil; err == nil; { // the client doesn't read either
		_, err = conn.Write(make([]byte, 1<<20))
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}
