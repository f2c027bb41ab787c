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
	// Sent, which may be nil, is called with the bytes of each step, at most RollingStep of them for a file.
	Sent    func(n int)
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
	c.count(int64(n))
	return n, err
}

func (c *RangedWriter) count(n int64) {
	c.Written += n
	if c.Sent != nil && n > 0 {
		c.Sent(int(n))
	}
}

// ReadFrom implements io.ReaderFrom, so that files are sent without a copy in this process.
func (c *RangedWriter) ReadFrom(r io.Reader) (int64, error) {
	if c.refused {
		return io.Copy(io.Discard, r)
	}
	if c.Sent == nil {
		n, err := io.Copy(c.ResponseWriter, r)
		c.count(n)
		return n, err
	}
	// net recognises a file in one io.LimitedReader, and not in two.
	source, limited := r.(*io.LimitedReader)
	if !limited {
		source = &io.LimitedReader{R: r, N: 1<<63 - 1}
	}
	total := int64(0)
	for source.N > 0 {
		step := min(RollingStep, source.N)
		n, err := io.Copy(c.ResponseWriter, &io.LimitedReader{R: source.R, N: step})
		c.count(n)
		total, source.N = total+n, source.N-n
		if err != nil || n < step {
			return total, err
		}
	}
	return total, nil
}
