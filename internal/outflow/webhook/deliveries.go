package webhook

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
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
	rows, err := s.readDeliveries(ctx, deliveriesParams(c, endpointID, f, cursor, limit), f.Event)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	list := make([]Delivery, len(rows))
	for i, r := range rows {
		list[i] = newDelivery(r.WebhookDelivery, r.Event, r.Payload)
	}
	return list, nil
}

const (
	// idSlack is how far the time in a delivery's id may be from its creation: one is by the server's clock, one by the database's.
	idSlack = 24 * time.Hour
	// afterAll sorts after every id.
	afterAll = "del_zzzzzzzzzzzzzzzzzzzzzzzzzzz"
)

// deliveriesParams are the parameters of a list. A time range limits the ids too, since they follow the time of creation.
func deliveriesParams(c tenancy.Caller, endpointID string, f DeliveryFilter, cursor *string, limit int) db.ListWebhookDeliveriesParams {
	p := db.ListWebhookDeliveriesParams{
		TenantID: c.TenantID, EndpointID: endpointID, MaxRows: int32(limit), Since: f.Since, Until: f.Until,
		Statuses: []string{statusPending, statusDelivered, statusRetrying, statusFailed},
		BeforeID: afterAll,
	}
	if f.Until != nil {
		p.BeforeID = min(p.BeforeID, id.Earliest(id.Delivery, f.Until.Add(idSlack)))
	}
	if cursor != nil {
		p.BeforeID = min(p.BeforeID, *cursor)
	}
	if f.Since != nil {
		p.FirstID = id.Earliest(id.Delivery, f.Since.Add(-idSlack))
	}
	if f.Status != nil {
		p.Statuses = []string{*f.Status}
	}
	return p
}

// fewEvents is the number of events of one name up to which a list begins with the events.
const fewEvents = 1000

// readDeliveries reads a list, of one event if a name is given.
func (s *Service) readDeliveries(
	ctx context.Context, p db.ListWebhookDeliveriesParams, name *string,
) ([]db.ListWebhookDeliveriesRow, error) {
	q := db.New(s.config.Pool)
	if name == nil {
		return q.ListWebhookDeliveries(ctx, p)
	}
	many, err := q.HasManyNamedEvents(ctx, db.HasManyNamedEventsParams{TenantID: p.TenantID, Event: *name, MaxRows: fewEvents})
	if err != nil {
		return nil, err
	}
	var list []db.ListWebhookDeliveriesRow
	if many {
		rows, err := q.ListDeliveriesOfEvent(ctx, db.ListDeliveriesOfEventParams{
			TenantID: p.TenantID, EndpointID: p.EndpointID, Event: *name, FirstID: p.FirstID, BeforeID: p.BeforeID, Statuses: p.Statuses,
			Since: p.Since, Until: p.Until, MaxRows: p.MaxRows,
		})
		for _, r := range rows {
			list = append(list, db.ListWebhookDeliveriesRow(r))
		}
		return list, err
	}
	rows, err := q.ListDeliveriesOfRareEvent(ctx, db.ListDeliveriesOfRareEventParams{
		TenantID: p.TenantID, EndpointID: p.EndpointID, Event: *name, FirstID: p.FirstID, BeforeID: p.BeforeID, Statuses: p.Statuses,
		Since: p.Since, Until: p.Until, MaxRows: p.MaxRows,
	})
	for _, r := range rows {
		list = append(list, db.ListWebhookDeliveriesRow(r))
	}
	return list, err
}
