package main

import (
	"context"
	"net/http"
	"time"
)

// Limits of an HTTP connection, for HTTP/1.1 and HTTP/2 alike.
const (
	// headerTime is the time for a TLS handshake, and for a request's header.
	headerTime = 10 * time.Second
	// requestTime is the time for a whole request.
	requestTime = time.Minute
	// responseTime is the time for a response, measured from the request's header.
	// Playback sets a shorter limit when it begins to write, and WebSockets have limits
	// of their own.
	responseTime = 2 * time.Minute
	// idleTime is after how long a connection without a request is closed.
	idleTime = 2 * time.Minute
	// maxHeader is the largest header of a request, in bytes.
	maxHeader = 32 << 10
)

// Limits of an HTTP/2 connection.
const (
	// maxStreams is the number of concurrent requests on one connection. RFC 9113,
	// 5.1.2, advises at least 100; a proxy with more of them opens another connection.
	maxStreams = 100
	// connWindow and streamWindow limit, in bytes, the request bodies that are buffered
	// until a handler reads them.
	connWindow, streamWindow = 1 << 20, 256 << 10
	// pingAfter is the silence after which the server pings a client, and pingTime is
	// the time within which the client must answer.
	pingAfter, pingTime = 30 * time.Second, 15 * time.Second
	// stuckTime is the longest time in which a client may read nothing while data waits for it.
	stuckTime = 30 * time.Second
)

// newHTTPServer returns a server for HTTP/1.1 and HTTP/2. Without TLS it accepts HTTP/2
// with prior knowledge (RFC 9113, 3.3), such as from proxies configured for it. It
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

// startHTTPS serves the same handler as HTTP_ADDR over TLS, if there is a certificate.
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
