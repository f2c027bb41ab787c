package shop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/tenancy"
)

// Cart is a buyer's cart at today's prices. It holds no units.
type Cart struct {
	Lines []CartLine
	// Currency is empty without a line.
	Currency                                 string
	SubtotalCents, DiscountCents, TotalCents int64
	// DiscountCode is nil for none. Refusal is why it can't be used now, empty if it can.
	DiscountCode *string
	Refusal      discount.Refusal
	// UpdatedAt is nil for a cart that was never stored.
	UpdatedAt *time.Time
}

// CartLine is a number of units of one product.
type CartLine struct {
	Product  db.Product
	Quantity int64
	// Cents is 0 with a problem.
	Cents   int64
	Problem LineProblem
}

// GetCart returns the cart of the calling participant in a show.
func (s *Service) GetCart(ctx context.Context, c tenancy.Caller, showID string) (Cart, error) {
	target, err := s.config.Shows.FindTarget(ctx, c, showID)
	if err != nil {
		return Cart{}, err
	}
	row, err := db.New(s.config.Pool).GetCart(ctx, db.GetCartParams{
		TenantID: c.TenantID, StreamID: target.StreamID, UserID: c.Participant.UserID,
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Cart{}, nil
	case err != nil:
		return Cart{}, fmt.Errorf("get cart: %w", err)
	}
	lines := make([]catalog.Line, len(row.ProductIds))
	for i, productID := range row.ProductIds {
		lines[i] = catalog.Line{ProductID: productID, Quantity: int64(row.Quantities[i])}
	}
	products, err := s.config.Catalog.ListByID(ctx, c.TenantID, row.ProductIds)
	if err != nil {
		return Cart{}, err
	}
	return s.view(ctx, c, row, lines, products)
}

// UpdateCart replaces the cart of the calling participant in a show. A code or a line that can't be bought now is stored
// too. A product that isn't the tenant's is the problem not_found.
func (s *Service) UpdateCart(ctx context.Context, c tenancy.Caller, showID string, lines []catalog.Line, code *string) (Cart, error) {
	target, err := s.config.Shows.FindBuyer(ctx, c, showID)
	if err != nil {
		return Cart{}, err
	}
	if lines, err = merge(lines); err != nil {
		return Cart{}, err
	}
	p := db.StoreCartParams{
		TenantID: c.TenantID, StreamID: target.StreamID, UserID: c.Participant.UserID, DiscountCode: code, Now: s.config.Now(),
		ProductIds: make([]string, len(lines)), Quantities: make([]int32, len(lines)),
	}
	for i, l := range lines {
		p.ProductIds[i], p.Quantities[i] = l.ProductID, int32(l.Quantity)
	}
	products, err := s.config.Catalog.ListByID(ctx, c.TenantID, p.ProductIds)
	if err != nil {
		return Cart{}, err
	}
	if err := checkKnown(lines, products); err != nil {
		return Cart{}, err
	}
	row, err := db.New(s.config.Pool).StoreCart(ctx, p)
	if err != nil {
		return Cart{}, fmt.Errorf("store cart: %w", err)
	}
	return s.view(ctx, c, row, lines, products)
}

// view adds today's prices and the effect of the code to a stored cart.
func (s *Service) view(
	ctx context.Context, c tenancy.Caller, row db.Cart, lines []catalog.Line, products map[string]db.Product,
) (Cart, error) {
	cart := price(lines, products)
	cart.UpdatedAt, cart.DiscountCode = &row.UpdatedAt, row.DiscountCode
	if row.DiscountCode == nil {
		return cart, nil
	}
	check, err := s.config.Discounts.CheckDiscount(ctx, c, *row.DiscountCode, &row.StreamID, &row.UserID)
	if err != nil {
		return Cart{}, err
	}
	if cart.Refusal = shownRefusal(check.Refusal); cart.Refusal == "" {
		cart.DiscountCents = check.OffCents(cart.SubtotalCents)
		cart.TotalCents -= cart.DiscountCents
	}
	return cart, nil
}
