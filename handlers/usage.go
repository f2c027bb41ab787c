package handlers

import (
	"context"
	"strings"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy/usage"
)

// GetBillingUsage returns the usage of the caller's tenant in this period.
func (s *Server) GetBillingUsage(ctx context.Context, _ api.GetBillingUsageRequestObject) (api.GetBillingUsageResponseObject, error) {
	tenantID := request.Caller(ctx).TenantID
	p, err := s.areas.Usage.GetUsage(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	spending, err := s.areas.Overage.GetSpending(ctx, tenantID, p)
	if err != nil {
		return nil, err
	}
	return api.GetBillingUsage200JSONResponse{
		Plan: api.PlanTier(p.Plan), PeriodStart: timestamp.From(p.From), PeriodEnd: timestamp.From(p.To), Meters: each(p.Readings, toMeterUsage),
		Spending: &api.Spending{
			Available: spending.Available, Currency: strings.ToLower(spending.Currency), OverageCents: spending.Cents,
			CapCents: orNull(spending.Cap.Cents), ReachedPercent: spending.ReachedPercent(),
		},
	}, nil
}

// GetAdminUsage returns the usage of the tenants with the highest usage.
func (s *Server) GetAdminUsage(ctx context.Context, r api.GetAdminUsageRequestObject) (api.GetAdminUsageResponseObject, error) {
	limit := defaultAdminPage
	if err := readNumber("limit", r.Params.Limit, maxAdminPage, &limit); err != nil {
		return nil, err
	}
	top, err := s.areas.Usage.ListTopUsage(ctx, limit)
	if err != nil {
		return nil, err
	}
	return api.GetAdminUsage200JSONResponse{
		From: timestamp.From(top.From), To: timestamp.From(top.To), Items: each(top.Tenants, toOperationsUsageRow),
	}, nil
}

func toMeterUsage(r usage.Reading) api.MeterUsage {
	m := api.MeterUsage{Meter: api.UsageMeter(r.Meter), Used: r.Used, Included: orNull(r.Included)}
	if r.Included != nil {
		m.Overage, m.ReachedPercent = new(api.PlanOverage(r.Overage)), new(r.ReachedPercent())
		if r.Overage == usage.Charge {
			m.OverageCents = new(r.OverageCents())
		}
	}
	return m
}

func toOperationsUsageRow(t usage.TenantUsage) api.OperationsUsageRow {
	return api.OperationsUsageRow{
		TenantID: t.ID, TenantName: t.Name, Plan: api.PlanTier(t.Plan), Status: api.TenantStatus(t.Status),
		Meters: each(t.Readings, toMeterUsage),
	}
}
