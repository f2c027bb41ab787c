package order

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
	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/audit"
)

// ApplyRefunds updates an order with its payment's refunds. It asks the processor
// for them, so reports may come in any order and any number. Refunds made at the
// processor are added; those that failed later are subtracted again. For a payment
// that belongs to no order the problem is not_found.
func (s *Service) ApplyRefunds(ctx context.Context, accountID, paymentIntentID string) error {
	tenantID, orderID, err := s.orderOfPayment(ctx, accountID, paymentIntentID)
	if err != nil {
		return err
	}
	made, err := s.config.Processor.ListRefunds(ctx, accountID, paymentIntentID)
	if err != nil {
		return err
	}
	return s.applyRefunds(ctx, tenantID, orderID, made)
}

// orderOfPayment returns the order of a payment on a seller's account. If there is
// none, the problem is not_found.
func (s *Service) orderOfPayment(ctx context.Context, accountID, paymentIntentID string) (tenantID, orderID string, err error) {
	found, err := db.New(s.config.Pool).FindOrderOfPayment(ctx, db.FindOrderOfPaymentParams{
		PaymentIntentID: paymentIntentID, ProcessorAccountID: accountID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", "", problem.Missing("payment")
	}
	if err != nil {
		return "", "", fmt.Errorf("find order of payment: %w", err)
	}
	return found.TenantID, found.ID, nil
}

// applyRefunds updates a paid order with some of its refunds as the processor
// reports them, newest first. Each refund that succeeded or failed causes one
// event.
func (s *Service) applyRefunds(ctx context.Context, tenantID, orderID string, made []processor.Refund) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		o, refunds, err := lockRefunds(ctx, q, tenantID, orderID)
		if err != nil {
			return err
		}
		todo := steps(refunds, made)
		if len(todo) == 0 {
			return nil
		}
		cents := sumRefunds(refunds)
		for _, st := range todo {
			cents += st.cents
			o = withRefunded(o, cents)
			if err := s.takeStep(ctx, tx, o, st, now); err != nil {
				return err
			}
		}
		err = q.SetOrderRefunded(ctx, db.SetOrderRefundedParams{
			TenantID: o.TenantID, ID: o.ID, RefundedCents: o.RefundedCents, Status: o.Status, Now: now,
		})
		if err != nil {
			return fmt.Errorf("set order refunded: %w", err)
		}
		return nil
	})
}

// takeStep writes one refund with its audit entries, and its event if it succeeded
// or failed. A refund gets a job if it is PENDING and new here, or PENDING again.
// o is the order after the refund.
func (s *Service) takeStep(ctx context.Context, tx pgx.Tx, o db.Order, st step, now time.Time) error {
	q := db.New(tx)
	r, err := writeRefund(ctx, q, o, st, now)
	if err != nil {
		return err
	}
	if st.row == nil {
		if err := auditRefund(ctx, q, now, audit.System("processor"), "order.refund", r); err != nil {
			return err
		}
	}
	switch st.status {
	case refundFailed:
		if err := auditRefund(ctx, q, now, audit.System("processor"), "order.refund_failed", r); err != nil {
			return err
		}
		return s.config.Events.EmitTx(ctx, tx, event.Event{
			TenantID: o.TenantID, Name: event.PurchaseRefundFailed, Subject: o.ID, Data: purchaseRefundFailedData(o, r),
		})
	case refundSucceeded:
		return s.config.Events.EmitTx(ctx, tx, event.Event{
			TenantID: o.TenantID, Name: event.PurchaseRefunded, Subject: o.ID, Data: purchaseRefundedData(o, r),
		})
	}
	if st.row != nil && st.row.Revived == r.Revived {
		return nil // it has a job already
	}
	// The job of a FAILED refund has ended, or is about to.
	return s.enqueueFinish(ctx, tx, r, nextLook(r, now))
}

func writeRefund(ctx context.Context, q *db.Queries, o db.Order, st step, now time.Time) (r db.Refund, err error) {
	if st.row == nil {
		r, err = q.CreateRefund(ctx, db.CreateRefundParams{
			ID: id.New(id.Refund), TenantID: o.TenantID, OrderID: o.ID, AmountCents: st.refund.AmountCents,
			Status: st.status, Source: sourceProcessor, ProcessorRefundID: &st.refund.ID, Now: now,
		})
	} else {
		r, err = q.SetRefundStatus(ctx, db.SetRefundStatusParams{
			TenantID: o.TenantID, ID: st.row.ID, Status: st.status, ProcessorRefundID: optional(st.refund.ID),
			FailureReason: failureReason(st), Now: now,
		})
	}
	if err != nil {
		return r, fmt.Errorf("write refund: %w", err)
	}
	return r, nil
}

// failureReason is why a refund FAILED, "unknown" if the processor doesn't say;
// nil for a refund that didn't fail.
func failureReason(st step) *string {
	switch {
	case st.status != refundFailed:
		return nil
	case st.reason == "":
		return new("unknown")
	default:
		return &st.reason
	}
}
