package realtimetest

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
)

const (
	// frozenBuffer is the receive buffer of a connection in bytes. It is small, so that the
	// writer blocks soon after a Freeze. thawedBuffer is the size after a Thaw: with
	// frozenBuffer, megabytes that are queued at the sender take many seconds.
	frozenBuffer = 16 << 10
	thawedBuffer = 1 << 20
)

// Pipe opens connections from which nothing is read while the pipe is frozen.
type Pipe struct {
	mu    sync.Mutex
	thaw  chan struct{}
	conns []*net.TCPConn
}

// NewPipe returns a pipe that isn't frozen.
func NewPipe() *Pipe {
	p := &Pipe{thaw: make(chan struct{})}
	close(p.thaw)
	return p
}

// Dial is for Options.Dial.
func (p *Pipe) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetReadBuffer(frozenBuffer)
		p.mu.Lock()
		p.conns = append(p.conns, tcp)
		p.mu.Unlock()
	}
	return &frozen{Conn: conn, pipe: p}, err
}

// Freeze stops reading until Thaw or the end of the test: a client can't close while its
// connection is frozen.
func (p *Pipe) Freeze(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thaw:
	default:
		return // it is frozen
	}
	p.resize(frozenBuffer)
	p.thaw = make(chan struct{})
	t.Cleanup(p.Thaw)
}

// resize sets the receive buffers of the connections.
func (p *Pipe) resize(bytes int) {
	for _, conn := range p.conns {
		_ = conn.SetReadBuffer(bytes) // fails if the connection has been closed
	}
}

// Thaw resumes reading. It has no effect if the pipe isn't frozen.
func (p *Pipe) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thaw:
		return
	default:
	}
	p.resize(thawedBuffer)
	close(p.thaw)
}

type frozen struct {
	net.Conn

	pipe *Pipe
}

func (f *frozen) Read(b []byte) (int, error) {
	f.pipe.mu.Lock()
	thaw := f.pipe.thaw
	f.pipe.mu.Unlock()
	<-thaw
	return f.Conn.Read(b)
}

// Balance is for Options.Dial. Each connection goes to the URL that url returns at
// that time, like behind a load balancer.
func Balance(url func() string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(url(), "http://"))
	}
}
