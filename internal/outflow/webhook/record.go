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
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
)

// record stores the attempt. After a first attempt it also releases the delivery
// that waits for it: if this delivery arrived and hold is set, this worker
// continues with it, otherwise it gets a job. A delivery that will be retried gets
// a job too, unless the running job is its own (own).
//
// If the row has changed, the attempt is not stored, and the caller reads the row again.
// Our own earlier write may have timed out but committed, here or in an earlier run of
// this job; then no other worker continues the line.
func (s *Service) record(ctx context.Context, d db.ListDeliveriesForAttemptRow, o outcome, own, hold bool) (nextStep, error) {
	now := s.config.Now()
	p, again, err := recording(d, o, now, s.config.Schedule)
	if err != nil {
		return nextStep{}, err
	}
	p.Hold = hold && o.failure == ""
	if (own || again.IsZero()) && !changesHealth(d, o, now) {
		if r, err := s.recordLone.Do(ctx, p); err != nil || r.done {
			return nextStep{again: again, next: r.next}, err
		}
	}
	var t nextStep
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		t = nextStep{}
		if own {
			t.again = again
		}
		q := db.New(tx)
		next, err := q.RecordAttempt(ctx, p)
		if errors.Is(err, pgx.ErrNoRows) {
			t = nextStep{next: d.ID} // the row has changed: see above
			return nil
		}
		if err != nil {
			return fmt.Errorf("record attempt: %w", err)
		}
		if err := s.noteHealth(ctx, tx, d, o, now); err != nil {
			return err
		}
		if !own && !again.IsZero() {
			if err := s.enqueueAt(ctx, tx, d.ID, again); err != nil {
				return err
			}
		}
		t.next, err = s.release(ctx, tx, next, d.Tries, p.Hold)
		return err
	})
	return t, err
}

// release gives a job to the delivery that waited for one after its first attempt.
// With hold it returns that delivery instead, for the worker to continue with.
func (s *Service) release(ctx context.Context, tx pgx.Tx, next *string, triesBefore int32, hold bool) (held string, err error) {
	switch {
	case next == nil || triesBefore > 0:
		return "", nil
	case hold:
		return *next, nil
	}
	return "", s.enqueue(ctx, tx, *next)
}

func (s *Service) markFailed(ctx context.Context, d db.ListDeliveriesForAttemptRow, why string, hold bool) (nextStep, error) {
	var t nextStep
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		t = nextStep{}
		next, err := db.New(tx).GiveUpDelivery(ctx, db.GiveUpDeliveryParams{TenantID: d.TenantID, ID: d.ID, Error: &why, Hold: hold})
		if errors.Is(err, pgx.ErrNoRows) {
			t = nextStep{next: d.ID} // the row has changed, as in record
			return nil
		}
		if err != nil {
			return fmt.Errorf("mark delivery as failed: %w", err)
		}
		t.next, err = s.release(ctx, tx, next, d.Tries, hold)
		return err
	})
	return t, err
}

// logEntry is one attempt in a delivery's log.
type logEntry struct {
	At             string  `json:"at"`
	ResponseStatus *int32  `json:"responseStatus"`
	DurationMs     int64   `json:"durationMs"`
	Error          *string `json:"error"`
}

// recording decides a delivery's new state after an attempt.
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

// entry is an attempt in the delivery's log.
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

// pause is the time between an attempt and the next. It varies by ±20 %, so that
// deliveries don't all hit an endpoint at once after it was down. It is
// deterministic for a delivery and its number of tries.
func pause(deliveryID string, tries int, schedule []time.Duration) time.Duration {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", deliveryID, tries)
	spread := 0.8 + 0.4*float64(h.Sum32()%1000)/999
	return time.Duration(float64(schedule[tries]) * spread)
}
