package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"showfloor/gen/db"
)

const (
	// WrittenUnit is what a successful request counts as at least, in bytes: its row and its
	// event take about as much.
	WrittenUnit = 1024
	// AudiencePart is the part of WrittenBytes that all participants of a tenant have
	// together, besides the tenant's own users and keys.
	AudiencePart = 2
	// ParticipantPart is the part of WrittenBytes that one participant has.
	ParticipantPart = 32
)

// planAge is how long WrittenBytes uses a plan that it has read: it is called for each
// chat message.
const planAge = 10 * time.Second

// mostKnownPlans bounds the tenants whose plan is remembered.
const mostKnownPlans = 10_000

// knownPlans remembers tenants' plans for planAge.
type knownPlans struct {
	mu    sync.Mutex
	plans map[string]knownPlan
}

type knownPlan struct {
	plan db.Plan
	at   time.Time
}

func (k *knownPlans) get(tenantID string, now time.Time) (db.Plan, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.plans[tenantID]
	return known.plan, ok && now.Sub(known.at).Abs() < planAge
}

func (k *knownPlans) put(tenantID string, p db.Plan, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.plans == nil || len(k.plans) >= mostKnownPlans {
		k.plans = map[string]knownPlan{}
	}
	k.plans[tenantID] = knownPlan{p, now}
}

// planOf is the tenant's plan of up to planAge ago.
func (s *Service) planOf(ctx context.Context, tenantID string) (db.Plan, error) {
	now := s.now()
	if p, ok := s.known.get(tenantID, now); ok {
		return p, nil
	}
	row, err := db.New(s.pool).GetTenantPlan(ctx, tenantID)
	if err != nil {
		return db.Plan{}, fmt.Errorf("get plan: %w", err)
	}
	s.known.put(tenantID, row.Plan, now)
	return row.Plan, nil
}

// WrittenBytes is how many bytes the tenant's requests may store in an hour. A change of the
// plan holds after 10 seconds.
func (s *Service) WrittenBytes(ctx context.Context, tenantID string) (int64, error) {
	p, err := s.planOf(ctx, tenantID)
	return writtenBytes.of(p), err
}

// RefuseWritten is the refusal, 429 rate_limited, of a tenant whose requests have stored as
// many bytes; again is when it may go on.
func (s *Service) RefuseWritten(ctx context.Context, tenantID string, again time.Duration) error {
	p, err := s.planOf(ctx, tenantID)
	if err != nil {
		return err
	}
	plans, err := db.New(s.pool).ListPlans(ctx)
	if err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	return tooOften(writtenBytes, p, plans, again)
}
