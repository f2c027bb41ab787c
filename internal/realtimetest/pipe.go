package realtimetest

import (
	"context"
	"net"
	"strings"
	"sync"
)

// Pipe opens connections from which nothing is read while the pipe is frozen.
// Their buffers are small, so that the writer blocks soon.
type Pipe struct {
	mu   sync.Mutex
	thaw chan struct{}
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
		err = tcp.SetReadBuffer(16 << 10)
	}
	return &frozen{Conn: conn, pipe: p}, err
}

// Freeze stops reading.
func (p *Pipe) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thaw = make(chan struct{})
}

// Thaw resumes reading.
func (p *Pipe) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
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
