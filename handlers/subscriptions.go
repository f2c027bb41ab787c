package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/subscription"
)

// GetBillingStatus returns the tenant's plan and subscription.
func (s *Server) GetBillingStatus(ctx context.Context, _ api.GetBillingStatusRequestObject) (api.GetBillingStatusResponseObject, error) {
	st, err := s.areas.Subscriptions.GetBillingStatus(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	out := api.GetBillingStatus200JSONResponse{
		Plan: api.PlanTier(st.Tenant.Plan), TenantStatus: api.TenantStatus(st.Tenant.Status), LimitsEndAt: timeOrNull(st.LimitsEndAt),
		Subscription: nullable.NewNullNullable[api.TenantSubscription](), LatestInvoice: nullable.NewNullNullable[api.TenantInvoice](),
	}
	for _, l := range st.Over {
		out.OverLimits = append(out.OverLimits, api.OverLimit{Limit: string(l.Limit), Value: l.Value, Have: l.Have})
	}
	if st.Subscription != nil {
		out.Subscription.Set(toTenantSubscription(*st.Subscription))
	}
	if st.Invoice != nil {
		shown, err := toTenantInvoice(*st.Invoice)
		if err != nil {
			return nil, err
		}
		out.LatestInvoice.Set(shown)
	}
	return out, nil
}

// CreateBillingCheckout creates a page on which the tenant books a plan.
func (s *Server) CreateBillingCheckout(
	ctx context.Context, r api.CreateBillingCheckoutRequestObject,
) (api.CreateBillingCheckoutResponseObject, error) {
	page, err := s.areas.Subscriptions.CreateBillingCheckout(ctx, request.Caller(ctx), subscription.Booking{
		Plan: string(r.Body.Plan), Interval: string(valueOr(r.Body.Interval, subscription.Month)),
		SuccessURL: r.Body.SuccessURL, CancelURL: r.Body.CancelURL,
	})
	if err != nil {
		return nil, err
	}
	return api.CreateBillingCheckout201JSONResponse{URL: page.URL, SessionID: page.ID, ExpiresAt: timestamp.From(page.ExpiresAt)}, nil
}

// CreateBillingPortal creates a page with the tenant's invoices and payment methods.
func (s *Server) CreateBillingPortal(
	ctx context.Context, r api.CreateBillingPortalRequestObject,
) (api.CreateBillingPortalResponseObject, error) {
	url, err := s.areas.Subscriptions.CreateBillingPortal(ctx, request.Caller(ctx), r.Body.ReturnURL)
	if err != nil {
		return nil, err
	}
	return api.CreateBillingPortal201JSONResponse{URL: url}, nil
}

// UpdateSubscription changes, cancels or resumes the tenant's subscription.
func (s *Server) UpdateSubscription(
	ctx context.Context, r api.UpdateSubscriptionRequestObject,
) (api.UpdateSubscriptionResponseObject, error) {
	row, err := s.areas.Subscriptions.UpdateSubscription(ctx, request.Caller(ctx), subscription.Update{
		Plan: (*string)(r.Body.Plan), Interval: (*string)(r.Body.Interval), CancelAtPeriodEnd: r.Body.CancelAtPeriodEnd,
	})
	if err != nil {
		return nil, err
	}
	return api.UpdateSubscription200JSONResponse(toTenantSubscription(row)), nil
}

// ListBillingPlans lists the plans that the tenant can book.
func (s *Server) ListBillingPlans(ctx context.Context, _ api.ListBillingPlansRequestObject) (api.ListBillingPlansResponseObject, error) {
	offers, err := s.areas.Subscriptions.ListBillingPlans(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.ListBillingPlans200JSONResponse(each(offers, toBillingPlan)), nil
}

func toBillingPlan(o subscription.Offer) api.BillingPlan {
	return api.BillingPlan{
		Plan: api.PlanTier(o.Tier), Name: o.Name, Description: o.Description,
		PriceCents: o.PriceCents, YearlyPriceCents: orNull(o.YearlyPriceCents),
		Currency: strings.ToLower(o.Currency), TrialDays: o.Trial, Limits: toPlanLimits(o.Plan), Allowances: each(o.Allowances, toPlanAllowance),
	}
}

// ListBillingInvoices lists the tenant's invoices.
func (s *Server) ListBillingInvoices(
	ctx context.Context, r api.ListBillingInvoicesRequestObject,
) (api.ListBillingInvoicesResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Invoice)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Subscriptions.ListBillingInvoices(ctx, request.Caller(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(i db.Invoice) string { return i.ID })
	out := api.ListBillingInvoices200JSONResponse{
		Body: api.TenantInvoiceList{}, Headers: api.ListBillingInvoices200ResponseHeaders{Link: link},
	}
	for _, row := range rows {
		shown, err := toTenantInvoice(row)
		if err != nil {
			return nil, err
		}
		out.Body = append(out.Body, shown)
	}
	return out, nil
}

func toTenantSubscription(s db.Subscription) api.TenantSubscription {
	out := api.TenantSubscription{
		ID: s.ID, Plan: api.PlanTier(s.Plan), Status: api.SubscriptionStatus(s.Status), Interval: api.BillingInterval(s.BillingInterval),
		PriceCents: s.PriceCents, Currency: strings.ToLower(s.Currency), TrialEndsAt: timeOrNull(s.TrialEndsAt),
		CurrentPeriodStart: timestamp.From(s.PeriodStart), CurrentPeriodEnd: timestamp.From(s.PeriodEnd),
		CancelAtPeriodEnd: s.CancelAtPeriodEnd, CanceledAt: timeOrNull(s.CanceledAt), Collection: new(api.CollectionMethod(s.Collection)),
		PaymentURL: orNull(s.PaymentURL), PendingChange: nullable.NewNullNullable[api.PendingSubscriptionChange](),
	}
	if s.PendingPlan != nil && s.PendingInterval != nil && s.PendingAt != nil {
		out.PendingChange.Set(api.PendingSubscriptionChange{
			Plan: api.PlanTier(*s.PendingPlan), Interval: api.BillingInterval(*s.PendingInterval), At: timestamp.From(*s.PendingAt),
		})
	}
	return out
}

func toTenantInvoice(i db.Invoice) (api.TenantInvoice, error) {
	out := api.TenantInvoice{
		ID: i.ID, Number: orNull(i.Number), Status: api.InvoiceStatus(i.Status), TotalCents: i.TotalCents, PaidCents: i.PaidCents,
		Currency: strings.ToLower(i.Currency), HostedInvoiceURL: orNull(i.HostedURL), DueAt: timeOrNull(i.DueAt),
		PaidAt:    timeOrNull(i.PaidAt),
		CreatedAt: timestamp.From(i.CreatedAt), SubtotalCents: &i.SubtotalCents, TaxCents: &i.TaxCents, PdfURL: orNull(i.PdfURL),
	}
	if err := json.Unmarshal(i.Lines, &out.Lines); err != nil {
		return out, fmt.Errorf("read lines of invoice %s: %w", i.ID, err)
	}
	return out, nil
}
