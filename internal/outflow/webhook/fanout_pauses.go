package webhook

import (
	"sync"
	"time"
)

const (
	// firstFanOutPause is how long the fan-out leaves out a tenant after a failure. Each further
	// failure doubles it, up to maxFanOutPause.
	firstFanOutPause = time.Second
	maxFanOutPause   = time.Minute
	// maxFanOutPauses is the maximum number of tenants with a pause. Beyond it, a tenant whose
	// fan-out fails is not left out.
	maxFanOutPauses = 10_000
)

// fanOutPauses holds the tenants whose fan-out failed.
type fanOutPauses struct {
	mu      sync.Mutex
	tenants map[string]fanOutPause
}

// fanOutPause is the time during which the fan-out leaves out a tenant.
type fanOutPause struct {
	length time.Duration
	until  time.Time
}

func newFanOutPauses() *fanOutPauses { return &fanOutPauses{tenants: map[string]fanOutPause{}} }

// split returns the tenants without a failure, and failed tenants with a pause that is over. It leaves
// out tenants that have a pause at the time now.
func (p *fanOutPauses) split(tenantIDs []string, now time.Time) (healthy, failed []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tenantID := range tenantIDs {
		pause, ok := p.tenants[tenantID]
		switch {
		case !ok:
			healthy = append(healthy, tenantID)
		case !pause.until.After(now):
			failed = append(failed, tenantID)
		}
	}
	return healthy, failed
}

// add begins the tenant's next pause and returns its length.
func (p *fanOutPauses) add(tenantID string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause, ok := p.tenants[tenantID]
	if !ok && len(p.tenants) >= maxFanOutPauses {
		p.deleteOld(now)
		if len(p.tenants) >= maxFanOutPauses {
			return 0
		}
	}
	pause.length = min(max(2*pause.length, firstFanOutPause), maxFanOutPause)
	pause.until = now.Add(pause.length)
	p.tenants[tenantID] = pause
	return pause.length
}

// deleteOld deletes pauses that ended long ago: another process has written the deliveries, or the
// tenant was deleted.
func (p *fanOutPauses) deleteOld(now time.Time) {
	for tenantID, pause := range p.tenants {
		if now.Sub(pause.until) > maxFanOutPause {
			delete(p.tenants, tenantID)
		}
	}
}

// remove makes the tenant one without a failure.
func (p *fanOutPauses) remove(tenantID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tenants, tenantID)
}
