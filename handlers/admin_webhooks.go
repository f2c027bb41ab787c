package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/report"
	"showfloor/internal/outflow/webhook"
)

// GetAdminWebhookSummary returns the figures of all deliveries.
func (s *Server) GetAdminWebhookSummary(
	ctx context.Context, _ api.GetAdminWebhookSummaryRequestObject,
) (api.GetAdminWebhookSummaryResponseObject, error) {
	sum, err := s.areas.Webhooks.GetSummary(ctx)
	if err != nil {
		return nil, err
	}
	total, err := s.areas.Reports.CountSince(ctx, report.Deliveries, sum.At.Add(-lastDay))
	if err != nil {
		return nil, err
	}
	open := sum.Pending + sum.Retrying + sum.Failed
	out := api.GetAdminWebhookSummary200JSONResponse{
		At: timestamp.From(sum.At), ActiveEndpoints: int(sum.Active), DisabledEndpoints: int(sum.Disabled),
		Deliveries: api.DeliveryStatusCounts{
			Total: int(max(total, open)), Pending: int(sum.Pending), Retrying: int(sum.Retrying), Failed: int(sum.Failed),
			Delivered: int(max(total-open, 0)),
		},
		SuccessPercent: nullable.NewNullNullable[float32](), MedianMs: nullable.NewNullNullable[float32](),
		P95Ms:       nullable.NewNullNullable[float32](),
		OldestDueAt: timeOrNull(sum.OldestDueAt),
		Failing: each(sum.Failing, func(f webhook.FailingEndpoint) api.FailingEndpoint {
			return api.FailingEndpoint{
				EndpointID: f.ID, TenantID: f.TenantID, TenantName: f.TenantName, URL: webhook.MaskURL(f.URL),
				Status:         api.WebhookEndpointStatus(f.Status),
				FailedAttempts: int(f.FailedAttempts), LastError: orNull(f.LastError), LastSuccessAt: timeOrNull(f.LastSuccessAt),
			}
		}),
	}
	if sum.Attempts > 0 {
		out.SuccessPercent.Set(float32(report.Percent(sum.Attempts-sum.FailedAttempts, sum.Attempts)))
		out.MedianMs.Set(inMilliseconds(sum.Took.Quantile(.5)))
		out.P95Ms.Set(inMilliseconds(sum.Took.Quantile(.95)))
	}
	return out, nil
}

// ListAdminWebhookEndpoints lists the endpoints of all tenants.
func (s *Server) ListAdminWebhookEndpoints(
	ctx context.Context, r api.ListAdminWebhookEndpointsRequestObject,
) (api.ListAdminWebhookEndpointsResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	rows, total, err := s.areas.Webhooks.ListPlatformEndpoints(ctx, given(r.Params.TenantID), webhook.Page(rowsOf(page)))
	if err != nil {
		return nil, err
	}
	return api.ListAdminWebhookEndpoints200JSONResponse{
		Items: each(rows, toAdminWebhookEndpoint), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

func toAdminWebhookEndpoint(e webhook.PlatformEndpoint) api.AdminWebhookEndpoint {
	shown := toWebhookEndpoint(e.WebhookEndpoint)
	return api.AdminWebhookEndpoint{
		ID: e.ID, TenantID: e.TenantID, TenantName: e.TenantName, URL: webhook.MaskURL(e.URL), Events: shown.Events, Status: shown.Status,
		DisabledReason: shown.DisabledReason, FailingSince: shown.FailingSince, Deliveries: int(e.Deliveries), FailedDeliveries: int(e.Failed),
		LastSuccessAt: timeOrNull(e.LastSuccessAt), CreatedAt: shown.CreatedAt, UpdatedAt: shown.UpdatedAt,
	}
}

// ListAdminWebhookDeliveries lists the deliveries of an endpoint.
func (s *Server) ListAdminWebhookDeliveries(
	ctx context.Context, r api.ListAdminWebhookDeliveriesRequestObject,
) (api.ListAdminWebhookDeliveriesResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	rows, total, err := s.areas.Webhooks.ListEndpointDeliveries(ctx, r.ID, webhook.Page(rowsOf(page)))
	if err != nil {
		return nil, err
	}
	items := make([]api.WebhookDelivery, len(rows))
	for i, row := range rows {
		if items[i], err = toWebhookDelivery(row); err != nil {
			return nil, err
		}
	}
	return api.ListAdminWebhookDeliveries200JSONResponse{Items: items, Page: page.Number, PageSize: page.Size, Total: int(total)}, nil
}

// RetryAdminWebhookDelivery makes another attempt of any tenant's delivery due.
func (s *Server) RetryAdminWebhookDelivery(
	ctx context.Context, r api.RetryAdminWebhookDeliveryRequestObject,
) (api.RetryAdminWebhookDeliveryResponseObject, error) {
	row, err := s.areas.Webhooks.RetryAnyDelivery(ctx, request.Admin(ctx).Actor(), r.ID)
	if err != nil {
		return nil, err
	}
	d, err := toWebhookDelivery(row)
	if err != nil {
		return nil, err
	}
	return api.RetryAdminWebhookDelivery201JSONResponse(d), nil
}

// ListAdminRecentDeliveries lists the latest deliveries of all tenants.
func (s *Server) ListAdminRecentDeliveries(
	ctx context.Context, r api.ListAdminRecentDeliveriesRequestObject,
) (api.ListAdminRecentDeliveriesResponseObject, error) {
	status, err := oneOf("status", r.Params.Status, webhook.Statuses())
	if err != nil {
		return nil, err
	}
	limit, err := limitOf(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Webhooks.ListRecentDeliveries(ctx, status, limit)
	if err != nil {
		return nil, err
	}
	return api.ListAdminRecentDeliveries200JSONResponse{Items: each(rows, func(d webhook.PlatformDelivery) api.OperationsDelivery {
		return toOperationsDelivery(d.WebhookDelivery, d)
	})}, nil
}

func toOperationsDelivery(row db.WebhookDelivery, d webhook.PlatformDelivery) api.OperationsDelivery {
	return api.OperationsDelivery{
		ID: row.ID, TenantID: row.TenantID, TenantName: d.TenantName, EndpointID: row.EndpointID, URL: webhook.MaskURL(d.URL),
		Event: api.EventName(d.Event), EventID: row.EventID, Status: api.WebhookDeliveryStatus(row.Status), Attempts: int(row.Attempts),
		NextAttemptAt: timeOrNull(row.NextAttemptAt), ResponseStatus: intOrNull(row.ResponseStatus), DurationMs: intOrNull(row.DurationMs),
		Error: orNull(row.Error), CreatedAt: timestamp.From(row.CreatedAt), DeliveredAt: timeOrNull(row.DeliveredAt),
	}
}
