package order

import (
	"context"
	"fmt"
	"slices"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/processor"
)

// Buyer is a customer in a stream.
type Buyer struct {
	TenantID, StreamID string
	// CustomerID is the tenant's own id of the customer.
	CustomerID string
}

// LimitUnpaid closes the buyer's oldest unpaid orders, until there are at most most. If some can't be closed, for example because their
// payment takes days, it returns a conflict. Parallel checkouts can exceed the limit by a few.
func (s *Service) LimitUnpaid(ctx context.Context, b Buyer, most int) error {
	unpaid, err := s.listUnpaid(ctx, b)
	if err != nil {
		return err
	}
	open := len(unpaid)
	for _, o := range slices.Backward(unpaid) { // the oldest first
		if open <= most {
			break
		}
		if s.closeUnpaid(ctx, b, o) {
			open--
		}
	}
	if open > most {
		return problem.Conflicting("you have %d unpaid orders: pay one, or wait until one expires", open)
	}
	return nil
}

// FreeUnits closes the buyer's unpaid orders that hold units of the cart's products, if all units of the cart are free then. It
// reports whether it has closed any. A buyer who comes back from a payment page without paying, and checks out again, would
// otherwise wait for units that he holds himself.
func (s *Service) FreeUnits(ctx context.Context, b Buyer, cart []catalog.Line) (closed bool, err error) {
	unpaid, err := s.listUnpaid(ctx, b)
	if err != nil || len(unpaid) == 0 {
		return false, err
	}
	wanted := merge(cart)
	ids := make([]string, len(wanted))
	for i, l := range wanted {
		ids[i] = l.ProductID
	}
	products, err := s.config.Catalog.ListByID(ctx, b.TenantID, ids)
	if err != nil || !coversWith(wanted, products, unpaid) {
		return false, err
	}
	holds := func(productID string) bool { return slices.Contains(ids, productID) }
	for _, o := range unpaid {
		if slices.ContainsFunc(o.ProductIds, holds) && s.closeUnpaid(ctx, b, o) {
			closed = true
		}
	}
	return closed, nil
}

// coversWith reports whether the free units of the products and those that the unpaid orders hold are enough for the lines.
func coversWith(wanted []catalog.Line, products map[string]db.Product, unpaid []db.ListUnpaidOrdersRow) bool {
	own := map[string]int64{}
	for _, o := range unpaid {
		for i, productID := range o.ProductIds {
			own[productID] += o.Quantities[i]
		}
	}
	for _, l := range wanted {
		if free, counted := catalog.Free(products[l.ProductID]); counted && free+own[l.ProductID] < l.Quantity {
			return false
		}
	}
	return true
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

// closeUnpaid closes the payment page of an order, which then expires. It reports whether the order holds no units any more or was
// paid at the same moment. An order stays whose payment takes days, or whose page isn't known; CheckOrder finds the page.
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
	return page.Status == processor.Expired || page.Paid || page.Failed
}
