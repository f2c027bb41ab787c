package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy"
)

// suspendedPause is how long deliveries of a suspended tenant wait before the next
// check. They are not dropped.
const suspendedPause = time.Minute

// One worker continues with the deliveries of a line for at most this time and
// this number, because a job per delivery would wait in the queue each time. The
// next delivery then gets a job in the queue, so that other lines are served too. The
// time is measured, not that of the injected clock: it limits how long a worker is held.
const (
	lineTime       = 5 * time.Second
	lineDeliveries = 100
)

// nextStep is the remaining work after a delivery's step: none, or one of the two.
type nextStep struct {
	// again is when to call Deliver again for the same delivery.
	again time.Time
	// next is the delivery with which the caller continues: the next of its line, which has
	// no job, or the same one, whose row has changed since it was read.
	next string
}

// Deliver advances a delivery by one step: it makes the attempt that is due and
// records it. If the delivery arrived, Deliver continues with the deliveries that
// waited for it. It returns when to call it again for the first one, or the
// zero time when that one is finished. It may run twice; a delivery that arrives
// twice carries the same id.
//
// A delivery that is held, because a worker is about to reach it, has no job of
// its own, only that of the delivery at which the worker began. If the worker
// dies, that job runs again and follows next_id to the delivery at which it
// stopped.
func (s *Service) Deliver(ctx context.Context, deliveryID string) (again time.Time, err error) {
	end, current := time.Now().Add(s.lineTime), deliveryID
	for n := 1; ; n++ {
		t, err := s.step(ctx, current, current == deliveryID, n < lineDeliveries && time.Now().Before(end))
		switch {
		case err != nil:
			return time.Time{}, err
		case !t.again.IsZero() && current == deliveryID:
			return t.again, nil
		case !t.again.IsZero():
			return time.Time{}, s.putOff(ctx, current, t.again)
		case t.next == "":
			return time.Time{}, nil
		}
		current = t.next
	}
}

// step advances one delivery by one step. own: the running job belongs to this
// delivery. hold: the caller can continue with the next one.
func (s *Service) step(ctx context.Context, deliveryID string, own, hold bool) (nextStep, error) {
	row, err := s.load.Do(ctx, deliveryID)
	if err != nil || row == nil { // not found: deleted after its retention time
		return nextStep{}, err
	}
	d, now := *row, s.config.Now()
	switch {
	case d.Status == statusDelivered || d.Status == statusFailed:
		return nextStep{next: orZero(d.NextID)}, nil
	case closed(d) != "":
		return s.markFailed(ctx, d, closed(d), hold)
	case suspended(d):
		return nextStep{again: now.Add(suspendedPause)}, nil
	case d.NextAttemptAt != nil && d.NextAttemptAt.After(now):
		return nextStep{again: *d.NextAttemptAt}, nil
	}
	o, again, err := s.send(ctx, d)
	if err != nil || !again.IsZero() {
		return nextStep{again: again}, err
	}
	return s.record(ctx, d, o, own, hold)
}

// postponed is a delivery that needs a job of its own, and when it is due.
type postponed struct {
	deliveryID string
	until      time.Time
}

// putOff gives a job to a delivery that has none of its own.
func (s *Service) putOff(ctx context.Context, deliveryID string, until time.Time) error {
	_, err := s.postpone.Do(ctx, postponed{deliveryID, until})
	return err
}

// putOffMany gives jobs to deliveries in one transaction.
func (s *Service) putOffMany(ctx context.Context, list []postponed) ([]struct{}, error) {
	jobs := make([]river.InsertManyParams, len(list))
	for i, p := range list {
		jobs[i] = later(p.deliveryID, p.until)
	}
	return make([]struct{}, len(list)), postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return s.insert(ctx, tx, jobs)
	})
}

// send makes the attempt. If the tenant or the endpoint has too many attempts in
// progress, it makes none and returns when to ask again.
func (s *Service) send(ctx context.Context, d db.ListDeliveriesForAttemptRow) (o outcome, again time.Time, err error) {
	m := message{DeliveryID: d.ID, EventID: d.EventID, Event: d.Event, Sequence: d.Sequence, Body: d.Payload}
	if m.Secret, m.Previous, err = s.secrets(d); err != nil {
		return outcome{}, time.Time{}, err
	}
	leave, wait, err := s.limit.enter(ctx, d.TenantID, d.EndpointID)
	switch {
	case err != nil:
		return outcome{}, time.Time{}, fmt.Errorf("wait for room: %w", err)
	case leave == nil:
		return outcome{}, s.config.Now().Add(wait), nil
	}
	defer leave()
	o = s.attempt(ctx, d.URL, m)
	if ctx.Err() != nil && o.failure != "" {
		// The server is shutting down: the failure says nothing about the endpoint.
		return outcome{}, time.Time{}, fmt.Errorf("attempt: %w", ctx.Err())
	}
	s.config.Observe(observed(o), o.took)
	s.attempts.note(d.EndpointID, o, s.config.Now())
	return o, time.Time{}, nil
}

// secrets decrypts the signing secrets of an attempt; previous is empty once it
// has expired.
func (s *Service) secrets(d db.ListDeliveriesForAttemptRow) (current, previous string, err error) {
	opened, err := s.config.Box.Open(d.Secret, sealContext(d.EndpointID))
	if err != nil {
		return "", "", fmt.Errorf("open secret of %s: %w", d.EndpointID, err)
	}
	if d.PreviousSecretUntil == nil || !d.PreviousSecretUntil.After(s.config.Now()) {
		return string(opened), "", nil
	}
	before, err := s.config.Box.Open(d.PreviousSecret, sealContext(d.EndpointID))
	if err != nil {
		return "", "", fmt.Errorf("open previous secret of %s: %w", d.EndpointID, err)
	}
	return string(opened), string(before), nil
}

// closed is why the endpoint receives no more deliveries; empty while it does.
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
	return tenancy.CheckTenant(d.TenantStatus) != nil
}

func observed(o outcome) string {
	if o.failure == "" {
		return statusDelivered
	}
	return statusFailed
}
