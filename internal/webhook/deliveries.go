package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/problem"
)

// The states of a delivery, and that of an endpoint which takes any.
const (
	statusPending   = "pending"
	statusDelivered = "delivered"
	statusRetrying  = "retrying"
	statusFailed    = "failed"
	endpointActive  = "active"
)

// Delivery is a delivery with its event, as its tenant sees it.
type Delivery struct {
	db.WebhookDelivery
	Event   string
	Payload []byte
}

// newDelivery shows an attempt that somebody asked for as the next one.
func newDelivery(d db.WebhookDelivery, name string, payload []byte) Delivery {
	if d.RetryAt != nil {
		d.Status, d.NextAttemptAt = statusRetrying, d.RetryAt
	}
	return Delivery{d, name, payload}
}

// ListWebhookDeliveries pages through an endpoint's deliveries, newest first.
func (s *Service) ListWebhookDeliveries(
	ctx context.Context, c account.Caller, endpointID string, cursor *string, limit int,
) ([]Delivery, error) {
	q := db.New(s.config.Pool)
	if _, err := q.GetWebhookEndpoint(ctx, db.GetWebhookEndpointParams{TenantID: c.TenantID, ID: endpointID}); err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, problem.Missing("webhook endpoint")
		}
		return nil, fmt.Errorf("get webhook endpoint: %w", err)
	}
	rows, err := q.ListWebhookDeliveries(ctx, db.ListWebhookDeliveriesParams{
		TenantID: c.TenantID, EndpointID: endpointID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	list := make([]Delivery, len(rows))
	for i, r := range rows {
		list[i] = newDelivery(r.WebhookDelivery, r.Event, r.Payload)
	}
	return list, nil
}
