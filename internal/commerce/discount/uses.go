package discount

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// Use is a checkout's request to use a code.
type Use struct {
	Code, CustomerExternalID string
	// StreamID is nil for a checkout outside of a stream.
	StreamID *string
}

// Applied is a code of which a checkout holds a use.
type Applied struct {
	Discount db.Discount
	// OffCents is at most the subtotal.
	OffCents int64
}

// Held is a use of a code that a batch holds before the cart's subtotal is known.
type Held struct {
	use  Use
	now  func() time.Time
	rows []db.Discount
	// uses is how often the customer has used the code already.
	uses []int64
}

// QueueHold adds statements to a batch that lock the code's row and hold one use of
// it, for an order that is written in the same transaction. After the batch, call
// Applied: without its approval the transaction must not be committed.
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

// Applied checks the code by the locked row, and returns the discount. A fixed
// amount is in the cart's currency. A refusal is the problem
// discount_invalid with the reason; then the transaction must be rolled back.
func (h *Held) Applied(subtotalCents int64) (Applied, error) {
	if len(h.rows) != 1 || len(h.uses) != 1 {
		return Applied{}, Unknown.problem()
	}
	d := h.rows[0]
	before := d
	before.Held--
	place := new(outside)
	if h.use.StreamID != nil {
		place = h.use.StreamID
	}
	// The time is read after the row is locked, however long that took.
	if err := usable(before, h.now(), place).problem(); err != nil {
		return Applied{}, err
	}
	if err := usableBy(d, h.uses[0]).problem(); err != nil {
		return Applied{}, err
	}
	return Applied{Discount: d, OffCents: off(d, subtotalCents)}, nil
}

// ReleaseTx releases a held use, because the order has expired. The caller ensures
// that it is called once per order, under the order's lock.
func (s *Service) ReleaseTx(ctx context.Context, tx pgx.Tx, tenantID, discountID string) error {
	n, err := db.New(tx).ReleaseDiscount(ctx, db.ReleaseDiscountParams{TenantID: tenantID, ID: discountID, Now: s.config.Now()})
	return changedOne("release", discountID, n, err)
}

// RedeemTx counts a use, because the order was paid. held reports whether the order
// still held the use. If it didn't, the use is counted too, even beyond the limit,
// since the payment included the discount. The caller ensures that it is called once
// per order, under the order's lock.
func (s *Service) RedeemTx(ctx context.Context, tx pgx.Tx, tenantID, discountID string, held bool) error {
	n, err := db.New(tx).RedeemDiscount(ctx, db.RedeemDiscountParams{TenantID: tenantID, ID: discountID, WasHeld: held, Now: s.config.Now()})
	return changedOne("redeem", discountID, n, err)
}

// changedOne requires that exactly one row has changed. A check constraint of the
// table refuses the release of a hold that isn't there.
func changedOne(what, discountID string, n int64, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s discount %s: %w", what, discountID, err)
	case n != 1:
		return fmt.Errorf("%s discount %s: there is none", what, discountID)
	}
	return nil
}
