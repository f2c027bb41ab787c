package console

import (
	"context"
	"fmt"
	"math"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
)

// PlanMix has an entry for each tier, the smallest first.
type PlanMix struct {
	At    time.Time
	Plans []PlanMixEntry
}

// PlanMixEntry holds the tenants on one plan.
type PlanMixEntry struct {
	Tier string
	// Tenants are counted by status.
	Tenants map[string]int64
	// Percent is the part of all tenants that are not CANCELLED, with one decimal.
	Percent float64
	// SecondsLive and SecondsWatched are those of the last 30 days, today included.
	SecondsLive, SecondsWatched int64
}

// Total counts the tenants in any status.
func (e PlanMixEntry) Total() (n int64) {
	for _, count := range e.Tenants {
		n += count
	}
	return n
}

const planMixDays = 30

// GetPlanMix returns the share of each plan, and what its tenants used in the last 30 days.
func (s *Service) GetPlanMix(ctx context.Context) (PlanMix, error) {
	mix := PlanMix{At: s.now()}
	counts, err := db.New(s.pool).CountTenantsByPlanAndStatus(ctx)
	if err != nil {
		return mix, fmt.Errorf("count tenants by plan and status: %w", err)
	}
	used, err := s.usage.SumByPlan(ctx, mix.At.AddDate(0, 0, 1-planMixDays))
	if err != nil {
		return mix, err
	}
	var all int64
	for _, tier := range account.Plans() {
		e := PlanMixEntry{Tier: tier, Tenants: map[string]int64{}, SecondsLive: used[tier].Live, SecondsWatched: used[tier].Watched}
		for _, c := range counts {
			if c.Plan == tier {
				e.Tenants[c.Status] += c.N
			}
		}
		all += e.Total() - e.Tenants[tenancy.Cancelled]
		mix.Plans = append(mix.Plans, e)
	}
	for i := range mix.Plans {
		if e := &mix.Plans[i]; all > 0 {
			e.Percent = math.Round(1000*float64(e.Total()-e.Tenants[tenancy.Cancelled])/float64(all)) / 10
		}
	}
	return mix, nil
}
