package order

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Winner is who won an auction, and what for how much.
type Winner struct {
	TenantID, StreamID, AuctionID string
	ProductID, ProductName        string
	BidderExternalID              string
	// Currency is an ISO 4217 code in upper case.
	Currency string
	// AmountCents is the winning bid.
	AmountCents int64
}

// CreateForWinner makes, in the caller's transaction, the PENDING order of an
// auction's winner, and enqueues the job that opens its payment page. The unit
// that the auction holds passes to the order: nothing is held anew.
func (s *Service) CreateForWinner(ctx context.Context, tx pgx.Tx, w Winner) (orderID string, err error) {
	return "", errors.New("not built yet")
}
