package blob

import (
	"context"
	"net"
	"net/http"
	"time"
)

// newTransport returns connections that fail when neither side sends for idle. That limits each request without
// limiting the size of a file. The proxy of HTTPS_PROXY is used.
func newTransport(idle time.Duration) *http.Transport {
	dialer := net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &idleConn{Conn: conn, idle: idle}, nil
		},
		MaxIdleConns: 128, MaxIdleConnsPerHost: 64, IdleConnTimeout: min(idle, time.Minute),
		TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: idle, ExpectContinueTimeout: time.Second,
		DisableCompression: true, // bytes are passed on as they are stored
	}
}

// idleConn has a deadline that each read and write moves. A write moves that of a waiting read too, because the answer
// to an upload comes only after its last byte.
type idleConn struct {
	net.Conn

	idle time.Duration
}

// Read implements net.Conn.
func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *idleConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
