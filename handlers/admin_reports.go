package handlers

import (
	"context"
	"math"
	"time"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/report"
	"showfloor/internal/tenancy/apicall"
)

// GetAdminTenantGrowthReport returns the change of the number of tenants.
func (s *Server) GetAdminTenantGrowthReport(
	ctx context.Context, r api.GetAdminTenantGrowthReportRequestObject,
) (api.GetAdminTenantGrowthReportResponseObject, error) {
	days, err := daysOf(r.Params.Days)
	if err != nil {
		return nil, err
	}
	g, err := s.areas.Reports.GetGrowth(ctx, days)
	if err != nil {
		return nil, err
	}
	return api.GetAdminTenantGrowthReport200JSONResponse{
		From: timestamp.From(g.From), To: timestamp.From(g.To), NewTenants: int(g.New), CancelledTenants: int(g.Cancelled),
		TotalTenants: int(g.Total),
		Days: each(g.Days, func(d report.GrowthDay) api.TenantGrowthDay {
			return api.TenantGrowthDay{
				StartsAt: timestamp.From(d.Day), NewTenants: int(d.New), CancelledTenants: int(d.Cancelled), SuspendedTenants: int(d.Suspended),
				TotalTenants: int(d.Total),
			}
		}),
	}, nil
}

// GetAdminStreamActivityReport returns the broadcasts and the viewing.
func (s *Server) GetAdminStreamActivityReport(
	ctx context.Context, r api.GetAdminStreamActivityReportRequestObject,
) (api.GetAdminStreamActivityReportResponseObject, error) {
	days, err := daysOf(r.Params.Days)
	if err != nil {
		return nil, err
	}
	a, err := s.areas.Reports.GetStreamReport(ctx, days)
	if err != nil {
		return nil, err
	}
	return api.GetAdminStreamActivityReport200JSONResponse{
		From: timestamp.From(a.From), To: timestamp.From(a.To), Broadcasts: int(a.Broadcasts), MinutesLive: inMinutes(a.SecondsLive),
		MinutesWatched: inMinutes(a.SecondsWatched), PeakLiveStreams: int(a.PeakStreams), PeakViewers: int(a.PeakViewers),
		Days: each(a.Days, func(d report.StreamDay) api.StreamActivityDay {
			return api.StreamActivityDay{
				StartsAt: timestamp.From(d.Day), Broadcasts: int(d.Broadcasts), Streams: int(d.Streams), Tenants: int(d.Tenants),
				MinutesLive: inMinutes(d.Live), MinutesWatched: inMinutes(d.Watched), PeakLiveStreams: int(d.PeakStreams),
				PeakViewers: int(d.PeakViewers),
			}
		}),
	}, nil
}

// GetAdminTopTenantsReport returns the tenants with the most viewing.
func (s *Server) GetAdminTopTenantsReport(
	ctx context.Context, r api.GetAdminTopTenantsReportRequestObject,
) (api.GetAdminTopTenantsReportResponseObject, error) {
	limit, err := limitOf(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	top, err := s.areas.Reports.GetTopTenants(ctx, limit)
	if err != nil {
		return nil, err
	}
	paid, err := s.areas.Subscriptions.PaidOfTenants(ctx, each(top.Tenants, func(t report.TopTenant) string { return t.ID }), top.From)
	if err != nil {
		return nil, err
	}
	out := api.GetAdminTopTenantsReport200JSONResponse{From: timestamp.From(top.From), To: timestamp.From(top.To), Items: []api.TopTenant{}}
	for i, t := range top.Tenants {
		out.Items = append(out.Items, api.TopTenant{
			Rank: i + 1, TenantID: t.ID, TenantName: t.Name, Plan: api.PlanTier(t.Plan), Status: api.TenantStatus(t.Status),
			MinutesWatched: inMinutes(t.Watched), MinutesLive: inMinutes(t.Live), PeakViewers: int(t.PeakViewers),
			ParticipantMinutes: inMinutes(t.Participants), EgressBytes: t.EgressBytes, Paid: toCurrencyAmounts(paid[t.ID]),
		})
	}
	return out, nil
}

// GetAdminDevActivity returns how tenants use the API.
func (s *Server) GetAdminDevActivity(
	ctx context.Context, r api.GetAdminDevActivityRequestObject,
) (api.GetAdminDevActivityResponseObject, error) {
	days, err := daysOf(r.Params.Days)
	if err != nil {
		return nil, err
	}
	d, err := s.areas.Reports.GetDevelopers(ctx, days)
	if err != nil {
		return nil, err
	}
	return api.GetAdminDevActivity200JSONResponse{
		From: timestamp.From(d.From), To: timestamp.From(d.To), APICalls: d.All,
		ClientErrorPercent: float32(report.Percent(d.ClientErrors, d.All)), ServerErrorPercent: float32(report.Percent(d.ServerErrors, d.All)),
		ActiveTenants: int(d.ActiveTenants), ActiveKeys: int(d.ActiveKeys), NewKeys: int(d.NewKeys), NewWebhooks: int(d.NewWebhooks),
		Days: each(d.Days, func(d report.DeveloperDay) api.DevActivityDay {
			return api.DevActivityDay{
				StartsAt: timestamp.From(d.Day), APICalls: d.All, ClientErrors: d.ClientErrors, ServerErrors: d.ServerErrors,
				Tenants: int(d.Tenants), NewKeys: int(d.NewKeys),
			}
		}),
		Operations: each(d.Operations, func(o apicall.OperationCalls) api.OperationActivity {
			return api.OperationActivity{
				OperationID: o.Operation, Calls: o.All, ClientErrors: o.ClientErrors, ServerErrors: o.ServerErrors,
				MedianMs: inMilliseconds(o.Median), P95Ms: inMilliseconds(o.P95),
			}
		}),
		Tenants: each(d.Tenants, func(t report.CallingTenant) api.CallingTenant {
			return api.CallingTenant{
				TenantID: t.TenantID, TenantName: t.Name, Plan: api.PlanTier(t.Plan), Calls: t.All, ClientErrors: t.ClientErrors,
				Keys: int(t.Keys), LastCallAt: timestamp.From(t.LastAt),
			}
		}),
	}, nil
}

// inMilliseconds returns milliseconds with one decimal.
func inMilliseconds(d time.Duration) float32 { return float32(math.Round(float64(d)/1e5) / 10) }
