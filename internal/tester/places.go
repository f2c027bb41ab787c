package tester

import "sync"

const (
	// maxUnwritten bounds the requests that wait to be written, and with them the
	// memory of their bodies: 256 MiB while the database doesn't answer.
	maxUnwritten = 256
	// reserved are the last places. A tenant takes one of them only while it holds fewer
	// than fewPlaces, so that one tenant can't take all places.
	reserved, fewPlaces = 48, 16
)

// places are taken by requests, by tenant.
type places struct {
	mu   sync.Mutex
	all  int
	each map[string]int
}

// enter takes a place, unless there is none for the tenant; the caller calls leave once.
func (p *places) enter(tenantID string) (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= maxUnwritten || p.all >= maxUnwritten-reserved && p.each[tenantID] >= fewPlaces {
		return nil, false
	}
	p.all++
	p.each[tenantID]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		if p.each[tenantID]--; p.each[tenantID] == 0 {
			delete(p.each, tenantID)
		}
	}, true
}
