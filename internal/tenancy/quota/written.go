package quota

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

const (
	// WrittenUnit is the minimum that a successful request is charged, in bytes: about the
	// size of its row and its event.
	WrittenUnit = 1024
	// AudiencePart divides WrittenBytes: all participants of a tenant together get that part, in
	// addition to the bytes of the tenant's own users and keys.
	AudiencePart = 2
	// ParticipantPart divides WrittenBytes: one participant gets that part.
	ParticipantPart = 32
)

// planAge is the time for which WrittenBytes caches a plan, because it is called for each
// chat message.
const planAge = 10 * time.Second

// maxKnownPlans is the number of tenants whose plan is cached.
const maxKnownPlans = 10_000

// planOf is the tenant's plan of up to planAge ago.
func (s *Service) planOf(ctx context.Context, tenantID string) (db.Plan, error) {
	now := s.now()
	if p, ok := s.known.Get(tenantID, now); ok {
		return p, nil
	}
	row, err := db.New(s.pool).GetTenantPlan(ctx, tenantID)
	if err != nil {
		return db.Plan{}, fmt.Errorf("get plan: %w", err)
	}
	s.known.Put(tenantID, row.Plan, now)
	return row.Plan, nil
}

// WrittenBytes is how many bytes the tenant's requests may store in an hour. A change of the
// plan holds after 10 seconds.
func (s *Service) WrittenBytes(ctx context.Context, tenantID string) (int64, error) {
	p, err := s.planOf(ctx, tenantID)
	return writtenBytes.of(p), err
}

// RefuseWritten returns the refusal, 429 rate_limited, for a tenant whose requests have stored
// the bytes of its plan; again is the time until it may continue.
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
