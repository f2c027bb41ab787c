package shop

import (
	"context"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// keepCarts is how long a cart is kept after its last change.
const keepCarts = 30 * 24 * time.Hour

// DeleteOld deletes carts that have not been changed for keepCarts.
func (s *Service) DeleteOld(ctx context.Context) error {
	return postgres.DeleteInBatches(ctx, "carts", func(maxRows int32) (int64, error) {
		return db.New(s.config.Pool).DeleteCartsBefore(ctx, db.DeleteCartsBeforeParams{
			Before: s.config.Now().Add(-keepCarts), MaxRows: maxRows,
		})
	})
}
