package overage

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/usage"
)

// Spending is the charge of a tenant's present period.
type Spending struct {
	Cap

	// Available: usage above the included one can be charged.
	Available bool
	// Cents is the charge so far.
	Cents int64
}

// ReachedPercent returns the highest threshold of the spend cap that is reached: 100, 80 or 0.
func (s Spending) ReachedPercent() int { return capPercent(s.Cap.Cents, s.Cents) }

// GetSpending returns the charge of a tenant's usage, which GetUsage has returned. A charge that is stored already never becomes less,
// and while nothing can be charged, it is all.
func (s *Service) GetSpending(ctx context.Context, tenantID string, p usage.Period) (out Spending, err error) {
	charging, payer, err := s.charging(ctx, s.config.Pool, tenantID)
	if err != nil {
		return out, err
	}
	out = Spending{Cap: Cap{charging.CapCents, payer.Currency}, Available: charging.Available}
	stored, err := db.New(s.config.Pool).ListOverageCharges(ctx, db.ListOverageChargesParams{
		TenantID: tenantID, PeriodStarts: []time.Time{p.From},
	})
	if err != nil {
		return out, fmt.Errorf("list charges: %w", err)
	}
	charges := map[usage.Meter]int64{}
	for _, c := range stored {
		charges[usage.Meter(c.Meter)] = c.Cents
	}
	left := newRoom(out.Cap.Cents, charges)
	for _, r := range p.Readings {
		if out.Available {
			charges[r.Meter] = left.raise(charges[r.Meter], r.OverageCents())
		}
		out.Cents += charges[r.Meter]
	}
	return out, nil
}
