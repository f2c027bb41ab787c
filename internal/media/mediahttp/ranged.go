package mediahttp

import (
	"io"
	"net/http"
)

// RangedWriter is a writer for http.ServeContent. It counts the body's bytes, and replaces the
// text of errors by refusals.
type RangedWriter struct {
	http.ResponseWriter

	// Written counts the bytes of the body that were sent, without those of a refusal.
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

// Write implements http.ResponseWriter. Bytes that follow a refusal are dropped.
func (c *RangedWriter) Write(b []byte) (int, error) {
	if c.refused {
		return len(b), nil
	}
	n, err := c.ResponseWriter.Write(b)
	c.Written += int64(n)
	return n, err
}

// ReadFrom implements io.ReaderFrom, so that files are sent without a copy in this process.
func (c *RangedWriter) ReadFrom(r io.Reader) (int64, error) {
	if c.refused {
		return io.Copy(io.Discard, r)
	}
	n, err := io.Copy(c.ResponseWriter, r)
	c.Written += n
	return n, err
}
