package realtime

import (
	"sync"
	"time"
)

// maxHearts is the largest count of one publication, as in the API document.
const maxHearts = 1_000_000

// hearts merges the hearts of all viewers of a room on this node into one
// publication per window.
type hearts struct {
	window  time.Duration
	publish func(room string, count int)

	mu     sync.Mutex
	counts map[string]int
	timer  *time.Timer
	closed bool
}

func newHearts(window time.Duration, publish func(room string, count int)) *hearts {
	return &hearts{window: window, publish: publish, counts: map[string]int{}}
}

// add counts hearts; the first heart starts the window.
func (h *hearts) add(room string, count int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.counts[room] = min(h.counts[room]+count, maxHearts)
	if h.timer == nil {
		h.timer = time.AfterFunc(h.window, h.flush)
	}
}

// flush publishes the counts of the window.
func (h *hearts) flush() {
	h.mu.Lock()
	counts := h.counts
	h.counts, h.timer = map[string]int{}, nil
	h.mu.Unlock()
	for room, count := range counts {
		h.publish(room, count)
	}
}

// close publishes the rest and ignores later hearts.
func (h *hearts) close() {
	h.mu.Lock()
	h.closed = true
	if h.timer != nil {
		h.timer.Stop()
	}
	h.mu.Unlock()
	h.flush()
}
