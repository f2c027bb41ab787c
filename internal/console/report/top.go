package report

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/usage"
)

// TopTenants are the tenants with the most viewing in the last 30 days, today included.
type TopTenants struct {
	From, To time.Time
	Tenants  []TopTenant
}

// TopTenant is one of them. Live, Watched and Participants are seconds.
type TopTenant struct {
	db.ListReportTenantsRow

	Live, Watched, Participants, EgressBytes, PeakViewers int64
}

const topTenantDays = 30

// GetTopTenants returns at most limit tenants. Tenants without viewing are not among them.
func (s *Service) GetTopTenants(ctx context.Context, limit int) (top TopTenants, err error) {
	q := db.New(s.pool)
	top.From, top.To = span(s.now(), topTenantDays)
	rows, err := q.ListTopWatched(ctx, db.ListTopWatchedParams{Since: top.From, MaxRows: int32(limit)})
	if err != nil {
		return top, fmt.Errorf("list tenants with the most viewing: %w", err)
	}
	ids := make([]string, len(rows))
	found := make(map[string]*TopTenant, len(rows))
	for i, r := range rows {
		ids[i], found[r.TenantID] = r.TenantID, &TopTenant{}
	}
	if err := readTop(ctx, q, ids, top.From, found); err != nil {
		return top, err
	}
	for _, id := range ids {
		if found[id].ID != "" {
			top.Tenants = append(top.Tenants, *found[id])
		}
	}
	return top, nil
}

// readTop fills in the figures of tenants.
func readTop(ctx context.Context, q *db.Queries, ids []string, from time.Time, found map[string]*TopTenant) error {
	tenants, err := q.ListReportTenants(ctx, ids)
	if err != nil {
		return fmt.Errorf("list tenants: %w", err)
	}
	for _, t := range tenants {
		found[t.ID].ListReportTenantsRow = t
	}
	used, err := q.SumReportedUsage(ctx, db.SumReportedUsageParams{TenantIds: ids, Since: from, Meters: []string{
		string(usage.StreamMinutes), string(usage.ViewerMinutes), string(usage.ParticipantMinutes), string(usage.EgressBytes),
	}})
	if err != nil {
		return fmt.Errorf("sum usage of tenants: %w", err)
	}
	for _, u := range used {
		t := found[u.TenantID]
		*map[usage.Meter]*int64{
			usage.StreamMinutes: &t.Live, usage.ViewerMinutes: &t.Watched, usage.ParticipantMinutes: &t.Participants,
			usage.EgressBytes: &t.EgressBytes,
		}[usage.Meter(u.Meter)] = u.Amount
	}
	peaks, err := q.ListPeakViewers(ctx, db.ListPeakViewersParams{TenantIds: ids, Since: from})
	if err != nil {
		return fmt.Errorf("list peaks of viewers: %w", err)
	}
	for _, p := range peaks {
		found[p.TenantID].PeakViewers = p.PeakViewers
	}
	return nil
}
