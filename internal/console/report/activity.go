package report

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// The areas of the platform, in the order of the API's PlatformArea.
const (
	Streams    = "STREAMS"
	Sessions   = "SESSIONS"
	Calls      = "CALLS"
	Chat       = "CHAT"
	Recordings = "RECORDINGS"
	Orders     = "ORDERS"
	Auctions   = "AUCTIONS"
	Restreams  = "RESTREAMS"
	Pushes     = "PUSHES"
	Deliveries = "DELIVERIES"
)

// Areas lists the areas.
func Areas() []string {
	return []string{Streams, Sessions, Calls, Chat, Recordings, Orders, Auctions, Restreams, Pushes, Deliveries}
}

// Activity is the activity of all tenants.
type Activity struct {
	At time.Time
	// ActiveTenants are those with any activity in the last 24 hours.
	ActiveTenants int64
	// Areas has an entry for each area.
	Areas []AreaActivity
}

// AreaActivity is the activity in one area. Now is nil where nothing lasts. The periods begin with a whole hour.
type AreaActivity struct {
	Area             string
	Now              *int64
	Day, Week, Month int64
}

// GetActivity returns the activity of each area.
func (s *Service) GetActivity(ctx context.Context) (a Activity, err error) {
	q, now := db.New(s.pool), s.now().UTC()
	a.At = now
	since := now.AddDate(0, 0, -1).Truncate(time.Hour)
	mark, open, err := s.openActivity(ctx, q, now)
	if err != nil {
		return a, err
	}
	kept, err := q.SumActivityHours(ctx, db.SumActivityHoursParams{
		Day: since, Week: now.AddDate(0, 0, -7).Truncate(time.Hour), Month: now.AddDate(0, 0, -30).Truncate(time.Hour),
	})
	if err != nil {
		return a, fmt.Errorf("sum activity: %w", err)
	}
	active, err := q.CountActiveNow(ctx)
	if err != nil {
		return a, fmt.Errorf("count what is active: %w", err)
	}
	sums := map[string]AreaActivity{}
	for _, r := range kept {
		sums[r.Area] = AreaActivity{Day: r.LastDay, Week: r.LastWeek, Month: r.LastMonth}
	}
	for _, r := range open {
		e := sums[r.Area]
		// With a mark that is long ago, as after an update, rows of earlier periods are not in the sums yet.
		if !r.Hour.Before(since) {
			e.Day += r.N
		}
		e.Week, e.Month = e.Week+r.N, e.Month+r.N
		sums[r.Area] = e
	}
	present := map[string]int64{
		Streams: active.Streams, Sessions: active.Sessions, Calls: active.Calls, Recordings: active.Recordings,
		Auctions: active.Auctions, Restreams: active.Restreams,
	}
	for _, area := range Areas() {
		e := sums[area]
		e.Area = area
		if n, lasts := present[area]; lasts {
			e.Now = &n
		}
		a.Areas = append(a.Areas, e)
	}
	a.ActiveTenants, err = s.countActiveTenants(ctx, q, since, mark, open)
	return a, err
}

// openTime is the longest time whose rows are read instead of sums. The job that writes the sums is behind by more than that only
// after an update or an outage.
const openTime = 26 * time.Hour

// openActivity returns the time up to which sums are written, and the activity since.
func (s *Service) openActivity(ctx context.Context, q *db.Queries, now time.Time) (time.Time, []db.ListActivityRow, error) {
	mark, err := q.GetActivityMark(ctx)
	if err != nil {
		return mark, nil, fmt.Errorf("get mark of activity: %w", err)
	}
	if earliest := now.Add(-openTime).Truncate(time.Hour); mark.Before(earliest) {
		mark = earliest
	}
	rows, err := listActivity(ctx, q, mark, now.Add(time.Minute))
	return mark, rows, err
}

// countActiveTenants counts the tenants with any activity or API call since a time.
func (s *Service) countActiveTenants(
	ctx context.Context, q *db.Queries, since, mark time.Time, open []db.ListActivityRow,
) (int64, error) {
	kept, err := q.ListActiveTenants(ctx, db.ListActiveTenantsParams{Day: since.Truncate(day), Since: since})
	if err != nil {
		return 0, fmt.Errorf("list active tenants: %w", err)
	}
	calling, err := s.calls.ListActiveTenants(ctx, since)
	if err != nil {
		return 0, err
	}
	tenants := map[string]bool{}
	for _, ids := range [][]string{kept, calling} {
		for _, id := range ids {
			tenants[id] = true
		}
	}
	for _, r := range open {
		if !r.LastAt.Before(since) || !mark.Before(since) {
			tenants[r.TenantID] = true
		}
	}
	return int64(len(tenants)), nil
}

// TenantActivity is one tenant's activity in the last 30 days, today included.
type TenantActivity struct {
	db.ListReportTenantsRow

	// LastAt is nil without activity.
	LastAt *time.Time
	// Areas has the areas with activity.
	Areas map[string]int64
}

const tenantActivityDays = 30

// ListTenantActivity returns the activity of these tenants, newest first.
func (s *Service) ListTenantActivity(ctx context.Context, tenantIDs []string) (list []TenantActivity, err error) {
	q, now := db.New(s.pool), s.now().UTC()
	from, _ := span(now, tenantActivityDays)
	tenants, err := q.ListReportTenants(ctx, tenantIDs)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	kept, err := q.SumActivityOfTenants(ctx, db.SumActivityOfTenantsParams{TenantIds: tenantIDs, Since: from})
	if err != nil {
		return nil, fmt.Errorf("sum activity of tenants: %w", err)
	}
	_, open, err := s.openActivity(ctx, q, now)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*TenantActivity, len(tenants))
	list = make([]TenantActivity, len(tenants))
	for i, t := range tenants {
		list[i] = TenantActivity{ListReportTenantsRow: t, Areas: map[string]int64{}}
		found[t.ID] = &list[i]
	}
	note := func(tenantID, area string, n int64, at time.Time) {
		t := found[tenantID]
		if t == nil {
			return
		}
		t.Areas[area] += n
		if t.LastAt == nil || at.After(*t.LastAt) {
			t.LastAt = &at
		}
	}
	for _, r := range kept {
		note(r.TenantID, r.Area, r.N, r.LastAt)
	}
	for _, r := range open {
		note(r.TenantID, r.Area, r.N, r.LastAt)
	}
	return list, nil
}

// CountSince counts what began in an area since a time.
func (s *Service) CountSince(ctx context.Context, area string, since time.Time) (total int64, err error) {
	q, now := db.New(s.pool), s.now().UTC()
	whole := since.UTC().Add(time.Hour - 1).Truncate(time.Hour)
	mark, open, err := s.openActivity(ctx, q, now)
	if err != nil {
		return 0, err
	}
	kept, err := q.SumActivityByDay(ctx, db.SumActivityByDayParams{Area: area, Since: whole})
	if err != nil {
		return 0, fmt.Errorf("sum activity: %w", err)
	}
	for _, k := range kept {
		total += k.N
	}
	var edge []db.ListActivityRow
	if since.Before(mark) {
		if edge, err = listActivity(ctx, q, since, whole); err != nil {
			return 0, err
		}
	}
	for _, r := range open {
		if !r.Hour.Before(whole) {
			edge = append(edge, r)
		}
	}
	for _, r := range edge {
		if r.Area == area {
			total += r.N
		}
	}
	return total, nil
}
