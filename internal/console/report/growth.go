package report

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
)

// Growth is the change of the number of tenants.
type Growth struct {
	From, To time.Time
	// New and Cancelled are the sums of the days.
	New, Cancelled int64
	// Total are the tenants now, without CANCELLED ones.
	Total int64
	// Days has each day, oldest first.
	Days []GrowthDay
}

// GrowthDay is the change of one day (UTC). Total are the tenants at its end, without CANCELLED ones.
type GrowthDay struct {
	Day                              time.Time
	New, Cancelled, Suspended, Total int64
}

// GetGrowth returns the growth in the last days, today included.
func (s *Service) GetGrowth(ctx context.Context, days int) (g Growth, err error) {
	q := db.New(s.pool)
	g.From, g.To = span(s.now(), days)
	counts, err := q.CountTenantsByPlanAndStatus(ctx)
	if err != nil {
		return g, fmt.Errorf("count tenants: %w", err)
	}
	for _, c := range counts {
		if c.Status != tenancy.Cancelled {
			g.Total += c.N
		}
	}
	fresh, err := q.CountTenantsByDay(ctx, g.From)
	if err != nil {
		return g, fmt.Errorf("count new tenants: %w", err)
	}
	actions, err := q.CountTenantActionsByDay(ctx, g.From)
	if err != nil {
		return g, fmt.Errorf("count suspensions and cancellations: %w", err)
	}
	g.Days = growthDays(g.From, g.To, g.Total, fresh, actions)
	for _, d := range g.Days {
		g.New += d.New
		g.Cancelled += d.Cancelled
	}
	return g, nil
}

// growthDays returns each day. The totals are computed backwards from the present one, total.
func growthDays(
	from, to time.Time, total int64, fresh []db.CountTenantsByDayRow, actions []db.CountTenantActionsByDayRow,
) (list []GrowthDay) {
	index := map[time.Time]int{}
	for at := from; !at.After(to); at = at.Add(day) {
		index[at] = len(list)
		list = append(list, GrowthDay{Day: at})
	}
	for _, r := range fresh {
		if i, known := index[r.Day.UTC()]; known {
			list[i].New += r.N
		}
	}
	for _, r := range actions {
		i, known := index[r.Day.UTC()]
		switch {
		case !known:
		case r.Action == "tenant.cancel":
			list[i].Cancelled += r.N
		default:
			list[i].Suspended += r.N
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		list[i].Total = max(total, 0)
		total += list[i].Cancelled - list[i].New
	}
	return list
}
