package ladder

import (
	"sync"
	"time"
)

// promiseTime is how long a place that was given back waits for the tenant for whom it was: longer than the distance of key pictures.
const promiseTime = 30 * time.Second

// places are the encoders that the server can run at a time. Tenants share them: while there is no free place, a tenant with more places
// than another one would have gives the one back that it took last.
type places struct {
	most int

	mu      sync.Mutex
	holders []*follower // in the order in which they took their places
	// promised is the tenant for whom the next free place is, until a time.
	promised string
	until    time.Time
}

func newPlaces(most int) *places { return &places{most: most} }

func (p *places) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.holders)
}

// take takes a place; false if there is none now. now is the clock of units' Arrived.
func (p *places) take(f *follower, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	promised := now.Before(p.until)
	if promised && p.promised != f.stream.TenantID {
		return false
	}
	if len(p.holders) < p.most {
		if promised {
			p.until = time.Time{}
		}
		f.yield.Store(false)
		p.holders = append(p.holders, f)
		return true
	}
	of := map[string]int{}
	for _, h := range p.holders {
		if h.yield.Load() {
			return false // a place is about to be free
		}
		of[h.stream.TenantID]++
	}
	var richest *follower
	for _, h := range p.holders {
		if richest == nil || of[h.stream.TenantID] >= of[richest.stream.TenantID] {
			richest = h
		}
	}
	if richest != nil && of[richest.stream.TenantID] > of[f.stream.TenantID]+1 {
		richest.yield.Store(true)
		p.promised, p.until = f.stream.TenantID, now.Add(promiseTime)
	}
	return false
}

func (p *places) release(f *follower) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, h := range p.holders {
		if h == f {
			p.holders = append(p.holders[:i], p.holders[i+1:]...)
			return
		}
	}
}
