package hls

import (
	"math"
	"sync/atomic"
)

// budget is the memory that the windows of a server share.
type budget struct {
	total   int64 // bytes
	used    atomic.Int64
	windows atomic.Int64
}

func (b *budget) exceeded() bool { return b.used.Load() > b.total }

// share is what one window may take, in bytes: anything while all fit, else an
// equal part, so that those pay that take the most.
func (b *budget) share() int {
	if !b.exceeded() {
		return math.MaxInt
	}
	return int(b.total / max(b.windows.Load(), 1))
}
