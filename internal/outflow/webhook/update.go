package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/outbound"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// previousSecretLife is how long a replaced secret keeps signing beside the new
// one.
const previousSecretLife = 24 * time.Hour

// EndpointPatch holds the changes of an endpoint; nil keeps a value.
type EndpointPatch struct {
	URL *string
	// Events is empty, not nil, for all events.
	Events []string
	// Status is active or disabled.
	Status *string
}

// apply returns the row with the changes. A new URL or a new status resets the
// time since which the endpoint fails.
func (p EndpointPatch) apply(row db.WebhookEndpoint) db.WebhookEndpoint {
	if p.URL != nil && *p.URL != row.URL {
		row.URL, row.FailingSince = *p.URL, nil
	}
	if p.Events != nil {
		row.Events = eventList(p.Events)
	}
	if p.Status != nil && *p.Status != row.Status {
		row.Status, row.DisabledReason, row.FailingSince = *p.Status, nil, nil
		if row.Status != endpointActive {
			row.DisabledReason = new(disabledReason)
		}
	}
	return row
}

// UpdateWebhook changes an endpoint. Without a change it writes nothing.
func (s *Service) UpdateWebhook(ctx context.Context, c tenancy.Caller, endpointID string, p EndpointPatch) (db.WebhookEndpoint, error) {
	var row db.WebhookEndpoint
	if p.URL != nil {
		if err := outbound.CheckURL("url", *p.URL); err != nil {
			return row, err
		}
	}
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		before, err := lockEndpoint(ctx, q, c, endpointID)
		if err != nil {
			return err
		}
		after := p.apply(before)
		if after.URL == before.URL && slices.Equal(after.Events, before.Events) && after.Status == before.Status {
			row = before
			return nil
		}
		row, err = q.UpdateWebhookEndpoint(ctx, db.UpdateWebhookEndpointParams{
			TenantID: c.TenantID, ID: endpointID, URL: after.URL, Events: after.Events, Status: after.Status,
			DisabledReason: after.DisabledReason, FailingSince: after.FailingSince, Now: now,
		})
		if err != nil {
			return fmt.Errorf("update webhook endpoint: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "webhook.update", Entity: endpointEntity, EntityID: endpointID,
			Before: endpointView(before), After: endpointView(row),
		})
	})
	return row, err
}

// endpointView is an endpoint in the audit log.
func endpointView(w db.WebhookEndpoint) map[string]any {
	return map[string]any{"url": w.URL, "events": w.Events, "status": w.Status}
}

// RotateWebhookSecret replaces the signing secret. Only this call shows the new
// one; the previous one signs too for 24 hours.
func (s *Service) RotateWebhookSecret(
	ctx context.Context, c tenancy.Caller, endpointID string,
) (row db.WebhookEndpoint, secret string, err error) {
	secret = newSecret()
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		var err error
		row, err = q.RotateWebhookSecret(ctx, db.RotateWebhookSecretParams{
			TenantID: c.TenantID, ID: endpointID, Secret: s.config.Box.Seal([]byte(secret), sealContext(endpointID)),
			PreviousUntil: now.Add(previousSecretLife), Now: now,
		})
		if err := found(err); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "webhook.rotate_secret", Entity: endpointEntity, EntityID: endpointID,
		})
	})
	return row, secret, err
}

// TestWebhook sends a test event to one endpoint. The default is the first event
// of the endpoint's list, or stream.started for an endpoint that receives all
// events.
func (s *Service) TestWebhook(ctx context.Context, c tenancy.Caller, endpointID string, name *string) (Delivery, error) {
	var d Delivery
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		endpoint, err := lockActive(ctx, q, c, endpointID)
		if err != nil {
			return err
		}
		sent := event.StreamStarted
		switch {
		case name != nil:
			sent = *name
		case len(endpoint.Events) > 0:
			sent = endpoint.Events[0]
		}
		deliveryID, err := s.createTest(ctx, tx, c.TenantID, endpointID, sent)
		if err != nil {
			return err
		}
		row, err := q.LockWebhookDelivery(ctx, db.LockWebhookDeliveryParams{TenantID: c.TenantID, ID: deliveryID})
		if err != nil {
			return fmt.Errorf("get delivery: %w", err)
		}
		d = newDelivery(row.WebhookDelivery, row.Event, row.Payload)
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "webhook.test", Entity: endpointEntity, EntityID: endpointID,
			After: map[string]any{"event": sent, "deliveryId": deliveryID},
		})
	})
	return d, err
}

// createTest emits a test event and writes its delivery, whose id it returns, with its job.
func (s *Service) createTest(ctx context.Context, tx pgx.Tx, tenantID, endpointID, name string) (deliveryID string, err error) {
	eventID, err := s.config.Events.EmitTestTx(ctx, tx, tenantID, endpointID, name)
	if err != nil {
		return "", err
	}
	now := s.config.Now()
	d := db.CreateWebhookDeliveryParams{
		ID: id.New(id.Delivery), TenantID: tenantID, EndpointID: endpointID, EventID: eventID, Subject: eventID, Sequence: 1, Now: &now,
	}
	if err := db.New(tx).CreateWebhookDelivery(ctx, d); err != nil {
		return "", fmt.Errorf("create delivery: %w", err)
	}
	return d.ID, s.enqueue(ctx, tx, d.ID)
}

func lockEndpoint(ctx context.Context, q *db.Queries, c tenancy.Caller, endpointID string) (db.WebhookEndpoint, error) {
	row, err := q.LockWebhookEndpoint(ctx, db.LockWebhookEndpointParams{TenantID: c.TenantID, ID: endpointID})
	return row, found(err)
}

// lockActive locks an endpoint and requires that it is active.
func lockActive(ctx context.Context, q *db.Queries, c tenancy.Caller, endpointID string) (db.WebhookEndpoint, error) {
	row, err := lockEndpoint(ctx, q, c, endpointID)
	if err == nil && row.Status != endpointActive {
		err = problem.Conflicting("the endpoint is disabled; set its status to active first")
	}
	return row, err
}
