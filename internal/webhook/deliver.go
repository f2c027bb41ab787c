package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/audit"
	"showfloor/internal/postgres"
	"showfloor/internal/timestamp"
)

// goneReason is why an endpoint that answers 410 is disabled.
const goneReason = "answered 410 Gone"

// suspendedPause is how long deliveries of a suspended tenant wait before they
// look again; they are not dropped.
const suspendedPause = time.Minute

// Deliver takes a delivery one step on: it makes the attempt that is due and
// records it. It returns when to call again, or the zero time when the delivery
// is at its end. It may run twice; what arrived twice carries the same id.
func (s *Service) Deliver(ctx context.Context, deliveryID string) (again time.Time, err error) {
	found, err := s.load.do(ctx, deliveryID)
	if err != nil || found == nil { // older than what is kept
		return time.Time{}, err
	}
	d, now := *found, s.config.Now()
	switch {
	case d.Status == statusDelivered || d.Status == statusFailed:
		return time.Time{}, nil
	case closed(d) != "":
		return time.Time{}, s.giveUp(ctx, d, closed(d))
	case suspended(d):
		return now.Add(suspendedPause), nil
	case d.NextAttemptAt != nil && d.NextAttemptAt.After(now):
		return *d.NextAttemptAt, nil
	}
	o, again, err := s.send(ctx, d)
	if err != nil || !again.IsZero() {
		return again, err
	}
	return s.record(ctx, d, o)
}

// send makes the attempt. When the tenant or the endpoint has too many under way
// it makes none and returns when to ask again.
func (s *Service) send(ctx context.Context, d db.ListDeliveriesForAttemptRow) (o outcome, again time.Time, err error) {
	secret, err := s.config.Box.Open(d.Secret, sealContext(d.EndpointID))
	if err != nil {
		return outcome{}, time.Time{}, fmt.Errorf("open secret of %s: %w", d.EndpointID, err)
	}
	leave, wait, err := s.limit.enter(ctx, d.TenantID, d.EndpointID)
	switch {
	case err != nil:
		return outcome{}, time.Time{}, fmt.Errorf("wait for room: %w", err)
	case leave == nil:
		return outcome{}, s.config.Now().Add(wait), nil
	}
	defer leave()
	o = s.attempt(ctx, d.URL, message{DeliveryID: d.ID, EventID: d.EventID, Event: d.Event, Secret: string(secret), Body: d.Payload})
	if ctx.Err() != nil && o.failure != "" {
		// We are shutting down: this says nothing about the endpoint.
		return outcome{}, time.Time{}, fmt.Errorf("attempt: %w", ctx.Err())
	}
	s.config.Observe(observed(o), o.took)
	return o, time.Time{}, nil
}

// closed says why nothing is delivered to the endpoint any more; empty while
// deliveries go on.
func closed(d db.ListDeliveriesForAttemptRow) string {
	switch {
	case d.EndpointDeleted:
		return "the endpoint was removed"
	case d.EndpointStatus != endpointActive:
		return "the endpoint is disabled"
	}
	return ""
}

func suspended(d db.ListDeliveriesForAttemptRow) bool {
	return account.CheckTenant(d.TenantStatus) != nil
}

func observed(o outcome) string {
	if o.failure == "" {
		return statusDelivered
	}
	return statusFailed
}

// record writes the attempt down and, after the first one, starts the delivery
// that waits behind.
func (s *Service) record(ctx context.Context, d db.ListDeliveriesForAttemptRow, o outcome) (again time.Time, err error) {
	p, again, err := recording(d, o, s.config.Now(), s.config.Schedule)
	if err != nil {
		return time.Time{}, err
	}
	if !o.gone {
		if done, err := s.recordLone.do(ctx, p); err != nil || done {
			return again, err
		}
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		next, err := q.RecordAttempt(ctx, p)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another worker has recorded this attempt
		}
		if err != nil {
			return fmt.Errorf("record attempt: %w", err)
		}
		if o.gone {
			if err := s.disable(ctx, q, d, goneReason); err != nil {
				return err
			}
		}
		return s.release(ctx, tx, next, d.Tries)
	})
	return again, err
}

// release starts the delivery behind one that has had its first attempt.
func (s *Service) release(ctx context.Context, tx pgx.Tx, next *string, triesBefore int32) error {
	if next == nil || triesBefore > 0 {
		return nil
	}
	return s.config.Events.EnqueueDelivery(ctx, tx, *next)
}

func (s *Service) giveUp(ctx context.Context, d db.ListDeliveriesForAttemptRow, why string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		next, err := db.New(tx).GiveUpDelivery(ctx, db.GiveUpDeliveryParams{TenantID: d.TenantID, ID: d.ID, Error: &why})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("give up delivery: %w", err)
		}
		return s.release(ctx, tx, next, d.Tries)
	})
}

// disable stops an endpoint that asked for it.
func (s *Service) disable(ctx context.Context, q *db.Queries, d db.ListDeliveriesForAttemptRow, why string) error {
	n, err := q.DisableWebhookEndpoint(ctx, db.DisableWebhookEndpointParams{
		TenantID: d.TenantID, ID: d.EndpointID, DisabledReason: &why, Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("disable endpoint: %w", err)
	}
	if n == 0 {
		return nil
	}
	return audit.Write(ctx, q, s.config.Now(), audit.Entry{
		Actor: audit.System("webhooks"), TenantID: d.TenantID,
		Action: "webhook.disable", Entity: "webhook", EntityID: d.EndpointID, Reason: why,
	})
}

// logEntry is one attempt in a delivery's log.
type logEntry struct {
	At             string  `json:"at"`
	ResponseStatus *int32  `json:"responseStatus"`
	DurationMs     int64   `json:"durationMs"`
	Error          *string `json:"error"`
}

// recording decides what becomes of a delivery after an attempt.
func recording(
	d db.ListDeliveriesForAttemptRow, o outcome, now time.Time, schedule []time.Duration,
) (p db.RecordAttemptParams, again time.Time, err error) {
	p = db.RecordAttemptParams{
		TenantID: d.TenantID, ID: d.ID, Tries: d.Tries,
		ResponseStatus: o.status, ResponseBody: o.body, DurationMs: new(int32(o.took.Milliseconds())),
	}
	switch {
	case o.failure == "":
		p.Status, p.DeliveredAt = statusDelivered, &now
	case o.gone || int(d.Tries) >= len(schedule):
		p.Status, p.Error = statusFailed, &o.failure
	default:
		again = now.Add(pause(d.ID, int(d.Tries), schedule))
		p.Status, p.Error, p.NextAttemptAt = statusRetrying, &o.failure, &again
	}
	p.Entry, err = entry(o, now)
	return p, again, err
}

// entry is the attempt in the delivery's log.
func entry(o outcome, now time.Time) (json.RawMessage, error) {
	e := logEntry{At: timestamp.Format(now), ResponseStatus: o.status, DurationMs: o.took.Milliseconds()}
	if o.failure != "" {
		e.Error = &o.failure
	}
	b, err := json.Marshal([]logEntry{e})
	if err != nil {
		return nil, fmt.Errorf("encode log entry: %w", err)
	}
	return b, nil
}

// pause is the time between an attempt and the next, spread by ±20 % so that
// an endpoint that was down isn't hit by everything at once. It is the same
// whenever it is asked.
func pause(deliveryID string, tries int, schedule []time.Duration) time.Duration {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", deliveryID, tries)
	spread := 0.8 + 0.4*float64(h.Sum32()%1000)/999
	return time.Duration(float64(schedule[tries]) * spread)
}
