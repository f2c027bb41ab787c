// Package event is the one way in which something that happened leaves the
// server: Emit writes the event, its deliveries and their jobs in the
// transaction of the change, so that all of it happens or none.
package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"showfloor/gen/db"
	"showfloor/internal/id"
	"showfloor/internal/timestamp"
)

// Names of events, as in the API's EventName: those that are emitted.
const (
	StreamStarted = "stream.started"
	StreamEnded   = "stream.ended"
)

// Event is something that happened in a tenant.
type Event struct {
	TenantID string
	// Name is one of this package's names.
	Name string
	// Subject is the id of what the event is about. Events of one subject are
	// first delivered in the order of their commits, for which the emitting
	// transaction holds the subject's row lock.
	Subject string
	// Data becomes the envelope's data; it is written as JSON.
	Data any
}

// envelope is the body of every delivery.
type envelope struct {
	Event      string `json:"event"`
	TenantID   string `json:"tenantId"`
	OccurredAt string `json:"occurredAt"`
	Data       any    `json:"data"`
}

// DeliverArgs is the job that takes one delivery to its end, attempt by attempt.
type DeliverArgs struct {
	DeliveryID string `json:"deliveryId" river:"unique"`
}

// Kind names the job.
func (DeliverArgs) Kind() string { return "webhook_deliver" }

// InsertOpts keeps a delivery from having two jobs that both wait for its next
// attempt.
func (DeliverArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue: Queue,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
			rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
			rivertype.JobStateRunning, rivertype.JobStateScheduled,
		}},
	}
}

// RedeliverArgs is the job of a manual retry: one attempt now, besides whatever
// the delivery's own job is doing. It is not unique in the queue: there, a retry
// that is asked for while the job of the one before ends would be lost. The
// delivery's row lets one be asked for at a time.
type RedeliverArgs struct {
	DeliveryID string `json:"deliveryId"`
}

// Kind names the job.
func (RedeliverArgs) Kind() string { return "webhook_redeliver" }

// InsertOpts puts it beside the other deliveries.
func (RedeliverArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: Queue} }

// Queue is the queue of deliveries, apart from all else, so that slow endpoints
// hold nothing up.
const Queue = "webhooks"

// Inserter is the part of a River client that adds jobs in a transaction.
type Inserter interface {
	InsertManyTx(ctx context.Context, tx pgx.Tx, params []river.InsertManyParams) ([]*rivertype.JobInsertResult, error)
}

// Log writes events.
type Log struct {
	jobs  Inserter
	now   func() time.Time
	check func(payload []byte) error
}

// NewLog makes a Log on a clock.
func NewLog(jobs Inserter, now func() time.Time) *Log {
	return &Log{jobs: jobs, now: now, check: func([]byte) error { return nil }}
}

// CheckWith makes Emit refuse the events whose envelope this refuses. Tests hold
// every event against the API document so; call it before the first Emit.
func (l *Log) CheckWith(check func(payload []byte) error) { l.check = check }

// Emit writes the event, one delivery for each of the tenant's endpoints that
// wants it, and the jobs.
func (l *Log) Emit(ctx context.Context, tx pgx.Tx, e Event) error {
	q, now := db.New(tx), l.now()
	payload, err := json.Marshal(envelope{e.Name, e.TenantID, timestamp.Format(now), e.Data})
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.Name, err)
	}
	if err := l.check(payload); err != nil {
		return fmt.Errorf("check event %s: %w", e.Name, err)
	}
	eventID := id.New(id.Event)
	err = q.CreateEvent(ctx, db.CreateEventParams{
		ID: eventID, TenantID: e.TenantID, Event: e.Name, Subject: e.Subject, Payload: payload, OccurredAt: now,
	})
	if err != nil {
		return fmt.Errorf("create event %s: %w", e.Name, err)
	}
	endpoints, err := q.ListEndpointsForEvent(ctx, db.ListEndpointsForEventParams{TenantID: e.TenantID, Event: e.Name})
	if err != nil {
		return fmt.Errorf("list endpoints for %s: %w", e.Name, err)
	}
	var jobs []river.InsertManyParams
	for _, endpointID := range endpoints {
		d := db.CreateWebhookDeliveryParams{
			ID: id.New(id.Delivery), TenantID: e.TenantID, EndpointID: endpointID, EventID: eventID, Subject: e.Subject, Now: &now,
		}
		waits, err := enqueueBehind(ctx, q, d)
		if err != nil {
			return err
		}
		if !waits {
			jobs = append(jobs, river.InsertManyParams{Args: DeliverArgs{DeliveryID: d.ID}})
		}
	}
	return l.insert(ctx, tx, jobs)
}

// EnqueueDelivery adds the job of a delivery whose turn has come.
func (l *Log) EnqueueDelivery(ctx context.Context, tx pgx.Tx, deliveryID string) error {
	return l.insert(ctx, tx, []river.InsertManyParams{{Args: DeliverArgs{DeliveryID: deliveryID}}})
}

// EnqueueRetry adds the job of a manual retry.
func (l *Log) EnqueueRetry(ctx context.Context, tx pgx.Tx, deliveryID string) error {
	return l.insert(ctx, tx, []river.InsertManyParams{{Args: RedeliverArgs{DeliveryID: deliveryID}}})
}

func (l *Log) insert(ctx context.Context, tx pgx.Tx, jobs []river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	if _, err := l.jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("insert delivery jobs: %w", err)
	}
	return nil
}

// enqueueBehind writes the delivery and links it to the subject's last one if
// that still waits for its first attempt; whoever records that attempt starts
// the job.
func enqueueBehind(ctx context.Context, q *db.Queries, d db.CreateWebhookDeliveryParams) (waits bool, err error) {
	_, err = q.LinkToTail(ctx, db.LinkToTailParams{TenantID: d.TenantID, EndpointID: d.EndpointID, Subject: d.Subject, NextID: d.ID})
	switch {
	case err == nil:
		waits = true
	case !errors.Is(err, pgx.ErrNoRows):
		return false, fmt.Errorf("link delivery: %w", err)
	}
	if err := q.CreateWebhookDelivery(ctx, d); err != nil {
		return false, fmt.Errorf("create delivery: %w", err)
	}
	return waits, nil
}
