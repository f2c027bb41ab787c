package discount

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/postgres"
)

// Use is what a checkout wants a code for.
type Use struct {
	Code, StreamID, CustomerExternalID string
}

// Applied is a code that a checkout holds.
type Applied struct {
	Discount db.Discount
	// OffCents is at most the subtotal.
	OffCents int64
}

// Held is a use of a code that a batch holds, at a time when the cart's subtotal
// isn't known yet.
type Held struct {
	use  Use
	now  func() time.Time
	rows []db.Discount
	// uses is how often the customer has it already.
	uses []int64
}

// QueueHold locks the code's row and holds one use of it for an order that is about
// to be written in the same transaction, as a part of a batch. Once that has run,
// Applied judges: the transaction must not be committed without.
func (s *Service) QueueHold(b *pgx.Batch, tenantID string, u Use) *Held {
	h := &Held{use: u, now: s.config.Now}
	if codes.MatchString(u.Code) {
		hold := db.HoldDiscountParams{TenantID: tenantID, Code: u.Code, Now: s.config.Now()}
		postgres.ReadRows(postgres.Queue(b, db.HoldDiscount, hold), &h.rows)
		count := db.CountDiscountUsesParams{TenantID: tenantID, Code: u.Code, Customer: u.CustomerExternalID}
		postgres.Queue(b, db.CountDiscountUses, count).Query(func(rows pgx.Rows) (err error) {
			h.uses, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		})
	}
	return h
}

// Applied judges the code by the row that is locked, and tells what it takes off: an
// amount counts in the cart's currency, whichever it is. A refusal is the problem
// discount_invalid that says why; after it the transaction must be rolled back.
func (h *Held) Applied(subtotalCents int64) (Applied, error) {
	if len(h.rows) != 1 || len(h.uses) != 1 {
		return Applied{}, Unknown.problem()
	}
	d := h.rows[0]
	before := d
	before.Held--
	// The clock is read when the row is there, however long that took.
	if err := usable(before, h.now(), &h.use.StreamID).problem(); err != nil {
		return Applied{}, err
	}
	if err := usableBy(d, h.uses[0]).problem(); err != nil {
		return Applied{}, err
	}
	return Applied{Discount: d, OffCents: off(d, subtotalCents)}, nil
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
