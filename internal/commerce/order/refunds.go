package order

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// finishAfter is when the job first checks a refund. The request that made it has
// ended by then.
const finishAfter = time.Minute

// FinishRefundArgs is the job that completes a PENDING refund. Only one such job
// of a refund is effective: the one whose Revived equals the row's.
type FinishRefundArgs struct {
	RefundID string `json:"refundId"`
	// Revived marks the job of a refund that was FAILED and is PENDING again.
	Revived bool `json:"revived,omitempty"`
}

// Kind is the job's name.
func (FinishRefundArgs) Kind() string { return "order_finish_refund" }

// InsertOpts lets the job retry for as long as the processor can't be reached.
func (FinishRefundArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: processor.Queue, MaxAttempts: math.MaxInt16}
}

// NewRefund is a requested refund.
type NewRefund struct {
	// AmountCents is nil for all that is left.
	AmountCents *int64
	// Reason is for the tenant's own records; nil for none.
	Reason *string
	// Key is the request's Idempotency-Key; empty for none.
	Key string
}

// RefundOrder stores a refund as PENDING and has the processor make it. Without a
// definite answer from the processor the refund stays PENDING, which is no error,
// and a job continues. A refusal makes it FAILED; the problem is a conflict.
func (s *Service) RefundOrder(ctx context.Context, c tenancy.Caller, orderID string, n NewRefund) (View, error) {
	accepted, r, err := s.beginRefund(ctx, c, orderID, n)
	if err != nil {
		return View{}, err
	}
	_, err = s.makeRefund(ctx, accepted.Order, r)
	if problem.Is(err, "conflict") {
		return View{}, err
	}
	if err != nil {
		s.config.Log.WarnContext(ctx, "a refund is left to its job", "error", err, "refundId", r.ID, "orderId", orderID)
	}
	now, err := s.GetOrder(ctx, c, orderID)
	if err != nil {
		// The refund was accepted all the same.
		s.config.Log.WarnContext(ctx, "an order with a new refund can't be read", "error", err, "refundId", r.ID, "orderId", orderID)
		return accepted, nil
	}
	return now, nil
}

// beginRefund reserves the amount, so that no other refund gives it back too, and
// returns the order with the refund.
func (s *Service) beginRefund(ctx context.Context, c tenancy.Caller, orderID string, n NewRefund) (v View, r db.Refund, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		o, refunds, err := lockRefunds(ctx, q, c.TenantID, orderID)
		if err != nil {
			return err
		}
		cents, err := refundable(o, refunds, n)
		if err != nil {
			return err
		}
		if err := s.config.Processor.CheckKey(); err != nil {
			return err
		}
		r, err = q.CreateRefund(ctx, db.CreateRefundParams{
			ID: id.New(id.Refund), TenantID: o.TenantID, OrderID: o.ID, AmountCents: cents, Status: refundPending, Source: sourceAPI,
			Reason: n.Reason, IdempotencyKey: optional(n.Key), Now: now,
		})
		if err != nil {
			return fmt.Errorf("create refund: %w", err)
		}
		if err := s.enqueueFinish(ctx, tx, r, now.Add(finishAfter)); err != nil {
			return err
		}
		if err := auditRefund(ctx, q, now, c.Actor(), "order.refund", r); err != nil {
			return err
		}
		views, err := withDetails(ctx, q, o.TenantID, o)
		if err != nil {
			return err
		}
		v = views[0]
		return nil
	})
	return v, r, err
}

func (s *Service) enqueueFinish(ctx context.Context, tx pgx.Tx, r db.Refund, at time.Time) error {
	opts := FinishRefundArgs{}.InsertOpts()
	opts.ScheduledAt = at
	jobs := []river.InsertManyParams{{Args: FinishRefundArgs{RefundID: r.ID, Revived: r.Revived}, InsertOpts: &opts}}
	if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("insert job of refund: %w", err)
	}
	return nil
}

