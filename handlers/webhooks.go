package handlers

import (
	"context"
	"encoding/json"
	"fmt"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/id"
	"showfloor/internal/timestamp"
	"showfloor/internal/webhook"
)

// ListWebhooks lists the tenant's endpoints.
func (s *Server) ListWebhooks(ctx context.Context, r api.ListWebhooksRequestObject) (api.ListWebhooksResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Webhook)
	if err != nil {
		return nil, err
	}
	rows, err := s.webhooks.ListWebhooks(ctx, callerFrom(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(w db.WebhookEndpoint) string { return w.ID })
	return api.ListWebhooks200JSONResponse{Body: each(rows, toWebhookEndpoint), Headers: api.ListWebhooks200ResponseHeaders{Link: link}}, nil
}

// CreateWebhook registers an endpoint and shows its secret, once.
func (s *Server) CreateWebhook(ctx context.Context, r api.CreateWebhookRequestObject) (api.CreateWebhookResponseObject, error) {
	in := webhook.EndpointInput{URL: r.Body.URL}
	for _, e := range r.Body.Events {
		in.Events = append(in.Events, string(e))
	}
	row, secret, err := s.webhooks.CreateWebhook(ctx, callerFrom(ctx), in)
	if err != nil {
		return nil, err
	}
	out := toWebhookEndpoint(row)
	out.Secret = &secret
	return api.CreateWebhook201JSONResponse(out), nil
}

// DeleteWebhook removes an endpoint.
func (s *Server) DeleteWebhook(ctx context.Context, r api.DeleteWebhookRequestObject) (api.DeleteWebhookResponseObject, error) {
	row, err := s.webhooks.DeleteWebhook(ctx, callerFrom(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DeleteWebhook200JSONResponse(toWebhookEndpoint(row)), nil
}

// ListWebhookDeliveries lists what was or will be sent to an endpoint.
func (s *Server) ListWebhookDeliveries(
	ctx context.Context, r api.ListWebhookDeliveriesRequestObject,
) (api.ListWebhookDeliveriesResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Delivery)
	if err != nil {
		return nil, err
	}
	rows, err := s.webhooks.ListWebhookDeliveries(ctx, callerFrom(ctx), r.ID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(d webhook.Delivery) string { return d.ID })
	list := make([]api.WebhookDelivery, len(rows))
	for i, row := range rows {
		if list[i], err = toWebhookDelivery(row); err != nil {
			return nil, err
		}
	}
	return api.ListWebhookDeliveries200JSONResponse{Body: list, Headers: api.ListWebhookDeliveries200ResponseHeaders{Link: link}}, nil
}

// RetryWebhookDelivery makes another attempt due.
func (s *Server) RetryWebhookDelivery(
	ctx context.Context, r api.RetryWebhookDeliveryRequestObject,
) (api.RetryWebhookDeliveryResponseObject, error) {
	row, err := s.webhooks.RetryWebhookDelivery(ctx, callerFrom(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	d, err := toWebhookDelivery(row)
	if err != nil {
		return nil, err
	}
	return api.RetryWebhookDelivery201JSONResponse(d), nil
}

func toWebhookEndpoint(w db.WebhookEndpoint) api.WebhookEndpoint {
	out := api.WebhookEndpoint{
		ID: w.ID, URL: w.URL, Events: make([]api.EventName, len(w.Events)), Status: api.WebhookEndpointStatus(w.Status),
		DisabledReason: orNull(w.DisabledReason), CreatedAt: timestamp.From(w.CreatedAt), UpdatedAt: timestamp.From(w.UpdatedAt),
	}
	for i, e := range w.Events {
		out.Events[i] = api.EventName(e)
	}
	return out
}

func toWebhookDelivery(d webhook.Delivery) (api.WebhookDelivery, error) {
	out := api.WebhookDelivery{
		ID: d.ID, EndpointID: d.EndpointID, Event: api.EventName(d.Event), EventID: d.EventID,
		Status: api.WebhookDeliveryStatus(d.Status), Attempts: int(d.Attempts), NextAttemptAt: timeOrNull(d.NextAttemptAt),
		ResponseStatus: intOrNull(d.ResponseStatus), ResponseBody: orNull(d.ResponseBody),
		DurationMs: intOrNull(d.DurationMs), Error: orNull(d.Error),
		CreatedAt: timestamp.From(d.CreatedAt), DeliveredAt: timeOrNull(d.DeliveredAt),
	}
	if err := json.Unmarshal(d.Payload, &out.Payload); err != nil {
		return out, fmt.Errorf("read payload of %s: %w", d.ID, err)
	}
	if err := json.Unmarshal(d.Log, &out.Log); err != nil {
		return out, fmt.Errorf("read log of %s: %w", d.ID, err)
	}
	return out, nil
}
