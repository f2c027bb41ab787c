package sfu

import (
	"strconv"
	"sync"
	"time"
)

const (
	// keepBytes and keepCount bound the sent messages that are kept for a client that resumes.
	// outbox.keep bounds their age: until the client's socket is known to be dead, and for as
	// long as the client may resume after that.
	keepBytes = 256 << 10
	keepCount = 1024
	maxUnsent = 2 << 20 // bytes that may wait for a client; beyond that it is too slow
	maxWaits  = 8192    // messages
)

// logged is a message that was sent or is queued.
type logged struct {
	seq  uint64
	data []byte
	at   time.Time
}

// outbox numbers the messages to a client and keeps sent ones for a while, so that a client that
// resumes receives those that it missed. It is safe for concurrent use.
type outbox struct {
	now  func() time.Time
	keep time.Duration
	// wake has room for one token, which is there while messages are queued.
	wake chan struct{}

	mu       sync.Mutex
	seq      uint64
	log      []logged
	next     int // index in log of the first message that this socket hasn't taken
	sent     int // bytes of log before next
	unsent   int // bytes of log from next on
	ended    bool
	overflow bool
}

func newOutbox(now func() time.Time, keep time.Duration) *outbox {
	return &outbox{now: now, keep: keep, wake: make(chan struct{}, 1)}
}

// add numbers and queues a message. It returns false once, when too much is queued already.
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

// end queues the last message.
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

// take returns the queued messages, and whether the last message is among those that were taken.
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

// prune removes sent messages that are too old, or too many, for a client that resumes.
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

// last reports whether the last message was queued.
func (o *outbox) last() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// resume continues after the message seq after; false when later messages are gone already, or when
// there was no such message.
func (o *outbox) resume(after uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.seq - uint64(len(o.log)) // the last message that was removed
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
