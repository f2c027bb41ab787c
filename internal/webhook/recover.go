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

// A recovery takes so many events at most, and so many in one transaction.
const (
	recoverEvents = 2000
	recoverBatch  = 500
)

// Recovery is what a recovery has started.
type Recovery struct {
	Recovered int
	// More tells that there are others.
	More bool
}

// RecoverWebhook delivers anew what has failed of the events since a time, and
// what the endpoint has no delivery of though its list names it; the oldest
// first. What it has started when it fails stays started: calling again goes on.
func (s *Service) RecoverWebhook(ctx context.Context, c account.Caller, endpointID string, since time.Time) (Recovery, error) {
	now := s.config.Now()
	if since.After(now) {
		return Recovery{}, problem.BadField("since", "must not be in the future")
	}
	// Events beyond are on their way out, some of them without their deliveries.
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

// recoveredBatch is one batch: how many, the last event's position, and whether there are
// others behind it.
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
		// The lock makes one recovery of an endpoint wait for the other.
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

// restart makes the rows, given in the order of their events, wait for each
// other, subject by subject, and starts the first of each.
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

// Restart takes the first step with a delivery that a recovery started anew; for
// the next one the delivery has a job of its own again.
func (s *Service) Restart(ctx context.Context, deliveryID string) error {
	again, err := s.Deliver(ctx, deliveryID)
	if err != nil || again.IsZero() {
		return err
	}
	return s.putOff(ctx, deliveryID, again)
}

// link is a delivery's place in the line of its subject.
type link struct {
	deliveryID string
	// next is the delivery behind it; empty for the last one.
	next  string
	first bool
}

// chain lines up the deliveries of each subject, and names those that are yet to
// be made.
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
