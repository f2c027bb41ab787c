package webhook

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/audit"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
)

// Delivery is a delivery with its event.
type Delivery struct {
	db.WebhookDelivery
	Event   string
	Payload []byte
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
		list[i] = Delivery{r.WebhookDelivery, r.Event, r.Payload}
	}
	return list, nil
}

// RetryWebhookDelivery makes another attempt due now, whatever became of the
// ones before.
func (s *Service) RetryWebhookDelivery(ctx context.Context, c account.Caller, deliveryID string) (Delivery, error) {
	var d Delivery
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		row, err := q.LockWebhookDelivery(ctx, db.LockWebhookDeliveryParams{TenantID: c.TenantID, ID: deliveryID})
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return problem.Missing("delivery")
		case err != nil:
			return fmt.Errorf("lock delivery: %w", err)
		case row.EndpointDeleted:
			return problem.Conflicting("the endpoint of this delivery was removed")
		case row.EndpointStatus != "active":
			return problem.Conflicting("the endpoint of this delivery is disabled")
		}
		d = Delivery{row.WebhookDelivery, row.Event, row.Payload}
		if d.Status == "pending" {
			return nil // its first attempt is due already, in its turn
		}
		d.Status, d.NextAttemptAt = "retrying", &now
		if err := q.RequeueDelivery(ctx, db.RequeueDeliveryParams{TenantID: c.TenantID, ID: deliveryID, Now: &now}); err != nil {
			return fmt.Errorf("requeue delivery: %w", err)
		}
		if err := s.config.Events.Redeliver(ctx, tx, deliveryID); err != nil {
			return err
		}
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "webhook_delivery.retry", Entity: "webhook_delivery", EntityID: deliveryID,
		})
	})
	return d, err
}
