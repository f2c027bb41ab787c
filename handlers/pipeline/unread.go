package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
)

// AnswerUnread turns the server's answers to requests that net/http refuses before it calls a handler into problems. These
// are HTTP/1 requests that can't be read, such as those with a broken escape in the path (400), and those with an unknown
// Expect header (417). It returns the listener to serve on, and wraps the server's Handler, ConnState and ConnContext. The
// listener must not be served with TLS: net/http would hand over encrypted bytes.
func AnswerUnread(server *http.Server, inner net.Listener) net.Listener {
	handler, state, connContext := server.Handler, server.ConnState, server.ConnContext
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(unreadKey{}).(*unreadConn); ok {
			c.handling.Store(true)
		}
		handler.ServeHTTP(w, r)
	})
	server.ConnState = func(c net.Conn, to http.ConnState) {
		if u, ok := c.(*unreadConn); ok && to == http.StateIdle {
			u.handling.Store(false)
		}
		if state != nil {
			state(c, to)
		}
	}
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if connContext != nil {
			ctx = connContext(ctx, c)
		}
		return context.WithValue(ctx, unreadKey{}, c)
	}
	return unreadListener{inner}
}

type unreadKey struct{}

type unreadListener struct{ net.Listener }

func (l unreadListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &unreadConn{Conn: c}, nil
}

// unreadConn replaces the answers that net/http writes itself.
type unreadConn struct {
	net.Conn

	// handling: a handler was called, and its answer isn't complete yet. All writes belong to that answer then.
	handling atomic.Bool
}

// NetConn returns the connection below, as tls.Conn does.
func (c *unreadConn) NetConn() net.Conn { return c.Conn }

// CloseWrite closes the sending side, as net/http does before it closes a connection whose client still sends.
func (c *unreadConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write writes p, or a problem if p is an answer of net/http itself: net/http writes such an answer at once.
func (c *unreadConn) Write(p []byte) (int, error) {
	if c.handling.Load() {
		return c.Conn.Write(p)
	}
	code, ok := refusal(p)
	if !ok {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(unreadAnswer(code, time.Now())); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ReadFrom lets the kernel send files. net/http calls it only for a handler's answer.
func (c *unreadConn) ReadFrom(r io.Reader) (int64, error) {
	if to, ok := c.Conn.(io.ReaderFrom); ok && c.handling.Load() {
		return to.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}

// refusal returns the status of an HTTP/1.1 answer that is an error. HTTP/2 frames don't begin like one.
func refusal(answer []byte) (code int, ok bool) {
	const digits = 3
	rest, ok := bytes.CutPrefix(answer, []byte("HTTP/1.1 "))
	if !ok || len(rest) < digits {
		return 0, false
	}
	code, err := strconv.Atoi(string(rest[:digits]))
	return code, err == nil && code >= http.StatusBadRequest
}

// unreadAnswer returns a whole answer with a problem. The connection closes after it.
func unreadAnswer(code int, now time.Time) []byte {
	body := describeUnread(code)
	body.RequestID = id.New(id.Request)
	text, err := json.Marshal(body)
	if err != nil {
		text = nil // the status says enough
	}
	text = append(text, '\n')
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nCache-Control: no-store\r\nContent-Type: application/problem+json\r\n"+
		"X-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\nDate: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		code, http.StatusText(code), body.RequestID, now.UTC().Format(http.TimeFormat), len(text), text)
}

func describeUnread(code int) api.Problem {
	switch code {
	case http.StatusExpectationFailed:
		return plain(code, "expectation_failed", "the only Expect header that is supported is 100-continue")
	case http.StatusRequestHeaderFieldsTooLarge:
		return plain(code, "headers_too_large", "the request's headers are too long")
	case http.StatusNotImplemented:
		return plain(code, "not_implemented", "the only Transfer-Encoding that is supported is chunked")
	case http.StatusHTTPVersionNotSupported:
		return plain(code, "http_version_not_supported", "this version of HTTP is not supported")
	default:
		return plain(code, "invalid_input", "the request line or a header can't be read; a % in the path must begin an escape, such as %20")
	}
}
