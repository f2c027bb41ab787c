package order

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/audit"
	"showfloor/internal/event"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
	"showfloor/internal/processor"
)

// refundedData is the data of purchase.refunded.
type refundedData struct {
	OrderID                  string  `json:"orderId"`
	ProcessorPaymentIntentID string  `json:"processorPaymentIntentId"`
	ProcessorRefundID        string  `json:"processorRefundId"`
	CustomerEmail            string  `json:"customerEmail"`
	CustomerExternalID       string  `json:"customerExternalId"`
	StreamID                 string  `json:"streamId"`
	AmountCents              int64   `json:"amountCents"`
	RefundedCents            int64   `json:"refundedCents"`
	TotalCents               int64   `json:"totalCents"`
	Currency                 string  `json:"currency"`
	Status                   string  `json:"status"`
	Reason                   *string `json:"reason"`
}

// ApplyRefunds brings an order in line with its payment's refunds, for which the
// processor is asked: so reports about them may come in any order and any number.
// Refunds that were made at the processor are taken in, those that failed later
// are taken back. A payment that is no order's is a problem with the code
// not_found.
func (s *Service) ApplyRefunds(ctx context.Context, accountID, paymentIntentID string) error {
	found, err := db.New(s.config.Pool).FindOrderOfPayment(ctx, db.FindOrderOfPaymentParams{
		PaymentIntentID: paymentIntentID, ProcessorAccountID: accountID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.Missing("payment")
	}
	if err != nil {
		return fmt.Errorf("find order of payment: %w", err)
	}
	made, err := s.config.Processor.ListRefunds(ctx, accountID, paymentIntentID)
	if err != nil {
		return err
	}
	return s.applyRefunds(ctx, found.TenantID, found.ID, made)
}

// applyRefunds does to a paid order what the processor says of some of its
// refunds, newest first, and tells of each one that gave money back, once.
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
		for _, st := range todo {
			o = refunded(o, st.cents)
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

// takeStep writes one refund down; o is the order after it.
func (s *Service) takeStep(ctx context.Context, tx pgx.Tx, o db.Order, st step, now time.Time) error {
	q := db.New(tx)
	r, err := writeRefund(ctx, q, o, st, now)
	if err != nil {
		return err
	}
	if st.status == refundFailed {
		return auditRefund(ctx, q, now, audit.System("processor"), "order.refund_failed", r)
	}
	if st.row == nil {
		if err := auditRefund(ctx, q, now, audit.System("processor"), "order.refund", r); err != nil {
			return err
		}
	}
	return s.config.Events.Emit(ctx, tx, event.Event{
		TenantID: o.TenantID, Name: event.PurchaseRefunded, Subject: o.ID, Data: refundedOf(o, r, st.refund.ID),
	})
}

func writeRefund(ctx context.Context, q *db.Queries, o db.Order, st step, now time.Time) (db.Refund, error) {
	if st.row == nil {
		r, err := q.CreateRefund(ctx, db.CreateRefundParams{
			ID: id.New(id.Refund), TenantID: o.TenantID, OrderID: o.ID, AmountCents: st.refund.AmountCents,
			Status: st.status, ProcessorRefundID: &st.refund.ID, Now: now,
		})
		if err != nil {
			return r, fmt.Errorf("create refund: %w", err)
		}
		return r, nil
	}
	err := q.SetRefundStatus(ctx, db.SetRefundStatusParams{
		TenantID: o.TenantID, ID: st.row.ID, Status: st.status, ProcessorRefundID: &st.refund.ID, Now: now,
	})
	if err != nil {
		return *st.row, fmt.Errorf("set refund's status: %w", err)
	}
	return *st.row, nil
}

func refundedOf(o db.Order, r db.Refund, processorRefundID string) refundedData {
	d := refundedData{
		OrderID: o.ID, ProcessorRefundID: processorRefundID, CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID,
		AmountCents: r.AmountCents, RefundedCents: o.RefundedCents, TotalCents: o.TotalCents,
		Currency: strings.ToLower(o.Currency), Status: o.Status, Reason: r.Reason,
	}
	if o.PaymentIntentID != nil {
		d.ProcessorPaymentIntentID = *o.PaymentIntentID
	}
	if o.CustomerEmail != nil {
		d.CustomerEmail = *o.CustomerEmail
	}
	return d
}
