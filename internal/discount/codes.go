package discount

import (
	"context"
	"errors"
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
	"showfloor/internal/realtime"
	"showfloor/internal/timestamp"
)

// Input describes a new code. The API has validated its form and limits. nil means none.
type Input struct {
	Code                           string
	PercentOff                     *int32
	AmountOffCents                 *int64
	StartsAt, EndsAt               *time.Time
	MaxRedemptions, MaxPerCustomer *int32
	// StreamID is the only stream in which the code is valid.
	StreamID *string
	Active   bool
}

// DropInput describes a code for the current viewers of a stream.
type DropInput struct {
	Code           string
	PercentOff     int32
	Duration       time.Duration
	MaxRedemptions *int32
}

// ListDiscounts returns a page of the tenant's codes, newest first. cursor is the
// id after which the page begins; nil for the start.
func (s *Service) ListDiscounts(ctx context.Context, c account.Caller, cursor *string, limit int) ([]db.Discount, error) {
	rows, err := db.New(s.config.Pool).ListDiscounts(ctx, db.ListDiscountsParams{TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list discounts: %w", err)
	}
	return rows, nil
}

// CreateDiscount creates a code.
func (s *Service) CreateDiscount(ctx context.Context, c account.Caller, in Input) (db.Discount, error) {
	in = in.rounded()
	if err := in.check(); err != nil {
		return db.Discount{}, err
	}
	return s.create(ctx, c, in, "discount.create", func(d db.Discount) event.Event {
		return event.Event{Name: event.DiscountCreated, Data: createdOf(d)}
	})
}

// DropDiscount creates a code that is valid in one stream for a limited time from
// now on, and publishes it to the stream's viewers.
func (s *Service) DropDiscount(ctx context.Context, c account.Caller, streamID string, in DropInput) (db.Discount, error) {
	start := s.config.Now()
	made := Input{
		Code: in.Code, PercentOff: &in.PercentOff, StartsAt: &start, EndsAt: new(start.Add(in.Duration)),
		MaxRedemptions: in.MaxRedemptions, StreamID: &streamID, Active: true,
	}.rounded()
	d, err := s.create(ctx, c, made, "discount.drop", func(d db.Discount) event.Event {
		return event.Event{Name: event.DiscountDropped, Data: droppedOf(d)}
	})
	if err != nil {
		return db.Discount{}, err
	}
	s.config.Realtime.Publish(ctx, realtime.Publication{
		Room: streamID, Type: realtime.DiscountDrop, Data: dropData{d.Code, *d.PercentOff, timestamp.From(*d.EndsAt)},
	})
	return d, nil
}

// create writes the code, its event and its audit entry.
func (s *Service) create(
	ctx context.Context, c account.Caller, in Input, action string, tell func(db.Discount) event.Event,
) (db.Discount, error) {
	var d db.Discount
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		if err := checkStream(ctx, q, c.TenantID, in.StreamID); err != nil {
			return err
		}
		var err error
		d, err = q.CreateDiscount(ctx, db.CreateDiscountParams{
			ID: id.New(id.Discount), TenantID: c.TenantID, Code: in.Code, PercentOff: in.PercentOff, AmountOffCents: in.AmountOffCents,
			StartsAt: in.StartsAt, EndsAt: in.EndsAt, MaxRedemptions: in.MaxRedemptions, MaxPerCustomer: in.MaxPerCustomer,
			StreamID: in.StreamID, Active: in.Active, Now: now,
		})
		if postgres.IsUnique(err, "discounts_code_key") {
			return problem.Conflicting("there is a discount code %s already", in.Code)
		}
		if err != nil {
			return fmt.Errorf("create discount: %w", err)
		}
		e := tell(d)
		e.TenantID, e.Subject = c.TenantID, d.ID
		if err := s.config.Events.Emit(ctx, tx, e); err != nil {
			return err
		}
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: action, Entity: "discount", EntityID: d.ID, After: createdOf(d),
		})
	})
	return d, err
}

// checkStream returns an error unless the stream belongs to the tenant; nil means
// no stream.
func checkStream(ctx context.Context, q *db.Queries, tenantID string, streamID *string) error {
	if streamID == nil {
		return nil
	}
	known, err := q.HasStream(ctx, db.HasStreamParams{TenantID: tenantID, ID: *streamID})
	switch {
	case err != nil:
		return fmt.Errorf("look for stream: %w", err)
	case !known:
		return problem.Missing("stream")
	}
	return nil
}

// Check is the result of a check of a code.
type Check struct {
	// Discount is nil if there is no such code.
	Discount *db.Discount
	// Refusal is the reason why the code can't be used; empty if it can.
	Refusal Refusal
}

// CheckDiscount reports whether a checkout would accept the code now, in this
// stream and from this customer; a nil id means any. It holds no use.
func (s *Service) CheckDiscount(ctx context.Context, c account.Caller, code string, streamID, customerID *string) (Check, error) {
	if !codes.MatchString(code) {
		return Check{Refusal: Unknown}, nil
	}
	row, err := db.New(s.config.Pool).CheckDiscount(ctx, db.CheckDiscountParams{
		TenantID: c.TenantID, Code: code, Stream: streamID, Customer: customerID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Check{Refusal: Unknown}, nil
	}
	if err != nil {
		return Check{}, fmt.Errorf("check discount: %w", err)
	}
	check := Check{Discount: &row.Discount, Refusal: usable(row.Discount, s.config.Now(), streamID)}
	if check.Refusal == none && streamID != nil && !row.StreamKnown {
		check.Refusal = OtherStream
	}
	if check.Refusal == none && customerID != nil {
		check.Refusal = usableBy(row.Discount, row.CustomerUses)
	}
	return check, nil
}
