package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// The maximum number of events per recovery, and per transaction.
const (
	recoverEvents = 2000
	recoverBatch  = 500
)

// Recovery is the result of RecoverWebhook.
type Recovery struct {
	Recovered int
	// More reports that there are more events to recover.
	More bool
}

// RecoverWebhook restarts an endpoint's failed deliveries of events since a time,
// and creates the missing ones for events in the endpoint's list; oldest events
// first. If it fails, the restarted deliveries stay restarted; another call
// continues.
func (s *Service) RecoverWebhook(ctx context.Context, c tenancy.Caller, endpointID string, since time.Time) (Recovery, error) {
	now := s.config.Now()
	if since.After(now) {
		return Recovery{}, problem.BadField("since", "must not be in the future")
	}
	// Older events are about to be deleted, and some deliveries already are.
	if oldest := now.Add(-keepDeliveries); since.Before(oldest) {
		since = oldest
	}
	done := Recovery{More: true}
	after := int64(0)
	for done.More && done.Recovered < recoverEvents {
		batch, err := s.recoverBatch(ctx, c, endpointID, since, after)
		if err != nil {
			return Recovery{}, err
		}
		done.Recovered += batch.n
		done.More, after = batch.more, batch.last
	}
	return done, nil
}

// recoveredBatch describes one batch: the number of events, the position of the
// last one, and whether more follow.
type recoveredBatch struct {
	n    int
	last int64
	more bool
}

func (s *Service) recoverBatch(
	ctx context.Context, c tenancy.Caller, endpointID string, since time.Time, after int64,
) (recoveredBatch, error) {
	var done recoveredBatch
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		// The lock serializes recoveries of one endpoint.
		endpoint, err := lockActive(ctx, q, c, endpointID)
		if err != nil {
			return err
		}
		if since.Before(endpoint.CreatedAt) {
			since = endpoint.CreatedAt
		}
		rows, err := q.ListRecoverable(ctx, db.ListRecoverableParams{
			TenantID: c.TenantID, EndpointID: endpointID, Events: endpoint.Events, Since: since, After: after, MaxRows: recoverBatch + 1,
		})
		if err != nil {
			return fmt.Errorf("list recoverable events: %w", err)
		}
		done = recoveredBatch{more: len(rows) > recoverBatch, n: min(len(rows), recoverBatch)}
		if done.n == 0 {
			return nil
		}
		rows = rows[:done.n]
		last := rows[done.n-1]
		done.last = last.Position
		if err := s.restart(ctx, tx, endpoint, rows); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "webhook.recover", Entity: endpointEntity, EntityID: endpointID,
			After: map[string]any{"deliveries": done.n, "firstEvent": rows[0].EventID, "lastEvent": last.EventID},
		})
	})
	return done, err
}

// restart restarts or creates the deliveries of the rows, which are in the order of their events. Each
// waits for the one before it in its line; the first of each line gets a job.
func (s *Service) restart(ctx context.Context, tx pgx.Tx, endpoint db.WebhookEndpoint, rows []db.ListRecoverableRow) error {
	q, now := db.New(tx), s.config.Now()
	list := make([]lineDelivery, len(rows))
	for i, row := range rows {
		list[i] = lineDelivery{
			id: row.DeliveryID, tenantID: endpoint.TenantID, endpointID: endpoint.ID,
			eventID: row.EventID, subject: row.Subject, sequence: row.Sequence,
		}
		if list[i].id == "" {
			list[i].id = id.New(id.Delivery)
		}
	}
	start, err := joinLines(ctx, q, linkLines(list))
	if err != nil {
		return err
	}
	failed := db.RestartDeliveriesParams{TenantID: endpoint.TenantID, Now: now}
	var missing []lineDelivery
	for i, delivery := range list {
		if rows[i].DeliveryID == "" {
			missing = append(missing, delivery)
			continue
		}
		failed.Ids, failed.NextIds = append(failed.Ids, delivery.id), append(failed.NextIds, delivery.nextID)
	}
	if err := q.RestartDeliveries(ctx, failed); err != nil {
		return fmt.Errorf("restart deliveries: %w", err)
	}
	if err := q.CreateWebhookDeliveries(ctx, newDeliveries(missing, now)); err != nil {
		return fmt.Errorf("create missing deliveries: %w", err)
	}
	return s.enqueueRestart(ctx, tx, start...)
}

// Restart makes the first attempt of a delivery that a recovery restarted. For the
// next one the delivery gets a job of its own.
func (s *Service) Restart(ctx context.Context, deliveryID string) error {
	again, err := s.Deliver(ctx, deliveryID)
	if err != nil || again.IsZero() {
		return err
	}
	return s.putOff(ctx, deliveryID, again)
}
