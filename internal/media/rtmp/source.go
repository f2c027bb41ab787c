package rtmp

import (
	"io"
	"time"
)

// source counts the bytes read, and bounds them before the publish was accepted.
type source struct {
	r        io.Reader
	total    int64
	allowed  int64     // bytes in total, 0: any number
	last     time.Time // of the last read
	extended time.Time // when the deadline was last moved
}

func (s *source) Read(p []byte) (int, error) {
	if s.allowed > 0 && s.total >= s.allowed {
		return 0, errNotPublished
	}
	n, err := s.r.Read(p)
	s.total += int64(n)
	s.last = time.Now()
	return n, err
}

// outgoing collects writes.
type outgoing []byte

func (o *outgoing) Write(p []byte) (int, error) {
	*o = append(*o, p...)
	return len(p), nil
}
