package main

import (
	"context"
	"net/http"
	"time"
)

// Bounds of an HTTP connection, for HTTP/1.1 and HTTP/2 alike.
const (
	// headerTime is how long a client may take for a TLS handshake, and for a
	// request's header.
	headerTime = 10 * time.Second
	// requestTime is how long a client may take for a whole request.
	requestTime = time.Minute
	// responseTime is how long a response may take, from the request's header on.
	// Playback sets a shorter one of its own once it begins to write, and WebSockets
	// have theirs.
	responseTime = 2 * time.Minute
	// idleTime is how long a connection without a request stays open.
	idleTime = 2 * time.Minute
	// maxHeader is the size of a request's header in bytes.
	maxHeader = 32 << 10
)

// Bounds of an HTTP/2 connection alone.
const (
	// maxStreams is how many requests may be under way on one connection. RFC 9113,
	// 5.1.2, advises at least 100; a proxy that has more opens another connection.
	maxStreams = 100
	// connWindow and streamWindow bound, in bytes, what is kept of request bodies
	// that nobody has read yet.
	connWindow, streamWindow = 1 << 20, 256 << 10
	// pingAfter is the silence after which a client is asked whether it is there, and
	// pingTime is how long its answer may take.
	pingAfter, pingTime = 30 * time.Second, 15 * time.Second
	// stuckTime is how long a client may take no byte of what waits for it.
	stuckTime = 30 * time.Second
)

// newHTTPServer returns a server for HTTP/1.1 and HTTP/2. Without TLS it accepts HTTP/2
// from clients that begin with it (RFC 9113, 3.3), such as proxies configured for it. It
// doesn't switch on an Upgrade header, which proxies pass on by mistake. WebSockets use
// HTTP/1.1: clients open a connection of their own for them, since the server doesn't
// offer RFC 8441.
func newHTTPServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: h, Protocols: &protocols,
		ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: responseTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: connWindow, MaxReceiveBufferPerStream: streamWindow,
			SendPingTimeout: pingAfter, PingTimeout: pingTime, WriteByteTimeout: stuckTime,
		},
	}
}

// startHTTPS serves the same as HTTP_ADDR over TLS, when there is a certificate.
func (s *server) startHTTPS(ctx context.Context, h http.Handler) error {
	if s.tls.https == nil {
		return nil
	}
	listener, err := s.listen(ctx, "HTTPS_ADDR", s.config.HTTPSAddr)
	if err != nil {
		return err
	}
	s.https = listener.Addr()
	srv := newHTTPServer(h)
	srv.TLSConfig = s.tls.https
	s.serve("API over TLS", s.bounds.http.Bound(srv, listener), srv)
	return nil
}
