package order

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// SumPlatformFees returns the fees of orders by the month (UTC) of their payment and by currency, for a period.
func (s *Service) SumPlatformFees(ctx context.Context, since, until time.Time) ([]db.SumPlatformFeesRow, error) {
	rows, err := db.New(s.config.Pool).SumPlatformFees(ctx, db.SumPlatformFeesParams{Since: since, Until: until})
	if err != nil {
		return nil, fmt.Errorf("sum platform fees: %w", err)
	}
	return rows, nil
}
