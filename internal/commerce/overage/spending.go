package overage

import (
	"context"

	"showfloor/internal/tenancy/usage"
)

// Spending is the charge of a tenant's present period.
type Spending struct {
	Cap

	// Available: new usage above the included one can be charged.
	Available bool
	// Cents is the charge so far.
	Cents int64
}

// ReachedPercent returns the highest threshold of the spend cap that is reached: 100, 80 or 0.
func (s Spending) ReachedPercent() int { return capPercent(s.Cap.Cents, s.Cents) }

// GetSpending returns the charge of a tenant's usage in its present period, which usage.GetUsage has returned.
func (s *Service) GetSpending(ctx context.Context, tenantID string, p usage.Period) (Spending, error) {
	c, currency, err := s.charging(ctx, s.config.Pool, tenantID)
	if err != nil {
		return Spending{}, err
	}
	return Spending{Cap: Cap{c.CapCents, currency}, Available: c.Available, Cents: c.Cents(p)}, nil
}
