package hls

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// output writes one response for a stream.
type output struct {
	w       http.ResponseWriter
	r       *http.Request
	m       *muxer
	timeout time.Duration
	zip     *compressor
	// node is set for an answer to another node, which reports the bytes that it sends to
	// viewers.
	node bool
}

func (s *Server) output(v *visit, m *muxer) *output {
	return &output{w: v.w, r: v.r, m: m, timeout: s.config.WriteTimeout, zip: &s.zip, node: v.node}
}

// count adds bytes that were sent to a viewer.
func (o *output) count(n int) {
	if !o.node {
		o.m.stream.AddBytesOut(n)
	}
}

// begin sets the write deadline of the response, so that a viewer that reads nothing holds a
// goroutine and media for a limited time.
func (o *output) begin() {
	// Some writers have no deadlines (recorders of tests); then the server's own limits apply.
	_ = http.NewResponseController(o.w).SetWriteDeadline(time.Now().Add(o.timeout))
}

// text sends a playlist.
func (o *output) text(t *text, caching string) {
	h := o.w.Header()
	h.Set("Content-Type", "application/vnd.apple.mpegurl")
	h.Set("Cache-Control", caching)
	h.Set("Vary", "Accept-Encoding")
	body := t.plain
	if acceptsGzip(o.r) {
		h.Set("Content-Encoding", "gzip")
		body = t.gzip(o.zip)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	o.begin()
	o.write(body)
}

// write writes bytes unless the request is HEAD; false when the viewer has gone.
func (o *output) write(b []byte) bool {
	if o.r.Method == http.MethodHead {
		return true
	}
	n, err := o.w.Write(b)
	o.count(n)
	return err == nil
}

// media sends concatenated parts as one file, which never changes.
func (o *output) media(parts []*part, at location) {
	size := 0
	for _, p := range parts {
		size += len(p.data)
	}
	h := o.w.Header()
	h.Set("Content-Type", "video/mp4")
	h.Set("Cache-Control", "public, max-age=86400, immutable")
	h.Set("ETag", `"`+at.run+"-"+strconv.Itoa(int(at.kind))+"-"+strconv.FormatUint(at.number, 10)+`"`)
	o.begin()
	if o.r.Header.Get("Range") == "" && o.r.Header.Get("If-None-Match") == "" {
		h.Set("Accept-Ranges", "bytes")
		h.Set("Content-Length", strconv.Itoa(size))
		for _, p := range parts {
			if !o.write(p.data) {
				return
			}
		}
		return
	}
	ranged := &rangedWriter{ResponseWriter: o.w}
	http.ServeContent(ranged, o.r, "", time.Time{}, &partsReader{parts: parts, size: int64(size)})
	o.count(ranged.n)
}

// rangedWriter is the writer for http.ServeContent. It counts the body's bytes, and replaces the
// text of errors by refusals.
type rangedWriter struct {
	http.ResponseWriter

	n       int
	refused bool
}

func (c *rangedWriter) WriteHeader(status int) {
	var p *problem
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		p = refuse(status, "range_not_satisfiable", "the Range header asks for nothing of this file; Content-Range says how long it is")
	case http.StatusPreconditionFailed:
		p = refuse(status, "precondition_failed", "the file is another one than If-Match names")
	default:
		c.ResponseWriter.WriteHeader(status)
		return
	}
	c.refused = true
	h := c.Header()
	h.Del("ETag")
	h.Del("X-Content-Type-Options")
	h.Del("Content-Length")
	p.write(c.ResponseWriter)
}

func (c *rangedWriter) Write(b []byte) (int, error) {
	if c.refused {
		return len(b), nil
	}
	n, err := c.ResponseWriter.Write(b)
	c.n += n
	return n, err
}

// partsReader reads parts as one file.
type partsReader struct {
	parts []*part
	size  int64
	pos   int64
}

func (r *partsReader) Read(b []byte) (int, error) {
	at := r.pos
	for _, p := range r.parts {
		if at < int64(len(p.data)) {
			n := copy(b, p.data[at:])
			r.pos += int64(n)
			return n, nil
		}
		at -= int64(len(p.data))
	}
	return 0, io.EOF
}

func (r *partsReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	r.pos = offset
	return offset, nil
}
