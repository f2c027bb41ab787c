package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/console"
)

// ListTenants lists the platform's customers.
func (s *Server) ListTenants(ctx context.Context, r api.ListTenantsRequestObject) (api.ListTenantsResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	filter := console.TenantFilter{Q: given(r.Params.Q), Status: given(r.Params.Status), Plan: given(r.Params.Plan)}
	rows, total, err := s.areas.Console.ListTenants(ctx, filter, page)
	if err != nil {
		return nil, err
	}
	return api.ListTenants200JSONResponse{
		Items: each(rows, toTenantSummary), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// GetTenantDetail returns one tenant.
func (s *Server) GetTenantDetail(ctx context.Context, r api.GetTenantDetailRequestObject) (api.GetTenantDetailResponseObject, error) {
	d, err := s.areas.Console.GetTenantDetail(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	out := api.GetTenantDetail200JSONResponse{
		Tenant: toTenantSummary(d.Tenant), Users: each(d.Users, toUserOfMember), Keys: each(d.Keys, toAPIKey),
		RecentStreams: each(d.Streams, toStream),
	}
	out.Audit, err = toAuditEntries(d.Audit)
	return out, err
}

// SuspendTenant suspends a tenant.
func (s *Server) SuspendTenant(ctx context.Context, r api.SuspendTenantRequestObject) (api.SuspendTenantResponseObject, error) {
	tenant, err := s.areas.Console.SuspendTenant(ctx, request.Admin(ctx), r.ID, r.Body.Reason)
	if err != nil {
		return nil, err
	}
	return api.SuspendTenant201JSONResponse(toTenantSummary(tenant)), nil
}

// UnsuspendTenant ends the suspension of a tenant.
func (s *Server) UnsuspendTenant(ctx context.Context, r api.UnsuspendTenantRequestObject) (api.UnsuspendTenantResponseObject, error) {
	tenant, err := s.areas.Console.UnsuspendTenant(ctx, request.Admin(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.UnsuspendTenant201JSONResponse(toTenantSummary(tenant)), nil
}

// ChangeTenantPlan changes a tenant's plan.
func (s *Server) ChangeTenantPlan(ctx context.Context, r api.ChangeTenantPlanRequestObject) (api.ChangeTenantPlanResponseObject, error) {
	err := s.areas.Subscriptions.ChangeTenantPlan(ctx, request.Admin(ctx).Actor(), r.ID, subscription.PlanChange{
		Plan: string(r.Body.Plan), PriceCents: r.Body.PriceCents, Interval: (*string)(r.Body.Interval),
		DaysUntilDue: valueOr(r.Body.DaysUntilDue, subscription.DaysUntilDue), Reason: orEmpty(r.Body.Reason),
	})
	if err != nil {
		return nil, err
	}
	tenant, err := s.areas.Console.GetTenant(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return api.ChangeTenantPlan200JSONResponse(toTenantSummary(tenant)), nil
}

func toTenantSummary(t console.Tenant) api.TenantSummary {
	return api.TenantSummary{
		ID: t.ID, Name: t.Name, Status: api.TenantStatus(t.Status), Plan: api.PlanTier(t.Plan), ChargesEnabled: t.ChargesEnabled,
		SuspendedAt: timeOrNull(t.SuspendedAt), SuspensionReason: orNull(t.SuspensionReason),
		UserCount: int(t.Users), LiveStreamCount: int(t.LiveStreams),
		CreatedAt: timestamp.From(t.CreatedAt), UpdatedAt: timestamp.From(t.UpdatedAt),
	}
}
