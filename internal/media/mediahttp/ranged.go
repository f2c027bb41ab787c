package mediahttp

import (
	"net/http"
	"net/netip"
)

// RangedWriter is a writer for http.ServeContent. It counts the body's bytes, and replaces the
// text of errors by refusals.
type RangedWriter struct {
	http.ResponseWriter

	// Written counts the bytes of the body that were sent. A refusal's don't count.
	Written int64
	refused bool
}

// Unwrap is for http.ResponseController.
func (c *RangedWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *RangedWriter) WriteHeader(status int) {
	var p *Problem
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		p = Refuse(status, "range_not_satisfiable", "the Range header asks for nothing of this file; Content-Range says how long it is")
	case http.StatusPreconditionFailed:
		p = Refuse(status, "precondition_failed", "the file is another one than If-Match names")
	default:
		c.ResponseWriter.WriteHeader(status)
		return
	}
	c.refused = true
	h := c.Header()
	h.Del("ETag")
	h.Del("X-Content-Type-Options")
	h.Del("Content-Length")
	p.Write(c.ResponseWriter)
}

// Write implements http.ResponseWriter. What follows a refusal is dropped.
func (c *RangedWriter) Write(b []byte) (int, error) {
	if c.refused {
		return len(b), nil
	}
	n, err := c.ResponseWriter.Write(b)
	c.Written += int64(n)
	return n, err
}

// RemoteIP is the address of a request's connection.
func RemoteIP(r *http.Request) netip.Addr {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return at.Addr()
}
