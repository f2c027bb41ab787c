package handlers

import (
	"context"
	"time"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/console"
	"showfloor/internal/console/report"
	"showfloor/internal/tenancy"
)

const (
	// dashboardDays is how many days the dashboard's growth has.
	dashboardDays = 30
	// recentEntries is how many audit entries the dashboard has.
	recentEntries = 20
	// lastDay is the time of the figures of webhook deliveries.
	lastDay = 24 * time.Hour
)

// GetAdminDashboardKpis returns the platform's key figures.
func (s *Server) GetAdminDashboardKpis(
	ctx context.Context, _ api.GetAdminDashboardKpisRequestObject,
) (api.GetAdminDashboardKpisResponseObject, error) {
	k, err := s.areas.Reports.GetKPIs(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := s.areas.Subscriptions.RecurringByPlan(ctx)
	if err != nil {
		return nil, err
	}
	recurring := subscription.Amounts{}
	for _, amounts := range plans {
		for currency, cents := range amounts {
			recurring[currency] += cents
		}
	}
	_, _, failed, err := s.areas.Webhooks.CountUnarrived(ctx, k.At.Add(-lastDay))
	if err != nil {
		return nil, err
	}
	return api.GetAdminDashboardKpis200JSONResponse{
		At: timestamp.From(k.At), Tenants: toTenantStatusCounts(k.Tenants), NewTenants: int(k.NewTenants),
		NewTenantsBefore: int(k.NewTenantsBefore),
		Users:            int(k.Users), LiveStreams: int(k.Now.Streams), Viewers: int(k.Viewers), LiveSessions: int(k.Now.Sessions + k.Now.Calls),
		Participants: int(k.Now.Participants), Recordings: int(k.Recordings), RecordingBytes: k.RecordingBytes,
		MonthlyRecurring: toCurrencyAmounts(recurring), OpenTickets: int(k.OpenTickets), FailedDeliveries: int(failed),
	}, nil
}

func toTenantStatusCounts(n map[string]int64) (c api.TenantStatusCounts) {
	for _, count := range n {
		c.Total += int(count)
	}
	c.Trial, c.Active, c.PastDue = int(n[tenancy.Trial]), int(n[tenancy.Active]), int(n[tenancy.PastDue])
	c.Suspended, c.Cancelled = int(n[tenancy.Suspended]), int(n[tenancy.Cancelled])
	return c
}

// GetAdminRecentActivity returns the latest audit entries.
func (s *Server) GetAdminRecentActivity(
	ctx context.Context, _ api.GetAdminRecentActivityRequestObject,
) (api.GetAdminRecentActivityResponseObject, error) {
	rows, err := s.areas.Console.ListLatestAudit(ctx, recentEntries)
	if err != nil {
		return nil, err
	}
	items, err := toAuditEntries(rows)
	if err != nil {
		return nil, err
	}
	return api.GetAdminRecentActivity200JSONResponse{Items: items}, nil
}

// GetAdminDashboardGrowth returns the new tenants of the last 30 days.
func (s *Server) GetAdminDashboardGrowth(
	ctx context.Context, _ api.GetAdminDashboardGrowthRequestObject,
) (api.GetAdminDashboardGrowthResponseObject, error) {
	g, err := s.areas.Reports.GetGrowth(ctx, dashboardDays)
	if err != nil {
		return nil, err
	}
	return api.GetAdminDashboardGrowth200JSONResponse{
		From: timestamp.From(g.From), To: timestamp.From(g.To), Days: each(g.Days, func(d report.GrowthDay) api.GrowthDay {
			return api.GrowthDay{StartsAt: timestamp.From(d.Day), NewTenants: int(d.New), TotalTenants: int(d.Total)}
		}),
	}, nil
}

// GetAdminPlatformActivity returns the activity of each area.
func (s *Server) GetAdminPlatformActivity(
	ctx context.Context, _ api.GetAdminPlatformActivityRequestObject,
) (api.GetAdminPlatformActivityResponseObject, error) {
	a, err := s.areas.Reports.GetActivity(ctx)
	if err != nil {
		return nil, err
	}
	return api.GetAdminPlatformActivity200JSONResponse{
		At: timestamp.From(a.At), ActiveTenants: int(a.ActiveTenants), Areas: each(a.Areas, func(e report.AreaActivity) api.AreaActivity {
			out := api.AreaActivity{Area: api.PlatformArea(e.Area), Last24Hours: int(e.Day), Last7Days: int(e.Week), Last30Days: int(e.Month)}
			out.Now.SetNull()
			if e.Now != nil {
				out.Now.Set(int(*e.Now))
			}
			return out
		}),
	}, nil
}

// ListAdminTenantActivity lists the activity of tenants.
func (s *Server) ListAdminTenantActivity(
	ctx context.Context, r api.ListAdminTenantActivityRequestObject,
) (api.ListAdminTenantActivityResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	tenants, total, err := s.areas.Console.ListTenants(ctx, console.TenantFilter{}, page)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Reports.ListTenantActivity(ctx, each(tenants, func(t console.Tenant) string { return t.ID }))
	if err != nil {
		return nil, err
	}
	return api.ListAdminTenantActivity200JSONResponse{
		Items: each(rows, toTenantActivity), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

func toTenantActivity(a report.TenantActivity) api.TenantActivity {
	n := func(area string) int { return int(a.Areas[area]) }
	return api.TenantActivity{
		TenantID: a.ID, TenantName: a.Name, Plan: api.PlanTier(a.Plan), Status: api.TenantStatus(a.Status), LastActiveAt: timeOrNull(a.LastAt),
		Broadcasts: n(report.Streams), Sessions: n(report.Sessions), Calls: n(report.Calls), ChatMessages: a.Areas[report.Chat],
		Recordings: n(report.Recordings), Orders: n(report.Orders), Auctions: n(report.Auctions), Restreams: n(report.Restreams),
		Pushes: a.Areas[report.Pushes], Deliveries: a.Areas[report.Deliveries],
	}
}

// daysOf reads the number of days of a report.
func daysOf(text *string) (int, error) {
	days := defaultAdminDays
	err := readNumber("days", text, maxAdminDays, &days)
	return days, err
}

// limitOf reads the number of entries of an admin list without pages.
func limitOf(text *string) (int, error) {
	limit := defaultAdminPage
	err := readNumber("limit", text, maxAdminPage, &limit)
	return limit, err
}
