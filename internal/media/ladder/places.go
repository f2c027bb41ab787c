package ladder

import "sync"

// places are the encoders that the server can run at a time. Tenants share them: while there is no free place, a tenant with more places
// than another one would have gives the one back that it took last.
type places struct {
	most int

	mu      sync.Mutex
	holders []*follower // in the order in which they took their places
}

func newPlaces(most int) *places { return &places{most: most} }

func (p *places) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.holders)
}

// take takes a place; false if there is none now.
func (p *places) take(f *follower) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.holders) < p.most {
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
