package order

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// View is an order with its items, refunds and disputes.
type View struct {
	db.Order

	Items []db.OrderItem
	// Refunds are newest first.
	Refunds []db.Refund
	// Disputes are newest first.
	Disputes []db.Dispute
}

// Filter narrows a list; nil fields don't filter.
type Filter struct{ Status, StreamID, CustomerExternalID *string }

// ListOrders pages through the tenant's orders, newest first. cursor is the id
// after which the page starts, nil for the first page.
func (s *Service) ListOrders(ctx context.Context, c tenancy.Caller, f Filter, cursor *string, limit int) ([]View, error) {
	rows, err := db.New(postgres.Planned{Pool: s.config.Pool}).ListOrders(ctx, db.ListOrdersParams{
		TenantID: c.TenantID, Status: f.Status, StreamID: f.StreamID, Customer: f.CustomerExternalID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", err)
	}
	return withDetails(ctx, db.New(s.config.Pool), c.TenantID, rows...)
}

// GetOrder returns one order of the tenant.
func (s *Service) GetOrder(ctx context.Context, c tenancy.Caller, orderID string) (View, error) {
	row, err := s.getRow(ctx, c, orderID)
	if err != nil {
		return View{}, err
	}
	views, err := withDetails(ctx, db.New(s.config.Pool), c.TenantID, row)
	if err != nil {
		return View{}, err
	}
	return views[0], nil
}

// getRow returns the row of one order of the tenant.
func (s *Service) getRow(ctx context.Context, c tenancy.Caller, orderID string) (db.Order, error) {
	row, err := db.New(s.config.Pool).GetOrder(ctx, db.GetOrderParams{TenantID: c.TenantID, ID: orderID})
	if errors.Is(err, pgx.ErrNoRows) {
		return db.Order{}, problem.Missing("order")
	}
	if err != nil {
		return db.Order{}, fmt.Errorf("get order: %w", err)
	}
	return row, nil
}

// UpdateOrder merges metadata into the order's, by key; an empty value deletes its
// key. Without a change it writes nothing.
func (s *Service) UpdateOrder(ctx context.Context, c tenancy.Caller, orderID string, update map[string]string) (View, error) {
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		o, err := q.LockOrder(ctx, db.LockOrderParams{TenantID: c.TenantID, ID: orderID})
		if errors.Is(err, pgx.ErrNoRows) {
			return problem.Missing("order")
		}
		if err != nil {
			return fmt.Errorf("lock order: %w", err)
		}
		kept, err := metadata.Merge(o.Metadata, update)
		if err != nil || bytes.Equal(kept, o.Metadata) {
			return err
		}
		if err := q.SetOrderMetadata(ctx, db.SetOrderMetadataParams{TenantID: c.TenantID, ID: orderID, Metadata: kept, Now: now}); err != nil {
			return fmt.Errorf("set metadata of order: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "order.update", Entity: "order", EntityID: orderID,
			Before: map[string]any{"metadata": o.Metadata}, After: map[string]any{"metadata": kept},
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.GetOrder(ctx, c, orderID)
}

// FulfilOrder records that the goods were handed over. It has no effect on a
// fulfilled order. For an order in REVIEW it also accepts the payment.
func (s *Service) FulfilOrder(ctx context.Context, c tenancy.Caller, orderID string) (View, error) {
	seen, err := s.getRow(ctx, c, orderID)
	if err != nil {
		return View{}, err
	}
	err = s.change(ctx, c.TenantID, orderID, seen.AuctionID, func(tx pgx.Tx, o db.Order) error {
		q, now := db.New(tx), s.config.Now()
		status, err := fulfilmentStatus(o)
		if err != nil || o.FulfilledAt != nil {
			return err
		}
		if o.Status == Review {
			paid := payment{pageID: *o.CheckoutSessionID, intentID: o.PaymentIntentID, cents: o.PaidCents, currency: o.PaidCurrency}
			if err := s.pay(ctx, tx, o, paid); err != nil {
				return err
			}
		}
		err = q.FulfilOrder(ctx, db.FulfilOrderParams{TenantID: c.TenantID, ID: orderID, Status: status, Now: now})
		if err != nil {
			return fmt.Errorf("fulfil order: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "order.fulfil", Entity: "order", EntityID: orderID,
			Before: map[string]any{"status": o.Status}, After: map[string]any{"status": status},
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.GetOrder(ctx, c, orderID)
}

// withDetails adds items, refunds and disputes to orders of a tenant, with one
// query for each kind.
func withDetails(ctx context.Context, q *db.Queries, tenantID string, rows ...db.Order) ([]View, error) {
	views, ids, at := make([]View, len(rows)), make([]string, len(rows)), make(map[string]int, len(rows))
	for i, row := range rows {
		views[i], ids[i], at[row.ID] = View{Order: row}, row.ID, i
	}
	items, err := q.ListOrderItems(ctx, db.ListOrderItemsParams{TenantID: tenantID, OrderIds: ids})
	if err != nil {
		return nil, fmt.Errorf("list items: %w", err)
	}
	for _, item := range items {
		v := &views[at[item.OrderID]]
		v.Items = append(v.Items, item)
	}
	refunds, err := q.ListRefunds(ctx, db.ListRefundsParams{TenantID: tenantID, OrderIds: ids})
	if err != nil {
		return nil, fmt.Errorf("list refunds: %w", err)
	}
	for _, r := range slices.Backward(refunds) {
		v := &views[at[r.OrderID]]
		v.Refunds = append(v.Refunds, r)
	}
	disputes, err := q.ListDisputes(ctx, db.ListDisputesParams{TenantID: tenantID, OrderIds: ids})
	if err != nil {
		return nil, fmt.Errorf("list disputes: %w", err)
	}
	for _, d := range slices.Backward(disputes) {
		v := &views[at[d.OrderID]]
		v.Disputes = append(v.Disputes, d)
	}
	return views, nil
}
