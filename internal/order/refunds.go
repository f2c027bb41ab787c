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
	"showfloor/internal/account"
	"showfloor/internal/audit"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
	"showfloor/internal/processor"
)

// finishAfter is when a refund is looked at that may have been left half done: by
// then the call that made it is over.
const finishAfter = time.Minute

// FinishRefundArgs is the job that sees a refund through, should the call that
// began it not have come to its end.
type FinishRefundArgs struct {
	RefundID string `json:"refundId"`
}

// Kind names the job.
func (FinishRefundArgs) Kind() string { return "order_finish_refund" }

// InsertOpts lets it go on for as long as the processor can't be reached.
func (FinishRefundArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: processor.Queue, MaxAttempts: math.MaxInt16}
}

// NewRefund is a refund that somebody asks for.
type NewRefund struct {
	// AmountCents is nil for all that is left.
	AmountCents *int64
	// Reason is for the tenant's own records; nil for none.
	Reason *string
}

// RefundOrder gives money back in three steps that a job goes on with if this
// process dies: the refund is written down, the processor makes it, and its answer
// is written down. While the processor can't be reached it stays written down.
func (s *Service) RefundOrder(ctx context.Context, c account.Caller, orderID string, n NewRefund) (View, error) {
	o, r, err := s.beginRefund(ctx, c, orderID, n)
	if err != nil {
		return View{}, err
	}
	err = s.makeRefund(ctx, o, r)
	if problem.Is(err, "processor_unavailable") {
		err = errors.Join(problem.New(problem.Unavailable, "processor_unavailable",
			"the payment processor can't be reached; the refund is noted and will be made as soon as it can be: don't ask for it again"), err)
	}
	if err != nil {
		return View{}, err
	}
	return s.GetOrder(ctx, c, orderID)
}

// beginRefund sets the amount aside, so that no other refund gives it back too.
func (s *Service) beginRefund(ctx context.Context, c account.Caller, orderID string, n NewRefund) (o db.Order, r db.Refund, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		var refunds []db.Refund
		if o, refunds, err = lockRefunds(ctx, q, c.TenantID, orderID); err != nil {
			return err
		}
		cents, err := refundable(o, refunds, n.AmountCents)
		if err != nil {
			return err
		}
		if err := s.config.Processor.CheckKey(); err != nil {
			return err
		}
		r, err = q.CreateRefund(ctx, db.CreateRefundParams{
			ID: id.New(id.Refund), TenantID: o.TenantID, OrderID: o.ID, AmountCents: cents, Status: refundPending, Reason: n.Reason, Now: now,
		})
		if err != nil {
			return fmt.Errorf("create refund: %w", err)
		}
		opts := FinishRefundArgs{}.InsertOpts()
		opts.ScheduledAt = now.Add(finishAfter)
		jobs := []river.InsertManyParams{{Args: FinishRefundArgs{RefundID: r.ID}, InsertOpts: &opts}}
		if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
			return fmt.Errorf("insert job of refund: %w", err)
		}
		return auditRefund(ctx, q, now, c.Actor(), "order.refund", r)
	})
	return o, r, err
}

// makeRefund has the processor make a refund that was written down. A refusal ends
// it, and is a conflict; while the processor can't be reached it stays PENDING.
func (s *Service) makeRefund(ctx context.Context, o db.Order, r db.Refund) error {
	made, err := s.config.Processor.CreateRefund(ctx, processor.NewRefund{
		AccountID: *o.ProcessorAccountID, RefundID: r.ID, OrderID: o.ID, TenantID: o.TenantID,
		PaymentIntentID: *o.PaymentIntentID, AmountCents: r.AmountCents, WithFee: o.ApplicationFeeCents > 0,
	})
	if refusal, refused := errors.AsType[*processor.Refusal](err); refused {
		if err := s.rejectRefund(ctx, r, refusal); err != nil {
			return err
		}
		return refusedRefund(refusal.Code)
	}
	if err != nil {
		return err
	}
	made.RefundID = r.ID
	if err := s.applyRefunds(ctx, o.TenantID, o.ID, []processor.Refund{made}); err != nil {
		return err
	}
	if made.Status == processor.RefundFailed {
		return refusedRefund("")
	}
	return nil
}

// FinishRefund sees a refund through that was begun. It may run twice, also
// beside the call that began it.
func (s *Service) FinishRefund(ctx context.Context, refundID string) error {
	row, err := db.New(s.config.Pool).GetRefundForFinish(ctx, refundID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("get refund: %w", err)
	case row.Refund.Status != refundPending:
		return nil
	}
	o, r := row.Order, row.Refund
	// The processor forgets after a day what it has done for a key.
	made, err := s.config.Processor.ListRefunds(ctx, *o.ProcessorAccountID, *o.PaymentIntentID)
	if err != nil {
		// Also when it refuses, as for a seller who has cut the account off: the refund
		// may have been made all the same, so its amount isn't free for another one.
		return err
	}
	for _, m := range made {
		if m.RefundID == r.ID {
			return s.applyRefunds(ctx, o.TenantID, o.ID, made)
		}
	}
	if err = s.makeRefund(ctx, o, r); problem.Is(err, "conflict") {
		return nil // refused: that is an end too, and written down
	}
	return err
}

// rejectRefund ends a refund that the processor didn't make: the amount is free
// again.
func (s *Service) rejectRefund(ctx context.Context, r db.Refund, refusal *processor.Refusal) error {
	s.config.Log.WarnContext(ctx, "refund refused", "error", refusal, "refundId", r.ID, "orderId", r.OrderID)
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		_, refunds, err := lockRefunds(ctx, q, r.TenantID, r.OrderID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(refunds, func(row db.Refund) bool { return row.ID == r.ID })
		if i < 0 || refunds[i].Status != refundPending {
			return nil
		}
		err = q.SetRefundStatus(ctx, db.SetRefundStatusParams{TenantID: r.TenantID, ID: r.ID, Status: refundFailed, Now: now})
		if err != nil {
			return fmt.Errorf("set refund's status: %w", err)
		}
		return auditRefund(ctx, q, now, audit.System("processor"), "order.refund_failed", refunds[i])
	})
}

// lockRefunds locks an order, and with it its refunds.
func lockRefunds(ctx context.Context, q *db.Queries, tenantID, orderID string) (db.Order, []db.Refund, error) {
	o, err := q.LockOrder(ctx, db.LockOrderParams{TenantID: tenantID, ID: orderID})
	if errors.Is(err, pgx.ErrNoRows) {
		return o, nil, problem.Missing("order")
	}
	if err != nil {
		return o, nil, fmt.Errorf("lock order: %w", err)
	}
	refunds, err := q.ListRefunds(ctx, db.ListRefundsParams{TenantID: tenantID, OrderID: orderID})
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
	return audit.Write(ctx, q, now, e)
}
