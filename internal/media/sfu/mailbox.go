package sfu

import "sync"

// mailbox is the queue of work of a goroutine. Posting never blocks, so that rooms and peers can't
// wait for each other.
type mailbox struct {
	// wake has room for one token, which is there while work is queued.
	wake chan struct{}

	mu     sync.Mutex
	queue  []func()
	closed bool
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post queues f; false when the mailbox is closed, so that f will not run.
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

// run runs the queued work. If a function panics, the functions behind it run at the next call.
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

// close refuses further work and runs the queued work.
func (m *mailbox) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.run()
}
