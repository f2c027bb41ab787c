package discount

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
)

// Use is what a checkout wants a code for.
type Use struct {
	Code, StreamID, CustomerExternalID string
	// Currency is the cart's; an amount is taken off in it, whichever it is.
	Currency      string
	SubtotalCents int64
}

// Applied is a code that a checkout holds.
type Applied struct {
	Discount db.Discount
	// OffCents is at most the subtotal.
	OffCents int64
}

// Hold locks the code's row and holds one use of it for an order that is about to
// be written in the same transaction. It is one round trip, two when the code has a
// limit per customer. A refusal is the problem discount_invalid that says why; after
// any error the transaction must be rolled back.
func (s *Service) Hold(ctx context.Context, tx pgx.Tx, tenantID string, u Use) (Applied, error) {
	if !codes.MatchString(u.Code) {
		return Applied{}, Unknown.problem()
	}
	q := db.New(tx)
	d, err := q.HoldDiscount(ctx, db.HoldDiscountParams{TenantID: tenantID, Code: u.Code, Now: s.config.Now()})
	if errors.Is(err, pgx.ErrNoRows) {
		return Applied{}, Unknown.problem()
	}
	if err != nil {
		return Applied{}, fmt.Errorf("hold discount: %w", err)
	}
	before := d
	before.Held--
	// The clock is read when the row is there, however long that took.
	if err := usable(before, s.config.Now(), &u.StreamID).problem(); err != nil {
		return Applied{}, err
	}
	if d.MaxPerCustomer != nil {
		uses, err := q.CountDiscountUses(ctx, db.CountDiscountUsesParams{TenantID: tenantID, DiscountID: d.ID, Customer: u.CustomerExternalID})
		if err != nil {
			return Applied{}, fmt.Errorf("count uses of discount %s: %w", d.ID, err)
		}
		if err := usableBy(d, uses).problem(); err != nil {
			return Applied{}, err
		}
	}
	return Applied{Discount: d, OffCents: off(d, u.SubtotalCents)}, nil
}

// Release gives a held use back: the order expired. The caller sees to it that it
// happens once, under the order's lock.
func (s *Service) Release(ctx context.Context, tx pgx.Tx, tenantID, discountID string) error {
	n, err := db.New(tx).ReleaseDiscount(ctx, db.ReleaseDiscountParams{TenantID: tenantID, ID: discountID, Now: s.config.Now()})
	return changedOne("release", discountID, n, err)
}

// Redeem counts a use: the order was paid, held tells whether it held the use until
// now. One that held none any more is counted too, even beyond the limit: it was
// paid with the discount. The caller sees to it that it happens once, under the
// order's lock.
func (s *Service) Redeem(ctx context.Context, tx pgx.Tx, tenantID, discountID string, held bool) error {
	n, err := db.New(tx).RedeemDiscount(ctx, db.RedeemDiscountParams{TenantID: tenantID, ID: discountID, WasHeld: held, Now: s.config.Now()})
	return changedOne("redeem", discountID, n, err)
}

// changedOne wants one row to have changed. A hold that isn't there is refused by
// the table.
func changedOne(what, discountID string, n int64, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s discount %s: %w", what, discountID, err)
	case n != 1:
		return fmt.Errorf("%s discount %s: there is none", what, discountID)
	}
	return nil
}
