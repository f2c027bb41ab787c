package order

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/tenancy/setting"
)

// newOrder is a new order with the products before its units were held.
type newOrder struct {
	db.CreateOrderParams

	lines    []catalog.Line
	products map[string]db.Product
}

// place writes a cart's PENDING order and holds its units and its code, in two
// round trips: one locks, one writes.
func (s *Service) place(ctx context.Context, tx pgx.Tx, tenantID string, in Cart, fee setting.Rate) (newOrder, error) {
	lines := merge(in.Lines)
	cart, err := s.lockCart(ctx, tx, tenantID, in, lines)
	if err != nil {
		return newOrder{}, err
	}
	subtotal, currency, err := price(lines, cart.products)
	if err != nil {
		return newOrder{}, err
	}
	kept, err := metadata.Merge(nil, in.Metadata)
	if err != nil {
		return newOrder{}, err
	}
	now := s.config.Now()
	o := newOrder{lines: lines, products: cart.products, CreateOrderParams: db.CreateOrderParams{
		ID: id.New(id.Order), TenantID: tenantID, StreamID: in.StreamID,
		CustomerExternalID: in.CustomerExternalID, CustomerEmail: &in.CustomerEmail, CustomerName: in.CustomerName,
		SubtotalCents: subtotal, TotalCents: subtotal, Currency: currency,
		SuccessURL: in.SuccessURL, CancelURL: in.CancelURL, Metadata: kept, ProcessorAccountID: &cart.seller.AccountID,
		ExpiresAt: now.Add(cartLife).Truncate(time.Second), CheckAt: now.Add(firstCheck), Now: now,
	}}
	if cart.held != nil {
		code, err := cart.held.Applied(subtotal)
		if err != nil {
			return newOrder{}, err
		}
		o.DiscountID, o.DiscountCode = &code.Discount.ID, &code.Discount.Code
		o.DiscountCents, o.TotalCents = code.OffCents, subtotal-code.OffCents
	}
	o.ApplicationFeeCents = fee.Of(o.TotalCents)
	for _, l := range lines {
		p := cart.products[l.ProductID]
		o.ProductIds, o.Names = append(o.ProductIds, p.ID), append(o.Names, p.Name)
		o.PricesCents, o.Quantities = append(o.PricesCents, p.PriceCents), append(o.Quantities, int32(l.Quantity))
	}
	if err := s.config.Processor.CheckKey(); err != nil {
		return newOrder{}, err
	}
	b := &pgx.Batch{}
	postgres.Queue(b, db.CreateOrder, o.CreateOrderParams)
	catalog.QueueHold(b, tenantID, lines)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return newOrder{}, fmt.Errorf("write order: %w", err)
	}
	s.observeCommitted(tx, Pending)
	s.publishStock(ctx, tx, in.StreamID, lines, cart.products, unitChange{held: 1})
	return o, nil
}

// lockedCart holds the rows that the decision about a cart needs.
type lockedCart struct {
	seller   db.GetCheckoutSellerRow
	products map[string]db.Product
	// held is nil without a code.
	held *discount.Held
}

// lockCart locks the products, then the code. It refuses a cart that can't be sold
// at all.
func (s *Service) lockCart(ctx context.Context, tx pgx.Tx, tenantID string, in Cart, lines []catalog.Line) (c lockedCart, err error) {
	ids := make([]string, len(lines))
	for i, l := range lines {
		ids[i] = l.ProductID
	}
	b := &pgx.Batch{}
	var sellers []db.GetCheckoutSellerRow
	postgres.ReadRows(postgres.Queue(b, db.GetCheckoutSeller, db.GetCheckoutSellerParams{TenantID: tenantID, StreamID: in.StreamID}), &sellers)
	locked := catalog.QueueLock(b, tenantID, ids)
	if in.DiscountCode != "" {
		c.held = s.config.Discounts.QueueHold(b, tenantID, discount.Use{
			Code: in.DiscountCode, StreamID: in.StreamID, CustomerExternalID: in.CustomerExternalID,
		})
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return c, fmt.Errorf("lock cart: %w", err)
	}
	if len(sellers) != 1 {
		return c, problem.Missing("tenant")
	}
	c.seller = sellers[0]
	if !c.seller.ChargesEnabled || c.seller.AccountID == "" {
		return c, problem.New(problem.Invalid, "seller_not_onboarded", "Seller has not completed onboarding")
	}
	if c.products, err = locked.Products(); err != nil {
		return c, err
	}
	if !c.seller.StreamKnown {
		return c, problem.Missing("stream")
	}
	return c, nil
}
