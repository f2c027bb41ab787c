package order

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/audit"
)

// ApplyDisputes stores the disputes of an order's payment. It asks the processor
// for them, so reports may be lost, be repeated and come in any order. For a
// payment that belongs to no order the problem is not_found.
func (s *Service) ApplyDisputes(ctx context.Context, accountID, paymentIntentID string) error {
	tenantID, orderID, err := s.orderOfPayment(ctx, accountID, paymentIntentID)
	if err != nil {
		return err
	}
	question, err := db.New(s.config.Pool).AskPayment(ctx, db.AskPaymentParams{TenantID: tenantID, ID: orderID})
	if err != nil {
		return fmt.Errorf("number a question about order %s: %w", orderID, err)
	}
	reported, err := s.config.Processor.ListDisputes(ctx, accountID, paymentIntentID)
	if err != nil {
		return err
	}
	return s.storeDisputes(ctx, tenantID, orderID, question, reported)
}

// storeDisputes stores the answer to a question, unless a later question's answer
// is stored already. The order of the answers matters, because a dispute's status
// can go back and forth.
func (s *Service) storeDisputes(ctx context.Context, tenantID, orderID string, question int64, reported []processor.Dispute) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		o, err := q.LockOrder(ctx, db.LockOrderParams{TenantID: tenantID, ID: orderID})
		if err != nil {
			return fmt.Errorf("lock order %s: %w", orderID, err)
		}
		if question <= o.PaymentAnswered {
			return nil
		}
		rows, err := q.ListDisputes(ctx, db.ListDisputesParams{TenantID: tenantID, OrderIds: []string{orderID}})
		if err != nil {
			return fmt.Errorf("list disputes: %w", err)
		}
		changed := false
		for _, d := range slices.Backward(reported) { // the oldest first
			st, changes := disputeStepOf(rows, d)
			if !changes {
				continue
			}
			changed = true
			if err := s.takeDisputeStep(ctx, tx, o, st); err != nil {
				return err
			}
		}
		err = q.SetPaymentAnswered(ctx, db.SetPaymentAnsweredParams{
			TenantID: tenantID, ID: orderID, Question: question, Changed: changed, Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("set answered question of order %s: %w", orderID, err)
		}
		return nil
	})
}

// takeDisputeStep writes one dispute, its audit entry and its events.
func (s *Service) takeDisputeStep(ctx context.Context, tx pgx.Tx, o db.Order, st disputeStep) error {
	q, now := db.New(tx), s.config.Now()
	row, err := writeDispute(ctx, q, o, st, now)
	if err != nil {
		return err
	}
	err = audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: audit.System("processor"), TenantID: o.TenantID, Action: "order.dispute", Entity: "order", EntityID: o.ID, Reason: row.Reason,
		After: map[string]any{
			"disputeId": row.ID, "status": row.Status, "amountCents": row.AmountCents, "currency": strings.ToLower(row.Currency),
		},
	})
	if err != nil {
		return err
	}
	for _, name := range st.events {
		e := event.Event{TenantID: o.TenantID, Name: name, Subject: o.ID, Data: purchaseDisputedData(o, row)}
		if name == event.PurchaseDisputeClosed {
			e.Data = eventdata.PurchaseDisputeClosedData(purchaseDisputedData(o, row))
		}
		if err := s.config.Events.EmitTx(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

func writeDispute(ctx context.Context, q *db.Queries, o db.Order, st disputeStep, now time.Time) (db.Dispute, error) {
	d := st.dispute
	p := db.SaveDisputeParams{
		ID: id.New(id.Dispute), TenantID: o.TenantID, OrderID: o.ID, ProcessorDisputeID: d.ID, Status: d.Status, Reason: d.Reason,
		AmountCents: d.AmountCents, Currency: strings.ToUpper(d.Currency), EvidenceDueAt: d.EvidenceDueAt, OpenedAt: d.OpenedAt, Now: now,
	}
	if disputeClosed(d.Status) {
		p.ClosedAt = &now
		if st.row != nil && st.row.ClosedAt != nil {
			p.ClosedAt = st.row.ClosedAt
		}
	}
	row, err := q.SaveDispute(ctx, p)
	if err != nil {
		return row, fmt.Errorf("save dispute %s: %w", d.ID, err)
	}
	return row, nil
}
