package discount

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
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
	// dropped codes are shown to all viewers of their stream.
	dropped bool
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
func (s *Service) ListDiscounts(ctx context.Context, c tenancy.Caller, cursor *string, limit int) ([]db.Discount, error) {
	rows, err := db.New(s.config.Pool).ListDiscounts(ctx, db.ListDiscountsParams{TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list discounts: %w", err)
	}
	return rows, nil
}

// CreateDiscount creates a code.
func (s *Service) CreateDiscount(ctx context.Context, c tenancy.Caller, in Input) (db.Discount, error) {
	in = in.rounded()
	if err := in.check(); err != nil {
		return db.Discount{}, err
	}
	var d db.Discount
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		if d, err = s.create(ctx, tx, c, in, "discount.create"); err != nil {
			return err
		}
		return s.config.Events.EmitTx(ctx, tx, event.Event{
			TenantID: c.TenantID, Name: event.DiscountCreated, Subject: d.ID, Data: createdOf(d),
		})
	})
	return d, err
}

// DropDiscount creates a code that is valid in one stream for a limited time from
// now on, and publishes it to the stream's viewers.
func (s *Service) DropDiscount(ctx context.Context, c tenancy.Caller, streamID string, in DropInput) (db.Discount, error) {
	start := s.config.Now()
	made := Input{
		Code: in.Code, PercentOff: &in.PercentOff, StartsAt: &start, EndsAt: new(start.Add(in.Duration)),
		MaxRedemptions: in.MaxRedemptions, StreamID: &streamID, Active: true, dropped: true,
	}.rounded()
	var d db.Discount
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		if d, err = s.create(ctx, tx, c, made, "discount.drop"); err != nil {
			return err
		}
		postgres.AfterCommit(tx, func() {
			s.config.Realtime.Publish(ctx, realtime.Publication{
				Room: streamID, Type: realtime.DiscountDrop, Data: dropData{d.Code, *d.PercentOff, timestamp.From(*d.EndsAt)},
			})
		})
		return s.config.Events.EmitTx(ctx, tx, event.Event{
			TenantID: c.TenantID, Name: event.DiscountDropped, Subject: d.ID, Data: droppedOf(d),
		})
	})
	return d, err
}

// ListDrops returns the codes that were dropped in a stream and can be used now, newest first.
func (s *Service) ListDrops(ctx context.Context, c tenancy.Caller, streamID string, limit int) ([]db.Discount, error) {
	rows, err := db.New(s.config.Pool).ListDrops(ctx, db.ListDropsParams{
		TenantID: c.TenantID, StreamID: streamID, Now: s.config.Now(), MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list dropped codes: %w", err)
	}
	return rows, nil
}

// create writes the code and its audit entry.
func (s *Service) create(ctx context.Context, tx pgx.Tx, c tenancy.Caller, in Input, action string) (db.Discount, error) {
	q, now := db.New(tx), s.config.Now()
	if in.StreamID != nil {
		if err := s.config.Streams.CheckStreamTx(ctx, tx, c.TenantID, *in.StreamID); err != nil {
			return db.Discount{}, err
		}
	}
	d, err := q.CreateDiscount(ctx, db.CreateDiscountParams{
		ID: id.New(id.Discount), TenantID: c.TenantID, Code: in.Code, PercentOff: in.PercentOff, AmountOffCents: in.AmountOffCents,
		StartsAt: in.StartsAt, EndsAt: in.EndsAt, MaxRedemptions: in.MaxRedemptions, MaxPerCustomer: in.MaxPerCustomer,
		StreamID: in.StreamID, Active: in.Active, Dropped: in.dropped, Now: now,
	})
	if postgres.IsUnique(err, "discounts_code_key") {
		return d, problem.Conflicting("there is a discount code %s already", in.Code)
	}
	if err != nil {
		return d, fmt.Errorf("create discount: %w", err)
	}
	return d, audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: c.Actor(), TenantID: c.TenantID, Action: action, Entity: "discount", EntityID: d.ID, After: createdOf(d),
	})
}

// Check is the result of a check of a code.
type Check struct {
	// Discount is nil if there is no such code.
	Discount *db.Discount
	// Refusal is the reason why the code can't be used; empty if it can.
	Refusal Refusal
}

// OffCents is what a usable code takes off a subtotal, at most the subtotal.
func (c Check) OffCents(subtotalCents int64) int64 {
	if c.Discount == nil || c.Refusal != none {
		return 0
	}
	return off(*c.Discount, subtotalCents)
}

// CheckDiscount reports whether a checkout would accept the code now, in this
// stream and from this customer; a nil id means any. It holds no use.
func (s *Service) CheckDiscount(ctx context.Context, c tenancy.Caller, code string, streamID, customerID *string) (Check, error) {
	if !codes.MatchString(code) {
		return Check{Refusal: Unknown}, nil
	}
	row, err := db.New(s.config.Pool).CheckDiscount(ctx, db.CheckDiscountParams{
		TenantID: c.TenantID, Code: code, Customer: customerID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Check{Refusal: Unknown}, nil
	}
	if err != nil {
		return Check{}, fmt.Errorf("check discount: %w", err)
	}
	check := Check{Discount: &row.Discount, Refusal: usable(row.Discount, s.config.Now(), streamID)}
	if check.Refusal == none && streamID != nil {
		err := s.config.Streams.CheckStreamTx(ctx, s.config.Pool, c.TenantID, *streamID)
		switch {
		case problem.Is(err, "not_found"):
			check.Refusal = OtherStream
		case err != nil:
			return Check{}, err
		}
	}
	if check.Refusal == none && customerID != nil {
		check.Refusal = usableBy(row.Discount, row.CustomerUses)
	}
	return check, nil
}
