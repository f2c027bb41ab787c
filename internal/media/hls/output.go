package hls

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"showfloor/internal/media/mediahttp"
)

// output writes one response for a stream.
type output struct {
	w       http.ResponseWriter
	r       *http.Request
	m       *muxer
	timeout time.Duration
	zip     *mediahttp.Compressor
	// uncounted is set for an answer to another node, which reports the bytes that it sends to viewers, and for an answer to an admin.
	uncounted bool
	// cdn is set for an answer to a CDN.
	cdn bool
}

func (s *Server) output(v *visit, m *muxer) *output {
	return &output{w: v.w, r: v.r, m: m, timeout: s.config.WriteTimeout, zip: &s.zip, uncounted: v.node || v.admin, cdn: s.config.CDN(v.r)}
}

// count adds bytes that were sent to a viewer or a CDN.
func (o *output) count(n int) {
	switch {
	case o.uncounted:
	case o.cdn:
		o.m.stream.AddBytesToCDN(n)
	default:
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
func (o *output) text(t *mediahttp.Text, caching string) {
	h := o.w.Header()
	h.Set("Content-Type", "application/vnd.apple.mpegurl")
	h.Set("Cache-Control", caching)
	h.Set("Vary", "Accept-Encoding")
	body := t.Plain
	if mediahttp.AcceptsGzip(o.r) {
		h.Set("Content-Encoding", "gzip")
		body = t.Gzip(o.zip)
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
		size += p.size
	}
	h := o.w.Header()
	h.Set("Content-Type", "video/mp4")
	h.Set("Cache-Control", "public, max-age=86400, immutable")
	h.Set("ETag", `"`+at.run+"-"+at.edition+"-"+strconv.Itoa(int(at.kind))+"-"+strconv.FormatUint(at.number, 10)+`"`)
	o.begin()
	if o.r.Header.Get("Range") == "" && o.r.Header.Get("If-None-Match") == "" {
		h.Set("Accept-Ranges", "bytes")
		h.Set("Content-Length", strconv.Itoa(size))
		if o.r.Method == http.MethodHead {
			return
		}
		for _, p := range parts {
			if !o.write(p.bytes()) {
				return
			}
		}
		return
	}
	ranged := &mediahttp.RangedWriter{ResponseWriter: o.w}
	http.ServeContent(ranged, o.r, "", time.Time{}, &partsReader{parts: parts, size: int64(size)})
	o.count(int(ranged.Written))
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
		if at < int64(p.size) {
			n := copy(b, p.bytes()[at:])
			r.pos += int64(n)
			return n, nil
		}
		at -= int64(p.size)
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
