package hls

import (
	"bytes"
	"compress/gzip"
	"sync"
	"time"
)

// state is one published state of a stream's playlist. It never changes; when
// the next one is there, changed is closed and wakes all who wait.
type state struct {
	full, delta  *text // delta is nil when nothing can be left out
	multivariant []byte

	first   uint64 // media sequence number of the first listed segment
	counts  []int  // parts of the listed segments
	open    uint64 // number of the segment that grows or comes next
	parts   int    // parts that the open segment has
	ahead   int    // how many parts beyond the newest may be asked for
	target  time.Duration
	parting time.Duration // part target
	sealed  bool
	changed chan struct{}
}

// has tells whether the state answers a blocking reload for a segment, or for
// a part of it (part >= 0).
func (s *state) has(msn uint64, part int) bool {
	switch {
	case s.sealed || msn < s.first:
		return true
	case msn > s.open || (msn == s.open && part < 0):
		return false
	case msn == s.open:
		return s.parts > part
	case part < 0 || part < s.counts[msn-s.first]:
		return true
	}
	// A part beyond a segment's last is the next segment's first one.
	return s.has(msn+1, 0)
}

// tooFar tells whether a reload asks for what is not due for long.
func (s *state) tooFar(msn uint64, part int) bool {
	switch {
	case s.sealed || msn < s.open:
		return false
	case msn > s.open+2:
		return true
	case msn == s.open:
		return part > s.parts+s.ahead
	}
	return part > s.ahead
}

// snapshot renders the window's current state.
func (w *window) snapshot(fps float64) *state {
	list := w.segments[w.listed:]
	full, delta := w.playlist()
	s := &state{
		full: &text{plain: full}, first: w.nextMSN, open: w.nextMSN, sealed: w.sealed,
		target: time.Duration(w.target) * time.Second, parting: w.partTarget,
		counts: make([]int, len(list)), changed: make(chan struct{}),
	}
	if delta != nil {
		s.delta = &text{plain: delta}
	}
	if w.partTarget > 0 {
		s.ahead = max(3, int(3*time.Second/w.partTarget))
	}
	for i, x := range list {
		s.counts[i] = len(x.parts)
	}
	if n := len(list); n > 0 {
		s.first = list[0].msn
		if !list[n-1].complete {
			s.open, s.parts = list[n-1].msn, len(list[n-1].parts)
		}
	}
	if w.config != nil {
		s.multivariant = w.multivariant(fps)
	}
	return s
}

// text is a playlist, compressed when somebody first asks for that.
type text struct {
	plain []byte
	once  sync.Once
	small []byte
}

func (t *text) gzip(c *compressor) []byte {
	t.once.Do(func() { t.small = c.compress(t.plain) })
	return t.small
}

// compressor keeps gzip writers: making one costs ten times as much as
// compressing a playlist with it.
type compressor struct{ writers sync.Pool }

func (c *compressor) compress(plain []byte) []byte {
	var b bytes.Buffer
	z, ok := c.writers.Get().(*gzip.Writer)
	if ok {
		z.Reset(&b)
	} else {
		z = gzip.NewWriter(&b)
	}
	_, _ = z.Write(plain) // a bytes.Buffer takes everything
	_ = z.Close()
	c.writers.Put(z)
	return b.Bytes()
}
