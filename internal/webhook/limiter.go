package webhook

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Workers is how many attempts are made at a time, those of all tenants
// together. They wait for other people's servers most of the time.
const Workers = 250

// One tenant's slow endpoints must not hold up everybody's deliveries, and a
// quick endpoint needs no limit: its attempts are over before they are in
// anybody's way. So there is a share that everybody has, and more only for those
// whose attempts come to an end.
const (
	// endpointShare is how many attempts an endpoint may hold that answers
	// slowly or not at all: at the attempts' time limit still some 2400 an hour.
	endpointShare = 10
	// tenantShare is the same for all endpoints of a tenant: enough that one of
	// them can be down without any loss for the others, a sixth of the workers.
	tenantShare = 40
	// quick is how long an attempt may take to count as a sign of life.
	quick = time.Second
	// patience is for how long after a sign of life there is more than the share,
	// and how long a delivery waits for room, holding its worker.
	patience = 200 * time.Millisecond
	// firstPause and spacing say when those for whom there was no room ask again:
	// one after the other, so that the work of asking doesn't grow with a backlog.
	firstPause = 250 * time.Millisecond
	spacing    = 5 * time.Millisecond
)

// limiter decides who may make an attempt. It keeps nothing of those that neither
// make nor wait for one, so it is as small as the workers are few.
type limiter struct {
	mu        sync.Mutex
	going     int
	tenants   map[string]*lane
	endpoints map[string]*lane
}

func newLimiter() *limiter {
	return &limiter{tenants: map[string]*lane{}, endpoints: map[string]*lane{}}
}

// lane is what one tenant or one endpoint has under way.
type lane struct {
	// users counts attempts and those that wait; going counts attempts.
	users, going int
	// since is the last sign of life, or when the lane began; proven tells which.
	since  time.Time
	proven bool
	// line is when the last one that was sent away asks again.
	line time.Time
	// waiting of a tenant, in order of arrival.
	waiting []*ticket
}

// ticket is one delivery's wish to make an attempt.
type ticket struct {
	tenantID, endpointID string
	tenant, endpoint     *lane
	// admitted is closed when the wish is granted, at the time entered.
	admitted chan struct{}
	entered  time.Time
}

// enter asks for room for an attempt. With room it returns a function that the
// caller calls once at the end of the attempt; without it returns nil and after
// what pause to ask again. An error is that of ctx.
func (q *limiter) enter(ctx context.Context, tenantID, endpointID string) (leave func(), pause time.Duration, err error) {
	q.mu.Lock()
	t := q.open(tenantID, endpointID)
	switch full := q.full(t); {
	case full == nil:
		q.admit(t)
		q.mu.Unlock()
		return func() { q.leave(t) }, 0, nil
	case !full.worthWaiting():
		defer q.mu.Unlock()
		defer q.close(t)
		return nil, full.lineUp(), nil
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

// decide ends the wait of a delivery.
func (q *limiter) decide(ctx context.Context, t *ticket) (leave func(), pause time.Duration, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(t.tenant.waiting, t); i >= 0 {
		t.tenant.waiting = slices.Delete(t.tenant.waiting, i, i+1)
		if ctx.Err() != nil {
			q.close(t)
			return nil, 0, ctx.Err()
		}
		if full := q.full(t); full != nil {
			defer q.close(t)
			return nil, full.lineUp(), nil
		}
		q.admit(t)
	}
	return func() { q.leave(t) }, 0, nil
}

// full is the lane that has no room for the attempt; nil when there is room.
func (q *limiter) full(t *ticket) *lane {
	// Never more than are left, so that there is some room for the next tenant
	// however many there are: one alone has half of all.
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

// leave ends an attempt and lets those in for whom there is room now.
func (q *limiter) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.going--
	for _, l := range []*lane{t.tenant, t.endpoint} {
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
	q.close(t)
}

// open takes part in the lanes of a tenant and an endpoint, close no more.
func (q *limiter) open(tenantID, endpointID string) *ticket {
	t := &ticket{tenantID: tenantID, endpointID: endpointID, admitted: make(chan struct{})}
	t.tenant, t.endpoint = join(q.tenants, tenantID), join(q.endpoints, endpointID)
	return t
}

func (q *limiter) close(t *ticket) {
	quit(q.tenants, t.tenantID)
	quit(q.endpoints, t.endpointID)
}

func join(lanes map[string]*lane, key string) *lane {
	l := lanes[key]
	if l == nil {
		l = &lane{since: time.Now()}
		lanes[key] = l
	}
	l.users++
	return l
}

func quit(lanes map[string]*lane, key string) {
	if l := lanes[key]; l.users > 1 {
		l.users--
		return
	}
	delete(lanes, key)
}

// alive tells whether attempts come to an end.
func (l *lane) alive() bool { return l.proven && time.Since(l.since) < patience }

// worthWaiting tells whether there may be room soon. Who comes while others are
// lined up doesn't get ahead of them.
func (l *lane) worthWaiting() bool {
	now := time.Now()
	return now.Sub(l.since) < patience && !l.line.After(now)
}

// lineUp says after what pause to ask again.
func (l *lane) lineUp() time.Duration {
	now := time.Now()
	if earliest := now.Add(firstPause); l.line.Before(earliest) {
		l.line = earliest
	}
	l.line = l.line.Add(spacing)
	return l.line.Sub(now)
}
