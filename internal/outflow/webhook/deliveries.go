package webhook

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
)

// The states of a delivery, and the state of an endpoint that receives deliveries.
const (
	statusPending   = "pending"
	statusDelivered = "delivered"
	statusRetrying  = "retrying"
	statusFailed    = "failed"
	endpointActive  = "active"
)

// Delivery is a delivery with its event, as the API shows it to the tenant.
type Delivery struct {
	db.WebhookDelivery
	Event   string
	Payload []byte
}

// newDelivery shows a requested retry as the next attempt.
func newDelivery(d db.WebhookDelivery, name string, payload []byte) Delivery {
	if d.RetryAt != nil {
		d.Status, d.NextAttemptAt = statusRetrying, d.RetryAt
	}
	return Delivery{d, name, payload}
}

// DeliveryFilter narrows a list of deliveries; nil fields don't filter.
type DeliveryFilter struct {
	// Event and Status are names of the API's EventName and WebhookDeliveryStatus.
	Event, Status *string
	// Since is the inclusive start and Until the exclusive end of the creation time.
	Since, Until *time.Time
}

// ListWebhookDeliveries pages through an endpoint's deliveries, newest first.
func (s *Service) ListWebhookDeliveries(
	ctx context.Context, c tenancy.Caller, endpointID string, f DeliveryFilter, cursor *string, limit int,
) ([]Delivery, error) {
	if _, err := s.GetWebhook(ctx, c, endpointID); err != nil {
		return nil, err
	}
	rows, err := db.New(s.config.Pool).ListWebhookDeliveries(ctx, db.ListWebhookDeliveriesParams{
		TenantID: c.TenantID, EndpointID: endpointID, Cursor: cursor, MaxRows: int32(limit),
		Event: f.Event, Status: f.Status, Since: f.Since, Until: f.Until,
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
