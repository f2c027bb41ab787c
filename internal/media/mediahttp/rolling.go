package mediahttp

import (
	"io"
	"net/http"
	"time"
)

// RollingStep is the number of bytes that must be sent within RollingWriter.Timeout.
const RollingStep = 256 << 10

// RollingWriter moves the write deadline on with each RollingStep bytes. So a client that reads
// slower than RollingStep per Timeout is cut off, and a large file may take as long as it needs.
type RollingWriter struct {
	http.ResponseWriter

	// Timeout is the time for each RollingStep bytes.
	Timeout time.Duration
	left    int64 // bytes until the deadline moves
}

// Unwrap is for http.ResponseController.
func (w *RollingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// extend moves the deadline if the last step was sent.
func (w *RollingWriter) extend() {
	if w.left > 0 {
		return
	}
	w.left = RollingStep
	// Some writers have no deadlines (recorders of tests); then the server's own limits apply.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.Timeout))
}

// WriteHeader implements http.ResponseWriter.
func (w *RollingWriter) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *RollingWriter) Write(b []byte) (int, error) {
	done := 0
	for {
		w.extend()
		n, err := w.ResponseWriter.Write(b[done:min(len(b), done+int(w.left))])
		w.left -= int64(n)
		if done += n; err != nil || done == len(b) {
			return done, err
		}
	}
}

// ReadFrom implements io.ReaderFrom: net/http sends files with sendfile, one step at a time.
func (w *RollingWriter) ReadFrom(r io.Reader) (int64, error) {
	// net recognises a file in one io.LimitedReader, and not in two.
	source, limited := r.(*io.LimitedReader)
	if !limited {
		source = &io.LimitedReader{R: r, N: 1<<63 - 1}
	}
	total := int64(0)
	for source.N > 0 {
		w.extend()
		step := min(w.left, source.N)
		n, err := io.Copy(w.ResponseWriter, &io.LimitedReader{R: source.R, N: step})
		total, w.left, source.N = total+n, w.left-n, source.N-n
		if err != nil || n < step {
			return total, err
		}
	}
	return total, nil
}
