package mediahttp

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// Text is a playlist. It is compressed at the first request with gzip.
type Text struct {
	Plain []byte

	once  sync.Once
	small []byte
}

// Gzip returns the compressed text.
func (t *Text) Gzip(c *Compressor) []byte {
	t.once.Do(func() { t.small = c.Compress(t.Plain) })
	return t.small
}

// Compressor pools gzip writers: making one costs ten times as much as compressing a playlist
// with it.
type Compressor struct{ writers sync.Pool }

// Compress returns plain compressed with gzip.
func (c *Compressor) Compress(plain []byte) []byte {
	var b bytes.Buffer
	z, ok := c.writers.Get().(*gzip.Writer)
	if ok {
		z.Reset(&b)
	} else {
		z = gzip.NewWriter(&b)
	}
	_, _ = z.Write(plain) // writes to a bytes.Buffer never fail
	_ = z.Close()
	c.writers.Put(z)
	return b.Bytes()
}

// AcceptsGzip reports whether the client accepts gzip (RFC 9110, 12.5.3).
func AcceptsGzip(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(line, ",") {
			name, weight, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				weight = strings.ReplaceAll(weight, " ", "")
				return weight != "q=0" && !strings.HasPrefix(weight, "q=0.000")
			}
		}
	}
	return false
}
