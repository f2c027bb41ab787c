package sfu

import "sync"

// mailbox holds what a goroutine is to do next. Putting something in never
// blocks, so that rooms and peers can't wait for each other.
type mailbox struct {
	// wake has room for one token, which is there while something waits.
	wake chan struct{}

	mu     sync.Mutex
	queue  []func()
	closed bool
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post adds something to do; false when nobody will do it any more.
func (m *mailbox) post(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.queue = append(m.queue, f)
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return true
}

// run does what waits. What a fault in one keeps it from is done the next time.
func (m *mailbox) run() {
	m.mu.Lock()
	queue := m.queue
	m.queue = nil
	m.mu.Unlock()
	defer func() {
		if len(queue) > 0 {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.queue = append(queue, m.queue...)
			select {
			case m.wake <- struct{}{}:
			default:
			}
		}
	}()
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		f()
	}
}

// close refuses what comes later, and does what waits.
func (m *mailbox) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.run()
}
