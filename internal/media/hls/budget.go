package hls

import (
	"math"
	"sync/atomic"
)

// budget is the memory for media that all windows of a server share.
type budget struct {
	total   int64 // bytes
	used    atomic.Int64
	windows atomic.Int64
}

func (b *budget) exceeded() bool { return b.used.Load() > b.total }

// share is how much one window may use, in bytes: no limit while the total isn't exceeded,
// otherwise an equal part of the total, so that the largest windows shrink.
func (b *budget) share() int {
	if !b.exceeded() {
		return math.MaxInt
	}
	return int(b.total / max(b.windows.Load(), 1))
}
