// Package slowlink is a link with a limited bandwidth between a viewer and a server, for tests with real browsers.
package slowlink

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// packet is the number of bytes that are sent at a time, as in a segment of TCP. All connections take turns with them.
const packet = 1448

// Link is a TCP relay. All connections share the bandwidth for data from the server. Data to the server is not limited.
type Link struct {
	listener net.Listener
	server   string
	limiter  *rate.Limiter
	ctx      context.Context //nolint:containedctx // ends the waits of all connections
	work     sync.WaitGroup
}

// New opens a link to a server's address, which is closed with the test. kbps is its bandwidth in kbit/s.
func New(t testing.TB, server string, kbps int) *Link {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	l := &Link{listener: listener, server: server, limiter: rate.NewLimiter(0, packet), ctx: ctx}
	l.Set(kbps)
	l.work.Go(l.accept)
	t.Cleanup(func() {
		cancel()
		_ = listener.Close() // once
		l.work.Wait()
	})
	return l
}

// Addr is the address for viewers.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Set changes the bandwidth, in kbit/s.
func (l *Link) Set(kbps int) { l.limiter.SetLimit(rate.Limit(kbps * 1000 / 8)) }

func (l *Link) accept() {
	for {
		viewer, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(l.ctx, "tcp", l.server)
		if err != nil {
			_ = viewer.Close() // as the server would
			continue
		}
		// Buffers of the kernel would hold seconds of media.
		for _, c := range []net.Conn{viewer, server} {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = errors.Join(tcp.SetWriteBuffer(8*packet), tcp.SetReadBuffer(8*packet)) // only less exact without
			}
		}
		stop := context.AfterFunc(l.ctx, func() { _ = errors.Join(viewer.Close(), server.Close()) }) // ends both copies
		closeBoth := sync.OnceFunc(func() {
			stop()
			_ = errors.Join(viewer.Close(), server.Close()) // the other copy may have ended
		})
		l.work.Go(func() {
			defer closeBoth()
			_, _ = io.Copy(server, viewer) // a connection's end is no failure of the link
		})
		l.work.Go(func() {
			defer closeBoth()
			l.send(viewer, server)
		})
	}
}

// send sends what comes from the server as fast as the link allows.
func (l *Link) send(viewer io.Writer, server io.Reader) {
	b := make([]byte, packet)
	for {
		n, err := server.Read(b)
		if err != nil || l.limiter.WaitN(l.ctx, n) != nil {
			return
		}
		if _, err := viewer.Write(b[:n]); err != nil {
			return
		}
	}
}
