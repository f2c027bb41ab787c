package billing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/processor"
)

const (
	// keepEvents is how long processed events are kept, and keepAbandoned is for events that
	// failed permanently.
	keepEvents    = 30 * 24 * time.Hour
	keepAbandoned = 90 * 24 * time.Hour
	// maxAttempts of an event's job. A job that runs while the server is killed has used an attempt, so they must not run out in a
	// series of crashes. With the pauses of jobs, the others take longer than keepAbandoned.
	maxAttempts = math.MaxInt16
)

// ProcessorEventArgs is the job that processes one event.
type ProcessorEventArgs struct {
	EventID string `json:"eventId"`
}

// Kind names the job.
func (ProcessorEventArgs) Kind() string { return "billing_processor_event" }

// InsertOpts allows enough attempts to outlast an outage of the processor.
func (ProcessorEventArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: processor.Queue, MaxAttempts: maxAttempts}
}

// ReceiveProcessorEvent stores an event. body is the raw request body, signature its
// header. A known event, or one of a type without an effect, is accepted. A wrong
// signature is a problem with the code invalid_signature; without a secret to check it,
// the code is processor_unavailable.
func (s *Service) ReceiveProcessorEvent(ctx context.Context, body []byte, signature string) error {
	e, err := s.config.Processor.Verify(body, signature)
	if err != nil {
		return err
	}
	row := db.CreateProcessorEventParams{ID: e.ID, Type: e.Type, Payload: e.Payload, ReceivedAt: s.config.Now()}
	if e.AccountID != "" {
		row.AccountID = &e.AccountID
	}
	needed := concerns(e) != ignored
	if !needed {
		// Only the receipt is recorded: the payload may contain data about people who aren't our users.
		row.ProcessedAt, row.Payload = &row.ReceivedAt, []byte("{}")
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		isNew, err := db.New(tx).CreateProcessorEvent(ctx, row)
		if err != nil {
			return fmt.Errorf("create processor event: %w", err)
		}
		if isNew == 0 || !needed {
			return nil
		}
		jobs := []river.InsertManyParams{{Args: ProcessorEventArgs{EventID: e.ID}}}
		if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
			return fmt.Errorf("insert job of processor event: %w", err)
		}
		return nil
	})
}

// DeleteOld deletes events whose retention period is over.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	return postgres.DeleteInBatches(ctx, "processor events", func(maxRows int32) (int64, error) {
		return q.DeleteProcessorEventsBefore(ctx, db.DeleteProcessorEventsBeforeParams{
			Before: now.Add(-keepEvents), Abandoned: now.Add(-keepAbandoned), MaxRows: maxRows,
		})
	})
}

// load returns the event; todo is false if it was processed already or doesn't exist.
func (s *Service) load(ctx context.Context, eventID string) (row db.ProcessorEvent, todo bool, err error) {
	row, err = db.New(s.config.Pool).GetProcessorEvent(ctx, eventID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return row, false, nil
	case err != nil:
		return row, false, fmt.Errorf("get processor event: %w", err)
	default:
		return row, row.ProcessedAt == nil, nil
	}
}
