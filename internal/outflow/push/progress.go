package push

import "sync"

// progress wakes requests that wait for the answers of their notification in this process.
type progress struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{}
}

func newProgress() *progress { return &progress{waiting: map[string][]chan struct{}{}} }

// wait returns a channel that receives a value after answers of a notification were stored. The caller calls stop once.
func (p *progress) wait(notificationID string) (woken <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[notificationID] = append(p.waiting[notificationID], c)
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		kept := p.waiting[notificationID][:0]
		for _, one := range p.waiting[notificationID] {
			if one != c {
				kept = append(kept, one)
			}
		}
		if p.waiting[notificationID] = kept; len(kept) == 0 {
			delete(p.waiting, notificationID)
		}
	}
}

// note wakes those that wait for a notification.
func (p *progress) note(notificationID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.waiting[notificationID] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
