package webhook

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Workers is the maximum number of concurrent attempts of all tenants together.
// Most of the time they wait for the tenants' servers.
const Workers = 250

// One tenant's slow endpoints must not delay the deliveries of others. A quick
// endpoint needs no limit, because its attempts end before they delay others. So
// each tenant and endpoint has a share, and more only while its attempts end
// quickly.
const (
	// endpointShare is how many concurrent attempts an endpoint may have that answers
	// slowly or not at all: at the attempts' time limit still some 2400 an hour.
	endpointShare = 10
	// tenantShare is the same for all endpoints of a tenant: a sixth of the workers.
	// It is enough that one endpoint can be down without delaying the others.
	tenantShare = 40
	// quick is the maximum duration of an attempt that counts as a sign of life of its
	// endpoint and tenant.
	quick = time.Second
	// patience is how long after a sign of life a workload may exceed its share. It is
	// also how long a delivery waits for room while it occupies its worker.
	patience = 200 * time.Millisecond
	// firstPause and spacing determine when refused deliveries ask again: the first
	// after firstPause, each next one spacing later, so that the load of asking
	// doesn't grow with the backlog.
	firstPause = 250 * time.Millisecond
	spacing    = 5 * time.Millisecond
)

// limiter decides which deliveries may make an attempt. It stores only deliveries
// that make an attempt or wait for one, so its size is bounded by the number of
// workers. It measures durations with time.Now, not with the injected clock; its tests
// run in a bubble of testing/synctest.
type limiter struct {
	mu        sync.Mutex
	going     int
	tenants   map[string]*workload
	endpoints map[string]*workload
}

func newLimiter() *limiter {
	return &limiter{tenants: map[string]*workload{}, endpoints: map[string]*workload{}}
}

// workload holds the attempts in progress of one tenant or one endpoint.
type workload struct {
	// users counts attempts and waiting deliveries; going counts attempts only.
	users, going int
	// since is the last sign of life if proven is set, else when the workload was created.
	since  time.Time
	proven bool
	// lastRetry is when the last refused delivery asks again.
	lastRetry time.Time
	// waiting holds a tenant's waiting deliveries, in order of arrival.
	waiting []*ticket
}

// ticket is one delivery's request for an attempt.
type ticket struct {
	tenantID, endpointID string
	tenant, endpoint     *workload
	// admitted is closed when the attempt may begin, at the time entered.
	admitted chan struct{}
	entered  time.Time
}

// enter asks for room for an attempt. If there is room, it returns a function that
// the caller must call once at the end of the attempt. Otherwise leave is nil, and
// pause is how long to wait before asking again. An error is that of ctx.
func (q *limiter) enter(ctx context.Context, tenantID, endpointID string) (leave func(), pause time.Duration, err error) {
	q.mu.Lock()
	t := q.add(tenantID, endpointID)
	switch full := q.full(t); {
	case full == nil:
		q.admit(t)
		q.mu.Unlock()
		return func() { q.leave(t) }, 0, nil
	case !full.worthWaiting():
		defer q.mu.Unlock()
		defer q.remove(t)
		return nil, full.nextRetryPause(), nil
	}
	t.tenant.waiting = append(t.tenant.waiting, t)
	q.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-t.admitted:
	case <-timer.C:
	case <-ctx.Done():
	}
	return q.decide(ctx, t)
}

// decide ends a delivery's wait: with an attempt, or with a pause.
func (q *limiter) decide(ctx context.Context, t *ticket) (leave func(), pause time.Duration, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(t.tenant.waiting, t); i >= 0 {
		t.tenant.waiting = slices.Delete(t.tenant.waiting, i, i+1)
		if ctx.Err() != nil {
			q.remove(t)
			return nil, 0, ctx.Err()
		}
		if full := q.full(t); full != nil {
			defer q.remove(t)
			return nil, full.nextRetryPause(), nil
		}
		q.admit(t)
	}
	return func() { q.leave(t) }, 0, nil
}

// full returns the workload that has no room for the attempt; nil if there is room.
func (q *limiter) full(t *ticket) *workload {
	// A tenant may use at most as many workers as are free, so that the next tenant
	// always finds some: a single tenant can use half of all.
	limit := Workers - q.going
	if !t.tenant.alive() {
		limit = min(limit, tenantShare)
	}
	switch {
	case t.tenant.going >= limit:
		return t.tenant
	case t.endpoint.going >= endpointShare && !t.endpoint.alive():
		return t.endpoint
	}
	return nil
}

func (q *limiter) admit(t *ticket) {
	q.going++
	t.tenant.going++
	t.endpoint.going++
	t.entered = time.Now()
	close(t.admitted)
}

// leave ends an attempt and admits waiting deliveries for which there is room now.
func (q *limiter) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.going--
	for _, l := range []*workload{t.tenant, t.endpoint} {
		l.going--
		if now.Sub(t.entered) <= quick {
			l.since, l.proven = now, true
		}
	}
	t.tenant.waiting = slices.DeleteFunc(t.tenant.waiting, func(w *ticket) bool {
		if q.full(w) != nil {
			return false
		}
		q.admit(w)
		return true
	})
	q.remove(t)
}

// add adds a ticket to the workloads of a tenant and an endpoint; remove removes it.
func (q *limiter) add(tenantID, endpointID string) *ticket {
	t := &ticket{tenantID: tenantID, endpointID: endpointID, admitted: make(chan struct{})}
	t.tenant, t.endpoint = join(q.tenants, tenantID), join(q.endpoints, endpointID)
	return t
}

func (q *limiter) remove(t *ticket) {
	quit(q.tenants, t.tenantID)
	quit(q.endpoints, t.endpointID)
}

func join(workloads map[string]*workload, key string) *workload {
	l := workloads[key]
	if l == nil {
		l = &workload{since: time.Now()}
		workloads[key] = l
	}
	l.users++
	return l
}

func quit(workloads map[string]*workload, key string) {
	if l := workloads[key]; l.users > 1 {
		l.users--
		return
	}
	delete(workloads, key)
}

// alive reports whether an attempt of the workload ended quickly less than patience
// ago.
func (l *workload) alive() bool { return l.proven && time.Since(l.since) < patience }

// worthWaiting reports whether there may be room soon. A new delivery must not
// overtake the refused ones that have a time to ask again.
func (l *workload) worthWaiting() bool {
	now := time.Now()
	return now.Sub(l.since) < patience && !l.lastRetry.After(now)
}

// nextRetryPause returns the pause before asking again.
func (l *workload) nextRetryPause() time.Duration {
	now := time.Now()
	if earliest := now.Add(firstPause); l.lastRetry.Before(earliest) {
		l.lastRetry = earliest
	}
	l.lastRetry = l.lastRetry.Add(spacing)
	return l.lastRetry.Sub(now)
}
