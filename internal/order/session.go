package order

import (
	"context"
	"errors"

	"showfloor/internal/processor"
)

// ApplySession does to an order what a payment page says: PAID, once however
// often and in whatever order reports come, EXPIRED, or nothing. accountID is
// whose account the report came from; what doesn't belong to the order that it
// names is ignored.
func (s *Service) ApplySession(ctx context.Context, accountID string, p processor.Session) error {
	return errors.New("not built yet")
}
