package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/audit"
	"showfloor/internal/event"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
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
func (s *Service) RecoverWebhook(ctx context.Context, c account.Caller, endpointID string, since time.Time) (Recovery, error) {
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
	ctx context.Context, c account.Caller, endpointID string, since time.Time, after int64,
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
			return fmt.Errorf("list what to recover: %w", err)
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
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "webhook.recover", Entity: endpointEntity, EntityID: endpointID,
			After: map[string]any{"deliveries": done.n, "firstEvent": rows[0].EventID, "lastEvent": last.EventID},
		})
	})
	return done, err
}

// restart links the rows, which are in the order of their events, so that each
// waits for the one before in its subject, and starts the first of each subject.
func (s *Service) restart(ctx context.Context, tx pgx.Tx, endpoint db.WebhookEndpoint, rows []db.ListRecoverableRow) error {
	q, now := db.New(tx), s.config.Now()
	missed := db.CreateWebhookDeliveriesParams{TenantID: endpoint.TenantID, Now: now}
	failed := db.RestartDeliveriesParams{TenantID: endpoint.TenantID, Now: now}
	var first event.Tails
	links := chain(rows)
	for i, row := range rows {
		if links[i].first {
			first.Add(endpoint.ID, row.Subject, links[i].deliveryID)
		}
		if row.DeliveryID != "" {
			failed.Ids, failed.NextIds = append(failed.Ids, row.DeliveryID), append(failed.NextIds, links[i].next)
			continue
		}
		missed.Ids, missed.NextIds = append(missed.Ids, links[i].deliveryID), append(missed.NextIds, links[i].next)
		missed.EndpointIds = append(missed.EndpointIds, endpoint.ID)
		missed.EventIds, missed.Subjects = append(missed.EventIds, row.EventID), append(missed.Subjects, row.Subject)
		missed.Sequences = append(missed.Sequences, row.Sequence)
	}
	start, err := first.Link(ctx, q, endpoint.TenantID)
	if err != nil {
		return err
	}
	if err := q.RestartDeliveries(ctx, failed); err != nil {
		return fmt.Errorf("restart deliveries: %w", err)
	}
	if err := q.CreateWebhookDeliveries(ctx, missed); err != nil {
		return fmt.Errorf("create missed deliveries: %w", err)
	}
	return s.config.Events.EnqueueRestart(ctx, tx, start...)
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

// link is a delivery's position in its subject's line.
type link struct {
	deliveryID string
	// next is the delivery behind it; empty for the last one.
	next  string
	first bool
}

// chain links the deliveries of each subject, and assigns ids to those that have
// to be created.
func chain(rows []db.ListRecoverableRow) []link {
	links := make([]link, len(rows))
	last := map[string]int{} // by subject
	for i, row := range rows {
		links[i].deliveryID = row.DeliveryID
		if links[i].deliveryID == "" {
			links[i].deliveryID = id.New(id.Delivery)
		}
		before, waits := last[row.Subject]
		if waits {
			links[before].next = links[i].deliveryID
		}
		links[i].first = !waits
		last[row.Subject] = i
	}
	return links
}
