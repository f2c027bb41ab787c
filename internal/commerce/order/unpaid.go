package order

import (
	"context"
	"fmt"
	"slices"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
)

// Buyer is a customer in a stream.
type Buyer struct {
	TenantID, StreamID string
	// CustomerID is the tenant's own id of the customer.
	CustomerID string
}

// LimitUnpaid closes the buyer's oldest unpaid orders, until there are fewer than most. If the processor doesn't close them, it returns a
// conflict. Parallel checkouts can exceed the limit by a few.
func (s *Service) LimitUnpaid(ctx context.Context, b Buyer, most int) error {
	unpaid, err := s.listUnpaid(ctx, b)
	if err != nil {
		return err
	}
	open := len(unpaid)
	for _, o := range slices.Backward(unpaid) { // the oldest first
		if open < most {
			break
		}
		if s.closeUnpaid(ctx, b, o) {
			open--
		}
	}
	if open >= most {
		return problem.Conflicting("you have %d unpaid orders: pay one, or wait until one expires", open)
	}
	return nil
}

// CloseUnpaid closes the buyer's unpaid orders that hold units of the products, and reports whether it has closed any. A buyer who
// comes back from a payment page without paying, and checks out again, would otherwise wait for units that he holds himself.
func (s *Service) CloseUnpaid(ctx context.Context, b Buyer, productIDs []string) (closed bool, err error) {
	unpaid, err := s.listUnpaid(ctx, b)
	if err != nil {
		return false, err
	}
	holds := func(productID string) bool { return slices.Contains(productIDs, productID) }
	for _, o := range unpaid {
		if slices.ContainsFunc(o.ProductIds, holds) && s.closeUnpaid(ctx, b, o) {
			closed = true
		}
	}
	return closed, nil
}

// listUnpaid returns the newest first.
func (s *Service) listUnpaid(ctx context.Context, b Buyer) ([]db.ListUnpaidOrdersRow, error) {
	unpaid, err := db.New(s.config.Pool).ListUnpaidOrders(ctx, db.ListUnpaidOrdersParams{
		TenantID: b.TenantID, Customer: b.CustomerID, StreamID: &b.StreamID,
	})
	if err != nil {
		return nil, fmt.Errorf("list unpaid orders: %w", err)
	}
	return unpaid, nil
}

// closeUnpaid closes the payment page of an order, which then expires. It reports whether the order is no longer unpaid: it may have
// been paid at the same moment. An order whose page isn't known stays; CheckOrder finds the page.
func (s *Service) closeUnpaid(ctx context.Context, b Buyer, o db.ListUnpaidOrdersRow) bool {
	if o.CheckoutSessionID == nil || o.ProcessorAccountID == nil {
		return false
	}
	page, err := s.closePage(ctx, *o.ProcessorAccountID, *o.CheckoutSessionID)
	if err == nil {
		err = s.ApplyPaymentPage(ctx, *o.ProcessorAccountID, page)
	}
	if err != nil {
		s.config.Log.Warn("an unpaid order of a buyer who checks out again is not closed", "tenant", b.TenantID, "order", o.ID, "error", err)
		return false
	}
	return page.Status != processor.Open
}
