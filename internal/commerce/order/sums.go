package order

import (
	"context"
	"fmt"

	"showfloor/gen/db"
)

// StreamSum counts a stream's orders in one currency.
type StreamSum struct {
	// Currency is in lower case.
	Currency string
	// Checkouts are orders in any status, Paid those that were paid.
	Checkouts, Paid int64
	// ChargedCents is what buyers were charged; refunds are not subtracted.
	ChargedCents int64
}

// ProductSum counts a product's paid orders and units in a stream.
type ProductSum struct {
	ProductID     string
	Orders, Units int64
}

// SumStream counts the orders of one of the tenant's streams, by currency.
func (s *Service) SumStream(ctx context.Context, tenantID, streamID string) ([]StreamSum, error) {
	rows, err := db.New(s.config.Pool).SumStreamOrders(ctx, db.SumStreamOrdersParams{TenantID: tenantID, StreamID: &streamID})
	if err != nil {
		return nil, fmt.Errorf("sum the orders of a stream: %w", err)
	}
	list := make([]StreamSum, len(rows))
	for i, r := range rows {
		list[i] = StreamSum(r)
	}
	return list, nil
}

// SumStreamProducts counts the paid units of each product in one of the tenant's streams, the most first.
func (s *Service) SumStreamProducts(ctx context.Context, tenantID, streamID string) ([]ProductSum, error) {
	rows, err := db.New(s.config.Pool).SumStreamProducts(ctx, db.SumStreamProductsParams{TenantID: tenantID, StreamID: &streamID})
	if err != nil {
		return nil, fmt.Errorf("sum the products of a stream: %w", err)
	}
	list := make([]ProductSum, len(rows))
	for i, r := range rows {
		list[i] = ProductSum(r)
	}
	return list, nil
}
