package handlers

import (
	"context"
	"math"
	"strings"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
)

// ListAdminPlans lists the plans.
func (s *Server) ListAdminPlans(ctx context.Context, r api.ListAdminPlansRequestObject) (api.ListAdminPlansResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	plans, total, err := s.areas.Console.ListAdminPlans(ctx, page)
	if err != nil {
		return nil, err
	}
	return api.ListAdminPlans200JSONResponse{
		Items: each(plans, toAdminPlan), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// GetAdminPlan returns one plan.
func (s *Server) GetAdminPlan(ctx context.Context, r api.GetAdminPlanRequestObject) (api.GetAdminPlanResponseObject, error) {
	p, err := s.areas.Console.GetAdminPlan(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	tag, err := p.ETag()
	return api.GetAdminPlan200JSONResponse{Body: toAdminPlan(p), Headers: api.GetAdminPlan200ResponseHeaders{ETag: &tag}}, err
}

// UpdateAdminPlan changes a plan.
func (s *Server) UpdateAdminPlan(ctx context.Context, r api.UpdateAdminPlanRequestObject) (api.UpdateAdminPlanResponseObject, error) {
	patch := toPlanPatch(*r.Body)
	patch.IfMatch = r.Params.IfMatch
	p, err := s.areas.Console.UpdateAdminPlan(ctx, request.Admin(ctx), r.ID, patch)
	if err != nil {
		return nil, err
	}
	tag, err := p.ETag()
	return api.UpdateAdminPlan200JSONResponse{Body: toAdminPlan(p), Headers: api.UpdateAdminPlan200ResponseHeaders{ETag: &tag}}, err
}

// ActivateAdminPlan lets tenants book a plan.
func (s *Server) ActivateAdminPlan(ctx context.Context, r api.ActivateAdminPlanRequestObject) (api.ActivateAdminPlanResponseObject, error) {
	p, err := s.areas.Console.ActivateAdminPlan(ctx, request.Admin(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.ActivateAdminPlan201JSONResponse(toAdminPlan(p)), nil
}

// DeactivateAdminPlan ends that tenants can book a plan.
func (s *Server) DeactivateAdminPlan(
	ctx context.Context, r api.DeactivateAdminPlanRequestObject,
) (api.DeactivateAdminPlanResponseObject, error) {
	p, err := s.areas.Console.DeactivateAdminPlan(ctx, request.Admin(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DeactivateAdminPlan201JSONResponse(toAdminPlan(p)), nil
}

// GetAdminPlanDistribution returns the tenants by plan.
func (s *Server) GetAdminPlanDistribution(
	ctx context.Context, _ api.GetAdminPlanDistributionRequestObject,
) (api.GetAdminPlanDistributionResponseObject, error) {
	d, err := s.areas.Console.GetAdminPlanDistribution(ctx)
	if err != nil {
		return nil, err
	}
	return api.GetAdminPlanDistribution200JSONResponse{
		At: timestamp.From(d.At), Total: int(d.Total),
		Plans: each(d.Plans, func(p console.PlanShare) api.PlanShare {
			return api.PlanShare{Plan: api.PlanTier(p.Tier), Tenants: int(p.Tenants), Percent: float32(p.Percent)}
		}),
	}, nil
}

// GetAdminPlanMixReport returns the share of each plan, with its revenue and usage.
func (s *Server) GetAdminPlanMixReport(
	ctx context.Context, _ api.GetAdminPlanMixReportRequestObject,
) (api.GetAdminPlanMixReportResponseObject, error) {
	mix, err := s.areas.Console.GetPlanMix(ctx)
	if err != nil {
		return nil, err
	}
	recurring, err := s.areas.Subscriptions.RecurringByPlan(ctx)
	if err != nil {
		return nil, err
	}
	out := api.GetAdminPlanMixReport200JSONResponse{At: timestamp.From(mix.At)}
	for _, e := range mix.Plans {
		out.Plans = append(out.Plans, api.PlanMixEntry{
			Plan: api.PlanTier(e.Tier), Percent: float32(e.Percent), MonthlyRecurring: toCurrencyAmounts(recurring[e.Tier]),
			MinutesLive: inMinutes(e.SecondsLive), MinutesWatched: inMinutes(e.SecondsWatched),
			Tenants: api.TenantStatusCounts{
				Total: int(e.Total()), Trial: int(e.Tenants[tenancy.Trial]), Active: int(e.Tenants[tenancy.Active]),
				PastDue: int(e.Tenants[tenancy.PastDue]), Suspended: int(e.Tenants[tenancy.Suspended]), Cancelled: int(e.Tenants[tenancy.Cancelled]),
			},
		})
	}
	return out, nil
}

// inMinutes returns minutes with one decimal.
func inMinutes(seconds int64) float32 { return float32(math.Round(float64(seconds)/6) / 10) }

func toPlanPatch(b api.AdminPlanPatch) console.PlanPatch {
	patch := console.PlanPatch{Reason: orEmpty(b.Reason), Apply: func(p *db.Plan) {
		p.Name, p.Description = valueOr(b.Name, p.Name), valueOr(b.Description, p.Description)
		p.PriceCents, p.TrialDays = valueOr(b.PriceCents, p.PriceCents), valueOr(small(b.TrialDays), p.TrialDays)
		replace(&p.YearlyPriceCents, b.YearlyPriceCents, func(n int64) *int64 { return new(n) })
		if b.Limits != nil {
			applyLimits(p, *b.Limits)
		}
	}}
	if b.Allowances != nil {
		patch.Allowances = new(each(*b.Allowances, toAllowanceRow))
	}
	return patch
}

// applyLimits replaces a plan's limits. Null removes a limit; an absent one keeps its value.
func applyLimits(p *db.Plan, l api.PlanLimits) {
	for _, f := range []struct {
		limit *(*int32)
		given nullable.Nullable[int]
	}{
		{&p.MaxUsers, l.MaxUsers}, {&p.MaxAPIKeys, l.MaxAPIKeys}, {&p.MaxLiveStreams, l.MaxLiveStreams}, {&p.MaxViewers, l.MaxViewers},
		{&p.MaxSessionCapacity, l.MaxSessionCapacity}, {&p.MaxWebhookEndpoints, l.MaxWebhookEndpoints},
		{&p.MaxRestreamTargets, l.MaxRestreamTargets}, {&p.RecordingRetentionDays, l.RecordingRetentionDays},
		{&p.MaxProcessorCalls, l.MaxProcessorCalls},
	} {
		replace(f.limit, f.given, func(n int) *int32 { return small(&n) })
	}
	replace(&p.MaxCaptureBytes, l.MaxCaptureBytes, func(n int64) *int64 { return new(n) })
	replace(&p.MaxWrittenBytes, l.MaxWrittenBytes, func(n int64) *int64 { return new(n) })
}

func toAllowanceRow(a api.PlanAllowance) db.PlanAllowance {
	return db.PlanAllowance{
		Meter: string(a.Meter), Included: a.Included, Overage: string(valueOr(a.Overage, usage.Allow)),
		OveragePriceCents: a.OveragePriceCents, OverageUnits: a.OverageUnits,
	}
}

func toAdminPlan(p console.Plan) api.AdminPlan {
	return api.AdminPlan{
		ID: p.ID, Tier: api.PlanTier(p.Tier), Name: p.Name, Description: p.Description, PriceCents: p.PriceCents,
		YearlyPriceCents: orNull(p.YearlyPriceCents), Currency: strings.ToLower(p.Currency), TrialDays: int(p.TrialDays), Active: p.Active,
		SubscriberCount: int(p.Tenants), ProcessorProductID: orNull(p.ProcessorProductID),
		Limits:     toPlanLimits(p.Plan),
		Allowances: each(p.Allowances, toPlanAllowance), CreatedAt: timestamp.From(p.CreatedAt), UpdatedAt: timestamp.From(p.UpdatedAt),
	}
}

func toPlanLimits(p db.Plan) api.PlanLimits {
	return api.PlanLimits{
		MaxUsers: intOrNull(p.MaxUsers), MaxAPIKeys: intOrNull(p.MaxAPIKeys), MaxLiveStreams: intOrNull(p.MaxLiveStreams),
		MaxViewers: intOrNull(p.MaxViewers), MaxSessionCapacity: intOrNull(p.MaxSessionCapacity),
		MaxWebhookEndpoints: intOrNull(p.MaxWebhookEndpoints), MaxRestreamTargets: intOrNull(p.MaxRestreamTargets),
		RecordingRetentionDays: intOrNull(p.RecordingRetentionDays), MaxProcessorCalls: intOrNull(p.MaxProcessorCalls),
		MaxCaptureBytes: orNull(p.MaxCaptureBytes), MaxWrittenBytes: orNull(p.MaxWrittenBytes),
	}
}

func toPlanAllowance(a db.PlanAllowance) api.PlanAllowance {
	return api.PlanAllowance{
		Meter: api.UsageMeter(a.Meter), Included: a.Included, Overage: new(api.PlanOverage(a.Overage)),
		OveragePriceCents: a.OveragePriceCents, OverageUnits: a.OverageUnits,
	}
}
