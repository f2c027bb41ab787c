package sfu

import (
	"strconv"
	"sync"
	"time"
)

const (
	// keepFor is how long what was sent is kept, for a client that resumes: until its
	// socket is known to be dead, and as long as it may come back.
	keepBytes = 256 << 10 // of what was sent
	keepCount = 1024
	maxUnsent = 2 << 20 // bytes that wait for a client before it is slow
	maxWaits  = 8192    // messages
)

// logged is a message that was or is to be sent.
type logged struct {
	seq  uint64
	data []byte
	at   time.Time
}

// outbox numbers what a client is told and keeps it for a while, so that a client
// whose socket died hears what it missed. It may be used from any goroutine.
type outbox struct {
	now  func() time.Time
	keep time.Duration
	// wake has room for one token, which is there while something is to be sent.
	wake chan struct{}

	mu       sync.Mutex
	seq      uint64
	log      []logged
	next     int // in log: the first that this socket wasn't given
	sent     int // bytes of log before next
	unsent   int // bytes of log from next on
	ended    bool
	overflow bool
}

func newOutbox(now func() time.Time, keep time.Duration) *outbox {
	return &outbox{now: now, keep: keep, wake: make(chan struct{}, 1)}
}

// add numbers a message and lets it be sent. It is false, once, when too much
// waits already.
func (o *outbox) add(message []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || o.overflow {
		return true
	}
	if o.unsent > maxUnsent || len(o.log)-o.next > maxWaits {
		o.overflow = true
		return false
	}
	o.append(message)
	return true
}

// end adds the last message.
func (o *outbox) end(message []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	o.append(message)
	o.ended = true
}

func (o *outbox) append(message []byte) {
	o.seq++
	data := make([]byte, 0, len(message)+24)
	data = append(data, message[:len(message)-1]...)
	data = append(data, `,"seq":`...)
	data = strconv.AppendUint(data, o.seq, 10)
	data = append(data, '}')
	o.log = append(o.log, logged{o.seq, data, o.now()})
	o.unsent += len(data)
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take is what is to be sent now; last when nothing will follow.
func (o *outbox) take() (batch [][]byte, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.log[o.next:] {
		batch = append(batch, l.data)
	}
	o.sent, o.unsent, o.next = o.sent+o.unsent, 0, len(o.log)
	o.prune()
	return batch, o.ended
}

// prune forgets what nobody will ask for again.
func (o *outbox) prune() {
	old, n := o.now().Add(-o.keep), 0
	for n < o.next && (o.log[n].at.Before(old) || o.sent > keepBytes || o.next-n > keepCount) {
		o.sent -= len(o.log[n].data)
		n++
	}
	if n == 0 {
		return
	}
	o.log = append(o.log[:0], o.log[n:]...)
	clear(o.log[len(o.log):cap(o.log)])
	o.next -= n
}

// last tells whether the last message is in it.
func (o *outbox) last() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// resume goes back to what follows seq after; false when that isn't there any
// more, or was never said.
func (o *outbox) resume(after uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.seq - uint64(len(o.log)) // the last that was forgotten
	if o.ended || o.overflow || after < first || after > o.seq {
		return false
	}
	o.next = int(after - first)
	o.sent, o.unsent = 0, 0
	for i, l := range o.log {
		if i < o.next {
			o.sent += len(l.data)
		} else {
			o.unsent += len(l.data)
		}
	}
	o.signal()
	return true
}
