// Package slowlink is a link with a limited bandwidth between a client and a server, for tests with real browsers and servers.
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

// Link is a TCP relay. All connections share the bandwidth for data from the server, or to it. Data in the other direction is not limited.
type Link struct {
	up       bool // the limit is for data to the server
	listener net.Listener
	server   string
	limiter  *rate.Limiter
	ctx      context.Context //nolint:containedctx // ends the waits of all connections
	work     sync.WaitGroup

	stalled sync.RWMutex // held while nothing passes
}

// New opens a link to a server's address, which is closed with the test. kbps is its bandwidth in kbit/s.
func New(t testing.TB, server string, kbps int) *Link {
	t.Helper()
	return open(t, server, kbps, false)
}

// NewUp is New with the limit for data to the server.
func NewUp(t testing.TB, server string, kbps int) *Link {
	t.Helper()
	return open(t, server, kbps, true)
}

func open(t testing.TB, server string, kbps int, up bool) *Link {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	l := &Link{up: up, listener: listener, server: server, limiter: rate.NewLimiter(0, packet), ctx: ctx}
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

// Stall holds data in the limited direction back until resume is called, also that of new connections. The connections stay open.
func (l *Link) Stall() (resume func()) {
	l.stalled.Lock()
	return l.stalled.Unlock
}

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
		to, from := viewer, server // of the limited direction
		if l.up {
			to, from = server, viewer
		}
		l.work.Go(func() {
			defer closeBoth()
			_, _ = io.Copy(from, to) // a connection's end is no failure of the link
		})
		l.work.Go(func() {
			defer closeBoth()
			l.send(to, from)
		})
	}
}

// send sends what it reads as fast as the link allows.
func (l *Link) send(to io.Writer, from io.Reader) {
	b := make([]byte, packet)
	for {
		n, err := from.Read(b)
		if err != nil || l.limiter.WaitN(l.ctx, n) != nil || !l.pass(to, b[:n]) {
			return
		}
	}
}

// pass sends a packet once the link isn't stalled.
func (l *Link) pass(to io.Writer, b []byte) bool {
	l.stalled.RLock()
	l.stalled.RUnlock() //nolint:staticcheck // it waits
	_, err := to.Write(b)
	return err == nil
}
