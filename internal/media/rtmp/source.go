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
	// rest is called before a read that would most likely wait, because the last one emptied the socket; nil for none.
	rest    func()
	emptied bool
}

func (s *source) Read(p []byte) (int, error) {
	if s.allowed > 0 && s.total >= s.allowed {
		return 0, errNotPublished
	}
	if s.emptied && s.rest != nil {
		s.rest()
	}
	n, err := s.r.Read(p)
	s.total += int64(n)
	s.last, s.emptied = time.Now(), n < len(p)
	return n, err
}

// outgoing collects writes.
type outgoing []byte

func (o *outgoing) Write(p []byte) (int, error) {
	*o = append(*o, p...)
	return len(p), nil
}
