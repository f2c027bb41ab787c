package usage

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// PlanSeconds is the time that the tenants of one plan were on air, and that their viewers watched.
type PlanSeconds struct{ Live, Watched int64 }

// SumByPlan returns the usage of all tenants by their present plan since the day (UTC) of a time.
func (s *Service) SumByPlan(ctx context.Context, since time.Time) (map[string]PlanSeconds, error) {
	rows, err := db.New(s.pool).SumUsageByPlan(ctx, db.SumUsageByPlanParams{
		Since: since.UTC().Truncate(24 * time.Hour), Meters: []string{string(StreamMinutes), string(ViewerMinutes)},
	})
	if err != nil {
		return nil, fmt.Errorf("sum usage by plan: %w", err)
	}
	plans := map[string]PlanSeconds{}
	for _, row := range rows {
		p := plans[row.Plan]
		switch Meter(row.Meter) { //nolint:exhaustive // only these are asked for
		case StreamMinutes:
			p.Live += row.Amount
		case ViewerMinutes:
			p.Watched += row.Amount
		}
		plans[row.Plan] = p
	}
	return plans, nil
}
