package connlimit

import (
	"container/list"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Conn is a connection that the limits count. Only the Limiter uses its fields.
type Conn struct {
	net.Conn

	limiter *Limiter
	ip      netip.Addr // see netaddr.Network
	exempt  bool       // from PerAddress
	reason  Reason     // limit that refused it; "" if it is not refused
	state   state
	// all and own are the place in the lists of waiting connections.
	all, own *list.Element
	// end closes a refused connection.
	end *time.Timer
}

type state int

const (
	waiting state = iota
	busy
	answered // refused, and open for the answer
	gone
)

// Close closes the connection and removes it from the counts.
func (c *Conn) Close() error {
	err := c.Conn.Close() // first, so that a new connection finds its descriptor free
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	c.limiter.remove(c)
	return err
}

// ReadFrom lets the kernel send a file (sendfile), for which net/http looks for this method.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if direct, ok := c.Conn.(io.ReaderFrom); ok {
		return direct.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

// CloseWrite closes the sending side, as net/http does before it closes a connection
// whose client still sends.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// listener accepts connections within the limits.
type listener struct {
	net.Listener

	limiter *Limiter
}

// Accept returns the next connection that is admitted, or refused with an answer.
// If the process has no file descriptor left, it closes waiting connections and
// returns the error, after which net/http calls Accept again.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
				l.limiter.relieve()
			}
			return nil, err
		}
		if x := l.limiter.admit(conn); x != nil {
			return x, nil
		}
	}
}

// connState follows whether a connection waits, as the http.Server reports it.
func (l *Limiter) connState(c net.Conn, to http.ConnState) {
	x := find(c)
	if x == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case x.state == waiting && (to == http.StateActive || to == http.StateHijacked):
		l.work(x)
	case x.state == busy && to == http.StateIdle:
		l.wait(x)
	}
}

// find returns the Conn in c, which TLS may have wrapped; nil if there is none.
func find(c net.Conn) *Conn {
	for {
		switch wrapped := c.(type) {
		case *Conn:
			return wrapped
		case interface{ NetConn() net.Conn }:
			c = wrapped.NetConn()
		default:
			return nil
		}
	}
}
