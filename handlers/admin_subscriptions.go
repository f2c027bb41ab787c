package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/console"
)

// ListAdminSubscriptions lists all tenants' subscriptions.
func (s *Server) ListAdminSubscriptions(
	ctx context.Context, r api.ListAdminSubscriptionsRequestObject,
) (api.ListAdminSubscriptionsResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	status, err := oneOf("status", r.Params.Status, subscription.Statuses())
	if err != nil {
		return nil, err
	}
	rows, total, err := s.areas.Subscriptions.ListSubscriptions(ctx, status, rowsOf(page))
	if err != nil {
		return nil, err
	}
	return api.ListAdminSubscriptions200JSONResponse{
		Items: each(rows, toAdminSubscription), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// rowsOf converts a page.
func rowsOf(p console.Page) subscription.Page {
	return subscription.Page{Size: p.Size, Skip: (p.Number - 1) * p.Size}
}

// PauseSubscription pauses a subscription.
func (s *Server) PauseSubscription(ctx context.Context, r api.PauseSubscriptionRequestObject) (api.PauseSubscriptionResponseObject, error) {
	row, err := s.areas.Subscriptions.PauseSubscription(ctx, request.Admin(ctx).Actor(), r.ID)
	if err != nil {
		return nil, err
	}
	return api.PauseSubscription201JSONResponse(toAdminSubscription(row)), nil
}

// ResumeSubscription continues a subscription.
func (s *Server) ResumeSubscription(
	ctx context.Context, r api.ResumeSubscriptionRequestObject,
) (api.ResumeSubscriptionResponseObject, error) {
	row, err := s.areas.Subscriptions.ResumeSubscription(ctx, request.Admin(ctx).Actor(), r.ID)
	if err != nil {
		return nil, err
	}
	return api.ResumeSubscription201JSONResponse(toAdminSubscription(row)), nil
}

// CancelSubscription ends a subscription.
func (s *Server) CancelSubscription(
	ctx context.Context, r api.CancelSubscriptionRequestObject,
) (api.CancelSubscriptionResponseObject, error) {
	row, err := s.areas.Subscriptions.CancelSubscription(ctx, request.Admin(ctx).Actor(), r.ID)
	if err != nil {
		return nil, err
	}
	return api.CancelSubscription201JSONResponse(toAdminSubscription(row)), nil
}

// ExtendSubscriptionTrial postpones the end of a trial.
func (s *Server) ExtendSubscriptionTrial(
	ctx context.Context, r api.ExtendSubscriptionTrialRequestObject,
) (api.ExtendSubscriptionTrialResponseObject, error) {
	row, err := s.areas.Subscriptions.ExtendTrial(ctx, request.Admin(ctx).Actor(), r.ID, r.Body.Days, orEmpty(r.Body.Reason))
	if err != nil {
		return nil, err
	}
	return api.ExtendSubscriptionTrial201JSONResponse(toAdminSubscription(row)), nil
}

// ListAdminInvoices lists all tenants' invoices.
func (s *Server) ListAdminInvoices(ctx context.Context, r api.ListAdminInvoicesRequestObject) (api.ListAdminInvoicesResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	status, err := oneOf("status", r.Params.Status, subscription.InvoiceStatuses())
	if err != nil {
		return nil, err
	}
	rows, total, err := s.areas.Subscriptions.ListInvoices(ctx, status, given(r.Params.TenantID), rowsOf(page))
	if err != nil {
		return nil, err
	}
	items := make([]api.AdminInvoice, len(rows))
	for i, row := range rows {
		if items[i], err = toAdminInvoice(row); err != nil {
			return nil, err
		}
	}
	return api.ListAdminInvoices200JSONResponse{Items: items, Page: page.Number, PageSize: page.Size, Total: int(total)}, nil
}

// GetAdminBillingOverview returns the tenants' payments and open amounts.
func (s *Server) GetAdminBillingOverview(
	ctx context.Context, _ api.GetAdminBillingOverviewRequestObject,
) (api.GetAdminBillingOverviewResponseObject, error) {
	o, err := s.areas.Subscriptions.GetOverview(ctx)
	if err != nil {
		return nil, err
	}
	n := o.Subscriptions
	counts := api.SubscriptionStatusCounts{
		Trialing: int(n[subscription.Trialing]), Active: int(n[subscription.Active]), PastDue: int(n[subscription.PastDue]),
		Paused: int(n[subscription.Paused]), Canceled: int(n[subscription.Canceled]), Incomplete: int(n[subscription.Incomplete]),
		Unpaid: int(n[subscription.Unpaid]),
	}
	for _, count := range n {
		counts.Total += int(count)
	}
	return api.GetAdminBillingOverview200JSONResponse{
		At: timestamp.From(o.At), Subscriptions: counts, MonthlyRecurring: toCurrencyAmounts(o.MonthlyRecurring),
		YearlyRecurring:  toCurrencyAmounts(o.MonthlyRecurring.Times(12)),
		TrialsEndingSoon: int(o.TrialsEndingSoon), Canceling: int(o.Canceling), OpenInvoices: int(o.OpenInvoices),
		OverdueInvoices: int(o.OverdueInvoices), Open: toCurrencyAmounts(o.Open), Overdue: toCurrencyAmounts(o.Overdue),
		PaidThisMonth: toCurrencyAmounts(o.PaidThisMonth), RefundedThisMonth: toCurrencyAmounts(o.RefundedThisMonth),
		FailedPayments: int(o.FailedPayments), ChurnPercent: float32(o.ChurnPercent),
	}, nil
}

// GetAdminRevenue returns the platform's revenue by month.
func (s *Server) GetAdminRevenue(ctx context.Context, _ api.GetAdminRevenueRequestObject) (api.GetAdminRevenueResponseObject, error) {
	r, err := s.areas.Subscriptions.GetRevenue(ctx)
	if err != nil {
		return nil, err
	}
	return api.GetAdminRevenue200JSONResponse{
		Wired: r.Wired, At: timestamp.From(r.At), MonthlyRecurring: toCurrencyAmounts(r.MonthlyRecurring),
		YearlyRecurring: new(toCurrencyAmounts(r.MonthlyRecurring.Times(12))), Months: each(r.Months, toRevenueMonth),
	}, nil
}

func toRevenueMonth(m subscription.RevenueMonth) api.RevenueMonth {
	return api.RevenueMonth{
		StartsAt: timestamp.From(m.Start), Subscriptions: toCurrencyAmounts(m.Payments), PlatformFees: toCurrencyAmounts(m.Fees),
		Refunds: toCurrencyAmounts(m.Refunds), MonthlyRecurring: new(toCurrencyAmounts(m.Recurring)),
		NewRecurring: new(toCurrencyAmounts(m.New)), ReactivatedRecurring: new(toCurrencyAmounts(m.Reactivated)),
		ExpandedRecurring: new(toCurrencyAmounts(m.Expanded)), ContractedRecurring: new(toCurrencyAmounts(m.Contracted)),
		ChurnedRecurring: new(toCurrencyAmounts(m.Churned)),
	}
}

func toCurrencyAmounts(a subscription.Amounts) api.CurrencyAmounts {
	list := api.CurrencyAmounts{}
	for _, currency := range a.Currencies() {
		list = append(list, api.CurrencyAmount{Currency: strings.ToLower(currency), AmountCents: a[currency]})
	}
	return list
}

func toAdminSubscription(row subscription.Summary) api.AdminSubscription {
	s := row.Subscription
	return api.AdminSubscription{
		ID: s.ID, TenantID: s.TenantID, TenantName: row.TenantName, PlanID: row.PlanID, Plan: api.PlanTier(s.Plan),
		Status: api.SubscriptionStatus(s.Status), Interval: api.BillingInterval(s.BillingInterval), PriceCents: s.PriceCents,
		Currency: strings.ToLower(s.Currency), TrialEndsAt: timeOrNull(s.TrialEndsAt), CurrentPeriodStart: timestamp.From(s.PeriodStart),
		CurrentPeriodEnd: timestamp.From(s.PeriodEnd), CancelAtPeriodEnd: s.CancelAtPeriodEnd, CanceledAt: timeOrNull(s.CanceledAt),
		PausedAt: timeOrNull(s.PausedAt), ProcessorCustomerID: orNull(row.ProcessorCustomerID),
		ProcessorSubscriptionID: orNull(s.ProcessorSubscriptionID),
		CreatedAt:               timestamp.From(s.CreatedAt), UpdatedAt: timestamp.From(s.UpdatedAt),
	}
}

func toAdminInvoice(row db.ListPlatformInvoicesRow) (api.AdminInvoice, error) {
	i := row.Invoice
	out := api.AdminInvoice{
		ID: i.ID, Number: orNull(i.Number), TenantID: i.TenantID, TenantName: row.TenantName, SubscriptionID: orNull(i.SubscriptionID),
		Status: api.InvoiceStatus(i.Status), Currency: strings.ToLower(i.Currency), SubtotalCents: i.SubtotalCents, TaxCents: i.TaxCents,
		TotalCents: i.TotalCents, PaidCents: i.PaidCents, DueCents: i.DueCents, PeriodStart: timestamp.From(i.PeriodStart),
		PeriodEnd: timestamp.From(i.PeriodEnd), DueAt: timeOrNull(i.DueAt), PaidAt: timeOrNull(i.PaidAt), VoidedAt: timeOrNull(i.VoidedAt),
		HostedInvoiceURL: orNull(i.HostedURL), ProcessorInvoiceID: orNull(&i.ProcessorInvoiceID),
		CreatedAt: timestamp.From(i.CreatedAt), UpdatedAt: timestamp.From(i.UpdatedAt), PdfURL: orNull(i.PdfURL),
	}
	if err := json.Unmarshal(i.Lines, &out.Lines); err != nil {
		return out, fmt.Errorf("read lines of invoice %s: %w", i.ID, err)
	}
	return out, nil
}
