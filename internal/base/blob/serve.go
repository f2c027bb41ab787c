package blob

import (
	"errors"
	"io"
	"net/http"
	"strings"
)

// maxRanges is how many ranges one request may ask for. Beyond it the whole file is sent, as RFC 9110, 14.2 allows.
const maxRanges = 8

// serveContent answers a request with the content of a file.
func serveContent(w http.ResponseWriter, r *http.Request, info Info, content io.ReadSeeker, o ServeOptions) {
	h := w.Header()
	h.Set("Content-Type", info.ContentType)
	h.Set("ETag", info.ETag)
	if o.CacheControl != "" {
		h.Set("Cache-Control", o.CacheControl)
	}
	if o.Disposition != "" {
		h.Set("Content-Disposition", o.Disposition)
	}
	if strings.Count(r.Header.Get("Range"), ",") >= maxRanges {
		whole := *r
		whole.Header = r.Header.Clone()
		whole.Header.Del("Range")
		r = &whole
	}
	http.ServeContent(w, r, "", info.Modified, content)
}

// output is the client's side of a response. It gives the kernel the whole range of a local file (sendfile), and counts the bytes.
type output struct {
	http.ResponseWriter

	// direct is the connection's own writer, below the wrappers of a router; nil if it has none.
	direct  io.ReaderFrom
	sent    int64
	failure error
}

// newOutput finds the writer below wrappers such as echo's, which have no ReadFrom. Serve must therefore not run below a
// middleware that changes the bytes, such as compression: media don't get smaller by it.
func newOutput(w http.ResponseWriter) *output {
	o := &output{ResponseWriter: w}
	for w != nil {
		if direct, ok := w.(io.ReaderFrom); ok {
			o.direct = direct
			return o
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return o
		}
		w = inner.Unwrap()
	}
	return o
}

// Unwrap implements what http.ResponseController looks for.
func (o *output) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// Write implements http.ResponseWriter.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.ResponseWriter.Write(p)
	o.count(int64(n), err)
	return n, err
}

// ReadFrom implements io.ReaderFrom. src is an io.LimitedReader when http.ServeContent calls it; if that reads from a
// file, net can use sendfile.
func (o *output) ReadFrom(src io.Reader) (int64, error) {
	limited, ok := src.(*io.LimitedReader)
	if o.direct == nil || !ok {
		n, err := io.Copy(struct{ io.Writer }{o}, src)
		o.count(0, err)
		return n, err
	}
	size := limited.N
	n, err := o.direct.ReadFrom(limited)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF // the file is shorter than it was
	}
	o.count(n, err)
	return n, err
}

func (o *output) count(n int64, err error) {
	o.sent += n
	if err != nil {
		o.failure = errors.Join(o.failure, err)
	}
}
