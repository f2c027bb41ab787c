package handlers

import (
	"context"
	"encoding/json"
	"fmt"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/webhook"
)

// ListWebhooks lists the tenant's endpoints.
func (s *Server) ListWebhooks(ctx context.Context, r api.ListWebhooksRequestObject) (api.ListWebhooksResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Webhook)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Webhooks.ListWebhooks(ctx, request.Caller(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(w db.WebhookEndpoint) string { return w.ID })
	return api.ListWebhooks200JSONResponse{Body: each(rows, toWebhookEndpoint), Headers: api.ListWebhooks200ResponseHeaders{Link: link}}, nil
}

// CreateWebhook registers an endpoint. This answer contains its secret, which
// later ones don't.
func (s *Server) CreateWebhook(ctx context.Context, r api.CreateWebhookRequestObject) (api.CreateWebhookResponseObject, error) {
	in := webhook.EndpointInput{URL: r.Body.URL, Events: names(r.Body.Events)}
	row, secret, err := s.areas.Webhooks.CreateWebhook(ctx, request.Caller(ctx), in)
	if err != nil {
		return nil, err
	}
	return api.CreateWebhook201JSONResponse(withSecret(row, secret)), nil
}

// GetWebhook returns an endpoint.
func (s *Server) GetWebhook(ctx context.Context, r api.GetWebhookRequestObject) (api.GetWebhookResponseObject, error) {
	row, err := s.areas.Webhooks.GetWebhook(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetWebhook200JSONResponse(toWebhookEndpoint(row)), nil
}

// UpdateWebhook changes, disables or enables an endpoint.
func (s *Server) UpdateWebhook(ctx context.Context, r api.UpdateWebhookRequestObject) (api.UpdateWebhookResponseObject, error) {
	patch := webhook.EndpointPatch{URL: r.Body.URL, Status: (*string)(r.Body.Status)}
	if r.Body.Events != nil {
		patch.Events = names(r.Body.Events)
	}
	row, err := s.areas.Webhooks.UpdateWebhook(ctx, request.Caller(ctx), r.ID, patch)
	if err != nil {
		return nil, err
	}
	return api.UpdateWebhook200JSONResponse(toWebhookEndpoint(row)), nil
}

// RotateWebhookSecret replaces the signing secret. Only this answer contains
// the new one.
func (s *Server) RotateWebhookSecret(
	ctx context.Context, r api.RotateWebhookSecretRequestObject,
) (api.RotateWebhookSecretResponseObject, error) {
	row, secret, err := s.areas.Webhooks.RotateWebhookSecret(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.RotateWebhookSecret201JSONResponse(withSecret(row, secret)), nil
}

// TestWebhook sends a test event.
func (s *Server) TestWebhook(ctx context.Context, r api.TestWebhookRequestObject) (api.TestWebhookResponseObject, error) {
	var name *string
	if r.Body != nil {
		name = (*string)(r.Body.Event)
	}
	row, err := s.areas.Webhooks.TestWebhook(ctx, request.Caller(ctx), r.ID, name)
	if err != nil {
		return nil, err
	}
	d, err := toWebhookDelivery(row)
	if err != nil {
		return nil, err
	}
	return api.TestWebhook201JSONResponse(d), nil
}

// RecoverWebhook delivers events whose delivery failed or is missing.
func (s *Server) RecoverWebhook(ctx context.Context, r api.RecoverWebhookRequestObject) (api.RecoverWebhookResponseObject, error) {
	done, err := s.areas.Webhooks.RecoverWebhook(ctx, request.Caller(ctx), r.ID, r.Body.Since.Time)
	if err != nil {
		return nil, err
	}
	return api.RecoverWebhook201JSONResponse{Recovered: done.Recovered, More: done.More}, nil
}

// DeleteWebhook removes an endpoint.
func (s *Server) DeleteWebhook(ctx context.Context, r api.DeleteWebhookRequestObject) (api.DeleteWebhookResponseObject, error) {
	row, err := s.areas.Webhooks.DeleteWebhook(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DeleteWebhook200JSONResponse(toWebhookEndpoint(row)), nil
}

// ListWebhookDeliveries lists the past and pending deliveries to an endpoint.
func (s *Server) ListWebhookDeliveries(
	ctx context.Context, r api.ListWebhookDeliveriesRequestObject,
) (api.ListWebhookDeliveriesResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Delivery)
	if err != nil {
		return nil, err
	}
	filter := webhook.DeliveryFilter{
		Event: (*string)(r.Params.Event), Status: (*string)(r.Params.Status),
		Since: instant(r.Params.Since), Until: instant(r.Params.Until),
	}
	rows, err := s.areas.Webhooks.ListWebhookDeliveries(ctx, request.Caller(ctx), r.ID, filter, cursor, size+1)
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

// RetryWebhookDelivery makes another attempt of a delivery due.
func (s *Server) RetryWebhookDelivery(
	ctx context.Context, r api.RetryWebhookDeliveryRequestObject,
) (api.RetryWebhookDeliveryResponseObject, error) {
	row, err := s.areas.Webhooks.RetryWebhookDelivery(ctx, request.Caller(ctx), r.ID)
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
		DisabledReason: orNull(w.DisabledReason), FailingSince: timeOrNull(w.FailingSince),
		PreviousSecretExpiresAt: timeOrNull(w.PreviousSecretUntil),
		CreatedAt:               timestamp.From(w.CreatedAt), UpdatedAt: timestamp.From(w.UpdatedAt),
	}
	for i, e := range w.Events {
		out.Events[i] = api.EventName(e)
	}
	return out
}

// withSecret converts an endpoint for an answer that contains its secret.
func withSecret(w db.WebhookEndpoint, secret string) api.WebhookEndpointSecret {
	e := toWebhookEndpoint(w)
	return api.WebhookEndpointSecret{
		ID: e.ID, URL: e.URL, Secret: secret, Events: e.Events, Status: e.Status, DisabledReason: e.DisabledReason,
		FailingSince: e.FailingSince, PreviousSecretExpiresAt: e.PreviousSecretExpiresAt, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
}

// names converts event names to the area's type.
func names(events []api.EventName) []string {
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = string(e)
	}
	return list
}

func toWebhookDelivery(d webhook.Delivery) (api.WebhookDelivery, error) {
	out := api.WebhookDelivery{
		ID: d.ID, EndpointID: d.EndpointID, Event: api.EventName(d.Event), EventID: d.EventID, Subject: d.Subject, Sequence: d.Sequence,
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