// makeRefund has the processor make a stored refund, and returns its status there.
// If the processor refuses it, the refund becomes FAILED and the problem is a
// conflict; with any other error it stays PENDING.
func (s *Service) makeRefund(ctx context.Context, o db.Order, r db.Refund) (status string, err error) {
	made, err := s.config.Processor.CreateRefund(ctx, processor.NewRefund{
		AccountID: *o.ProcessorAccountID, RefundID: r.ID, OrderID: o.ID, TenantID: o.TenantID,
		PaymentIntentID: *o.PaymentIntentID, AmountCents: r.AmountCents, WithFee: o.ApplicationFeeCents > 0,
	})
	if refusal, refused := errors.AsType[*processor.Refusal](err); refused {
		if err := s.rejectRefund(ctx, r, refusal); err != nil {
			return "", err
		}
		return "", errRefundRefused(refusal.Code)
	}
	if err != nil {
		return "", err
	}
	made.RefundID = r.ID
	if err := s.applyRefunds(ctx, o.TenantID, o.ID, []processor.Refund{made}); err != nil {
		return "", err
	}
	if made.Status == processor.RefundFailed {
		return "", errRefundRefused(made.FailureReason)
	}
	return made.Status, nil
}

// FinishRefund makes a PENDING refund unless the processor has it, and takes over
// its status. It returns when to call it again if the refund is pending at the
// processor. It returns the zero time when nothing remains to do or another job
// does it. It may run twice, also concurrently with the request.
func (s *Service) FinishRefund(ctx context.Context, args FinishRefundArgs) (again time.Time, err error) {
	row, err := db.New(s.config.Pool).GetRefundForFinish(ctx, args.RefundID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, fmt.Errorf("get refund: %w", err)
	case row.Refund.Status != refundPending || row.Refund.Revived != args.Revived:
		return time.Time{}, nil
	}
	o, r := row.Order, row.Refund
	// Ask first: the processor forgets an idempotency key after a day.
	made, err := s.config.Processor.ListRefunds(ctx, *o.ProcessorAccountID, *o.PaymentIntentID)
	if err != nil {
		// Also if the processor refuses, as for a seller who has disconnected the account.
		// The refund may have been made all the same, so its amount must stay reserved.
		return time.Time{}, err
	}
	var status string
	switch i := slices.IndexFunc(made, func(m processor.Refund) bool { return isRefund(r, m) }); {
	case i >= 0:
		status, err = made[i].Status, s.applyRefunds(ctx, o.TenantID, o.ID, made)
	case r.ProcessorRefundID != nil: // the processor had it before: the list is out of date
		status = processor.RefundPending
	default:
		status, err = s.makeRefund(ctx, o, r)
	}
	switch {
	case problem.Is(err, "conflict"): // refused: the refund is stored as FAILED
		return time.Time{}, nil
	case err == nil && status == processor.RefundPending:
		return nextLook(r, s.config.Now()), nil
	default:
		return time.Time{}, err
	}
}

// rejectRefund marks a refund that the processor refused as FAILED. Its amount can
// be refunded again.
func (s *Service) rejectRefund(ctx context.Context, r db.Refund, refusal *processor.Refusal) error {
	s.config.Log.WarnContext(ctx, "refund refused", "error", refusal, "refundId", r.ID, "orderId", r.OrderID)
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		o, refunds, err := lockRefunds(ctx, db.New(tx), r.TenantID, r.OrderID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(refunds, func(row db.Refund) bool { return row.ID == r.ID })
		if i < 0 || refunds[i].Status != refundPending || refunds[i].ProcessorRefundID != nil {
			return nil
		}
		return s.takeStep(ctx, tx, o, step{row: &refunds[i], status: refundFailed, reason: refusal.Code}, s.config.Now())
	})
}

// lockRefunds locks an order, and so also its refunds.
func lockRefunds(ctx context.Context, q *db.Queries, tenantID, orderID string) (db.Order, []db.Refund, error) {
	o, err := q.LockOrder(ctx, db.LockOrderParams{TenantID: tenantID, ID: orderID})
	if errors.Is(err, pgx.ErrNoRows) {
		return o, nil, problem.Missing("order")
	}
	if err != nil {
		return o, nil, fmt.Errorf("lock order: %w", err)
	}
	refunds, err := q.ListRefunds(ctx, db.ListRefundsParams{TenantID: tenantID, OrderIds: []string{orderID}})
	if err != nil {
		return o, nil, fmt.Errorf("list refunds: %w", err)
	}
	return o, refunds, nil
}

func auditRefund(ctx context.Context, q *db.Queries, now time.Time, actor audit.Actor, action string, r db.Refund) error {
	e := audit.Entry{
		Actor: actor, TenantID: r.TenantID, Action: action, Entity: "order", EntityID: r.OrderID,
		After: map[string]any{"refundId": r.ID, "amountCents": r.AmountCents},
	}
	if r.Reason != nil {
		e.Reason = *r.Reason
	}
	return audit.WriteTx(ctx, q, now, e)
}
