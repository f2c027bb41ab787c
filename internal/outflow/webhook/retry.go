package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// retryPatience is how long after a request a retry counts as pending. After that
// its job must have been lost, and another request creates a new one.
const retryPatience = 5 * time.Minute

// RetryWebhookDelivery requests another attempt now, in addition to the schedule
// and regardless of the results of earlier attempts.
func (s *Service) RetryWebhookDelivery(ctx context.Context, c tenancy.Caller, deliveryID string) (Delivery, error) {
	return s.retry(ctx, c.Actor(), c.TenantID, deliveryID)
}

// retry is RetryWebhookDelivery by any actor.
func (s *Service) retry(ctx context.Context, actor audit.Actor, tenantID, deliveryID string) (Delivery, error) {
	var d Delivery
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		row, err := q.LockWebhookDelivery(ctx, db.LockWebhookDeliveryParams{TenantID: tenantID, ID: deliveryID})
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return problem.Missing("delivery")
		case err != nil:
			return fmt.Errorf("lock delivery: %w", err)
		case row.EndpointDeleted:
			return problem.Conflicting("the endpoint of this delivery was removed")
		case row.EndpointStatus != endpointActive:
			return problem.Conflicting("the endpoint of this delivery is disabled")
		}
		d = newDelivery(row.WebhookDelivery, row.Event, row.Payload)
		asked := row.WebhookDelivery.RetryAt
		if row.WebhookDelivery.Status == statusPending || asked != nil && now.Sub(*asked) < retryPatience {
			return nil // an attempt is due already
		}
		row.WebhookDelivery.RetryAt = &now
		d = newDelivery(row.WebhookDelivery, row.Event, row.Payload)
		if err := q.RequestRetry(ctx, db.RequestRetryParams{TenantID: tenantID, ID: deliveryID, Now: &now}); err != nil {
			return fmt.Errorf("request retry: %w", err)
		}
		if err := s.insert(ctx, tx, []river.InsertManyParams{{Args: RedeliverArgs{DeliveryID: deliveryID}}}); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: actor, TenantID: tenantID, Action: "webhook_delivery.retry", Entity: "webhook_delivery", EntityID: deliveryID,
		})
	})
	return d, err
}

// Redeliver makes the attempt that RetryWebhookDelivery requested. If it fails,
// the delivery's state and schedule stay as they were. It returns when to call it
// again, or the zero time when nothing remains to do. It may run twice.
func (s *Service) Redeliver(ctx context.Context, deliveryID string) (again time.Time, err error) {
	row, err := s.load.Do(ctx, deliveryID)
	if err != nil || row == nil || row.RetryAt == nil {
		return time.Time{}, err
	}
	d := *row
	q := db.New(s.config.Pool)
	switch {
	case closed(d) != "":
		if err := q.DropRetry(ctx, db.DropRetryParams{TenantID: d.TenantID, ID: d.ID}); err != nil {
			return time.Time{}, fmt.Errorf("drop retry: %w", err)
		}
		return time.Time{}, nil
	case suspended(d):
		return s.config.Now().Add(suspendedPause), nil
	}
	o, again, err := s.send(ctx, d)
	if err != nil || !again.IsZero() {
		return again, err
	}
	return time.Time{}, s.recordRetry(ctx, d, o)
}

func (s *Service) recordRetry(ctx context.Context, d db.ListDeliveriesForAttemptRow, o outcome) error {
	now := s.config.Now()
	log, err := entry(o, now)
	if err != nil {
		return err
	}
	p := db.RecordRetryParams{
		TenantID: d.TenantID, ID: d.ID, Arrived: o.failure == "", Now: now, Entry: log,
		ResponseStatus: o.status, ResponseBody: o.body, DurationMs: new(int32(o.took.Milliseconds())),
	}
	if o.failure != "" {
		p.Error = &o.failure
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := q.RecordRetry(ctx, p); err != nil {
			return fmt.Errorf("record retry: %w", err)
		}
		return s.noteHealth(ctx, tx, d, o, now)
	})
}
