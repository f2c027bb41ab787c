package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/analytics"
)

// GetOverview returns the key figures of the caller's tenant.
func (s *Server) GetOverview(ctx context.Context, _ api.GetOverviewRequestObject) (api.GetOverviewResponseObject, error) {
	o, err := s.areas.Analytics.GetOverview(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.GetOverview200JSONResponse{
		Plan: api.PlanTier(o.Plan), Status: api.TenantStatus(o.Status),
		Streams: int(o.Streams), LiveStreams: int(o.LiveStreams), ViewersNow: int(o.Viewers),
		Sessions: int(o.Today.Sessions), LiveSessions: int(o.LiveSessions),
		OrdersToday: int(o.Today.Orders), RevenueToday: each(o.Today.Revenue, toRevenue),
		WebhookEndpoints: int(o.Endpoints), WebhooksFailing: int(o.Failing), TeamSize: int(o.Users),
		GeneratedAt: timestamp.From(o.At),
	}, nil
}

// GetAnalytics returns the tenant's figures over time.
func (s *Server) GetAnalytics(ctx context.Context, r api.GetAnalyticsRequestObject) (api.GetAnalyticsResponseObject, error) {
	interval := analytics.Day
	if r.Params.Interval != nil {
		interval = analytics.Interval(*r.Params.Interval)
	}
	series, err := s.areas.Analytics.GetAnalytics(ctx, request.Caller(ctx), instant(r.Params.From), instant(r.Params.To), interval)
	if err != nil {
		return nil, err
	}
	return api.GetAnalytics200JSONResponse{
		From: timestamp.From(series.From), To: timestamp.From(series.To), Interval: api.AnalyticsInterval(series.Interval),
		Points: each(series.Points, toAnalyticsPoint),
	}, nil
}

func toAnalyticsPoint(p analytics.Point) api.AnalyticsPoint {
	return api.AnalyticsPoint{
		StartsAt: timestamp.From(p.StartsAt), Viewers: int(p.PeakViewers),
		MinutesWatched: int(p.WatchedMinutes), MinutesLive: int(p.OnAir),
		Sessions: int(p.Sessions), Orders: int(p.Orders), Revenue: each(p.Revenue, toRevenue),
	}
}

func toRevenue(r analytics.Revenue) api.Revenue {
	return api.Revenue{Currency: r.Currency, TotalCents: r.TotalCents}
}
