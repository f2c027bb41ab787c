package billing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/postgres"
	"showfloor/internal/processor"
)

const (
	// keepEvents is how long events are kept that were worked through, and
	// keepAbandoned those that can't be.
	keepEvents    = 30 * 24 * time.Hour
	keepAbandoned = 90 * 24 * time.Hour
	// maxAttempts of an event's job: with the queue's own pauses, whose length is
	// the attempt's number to the fourth in seconds, they take almost four days, more
	// than the processor's own attempts to report.
	maxAttempts = 18
)

// ProcessorEventArgs is the job that works through one event.
type ProcessorEventArgs struct {
	EventID string `json:"eventId"`
}

// Kind names the job.
func (ProcessorEventArgs) Kind() string { return "billing_processor_event" }

// InsertOpts lets it go on through an outage of the processor.
func (ProcessorEventArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: processor.Queue, MaxAttempts: maxAttempts}
}

// ReceiveProcessorEvent takes an event in: body is as it came, signature the
// header that goes with it. An event that is known already, or of a type that
// nothing is done about, is accepted. A wrong signature is a problem with the code
// invalid_signature; no secrets to check it with are processor_unavailable.
func (s *Service) ReceiveProcessorEvent(ctx context.Context, body []byte, signature string) error {
	e, err := s.config.Processor.Verify(body, signature)
	if err != nil {
		return err
	}
	row := db.CreateProcessorEventParams{ID: e.ID, Type: e.Type, Payload: e.Payload, ReceivedAt: s.config.Now()}
	if e.AccountID != "" {
		row.AccountID = &e.AccountID
	}
	needed := concerns(e) != nobody
	if !needed {
		// That it came is enough: it may be about people whom we don't know.
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

// DeleteOld deletes events that were received long ago.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	return postgres.DeleteInBatches("processor events", func(maxRows int32) (int64, error) {
		return q.DeleteProcessorEventsBefore(ctx, db.DeleteProcessorEventsBeforeParams{
			Before: now.Add(-keepEvents), Abandoned: now.Add(-keepAbandoned), MaxRows: maxRows,
		})
	})
}

// load is the event, unless it was worked through already or isn't there.
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
