package auction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/event"
	"showfloor/internal/order"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
	"showfloor/internal/timestamp"
)

// overdueAtOnce is the maximum number of auctions per run of SettleOverdue.
const overdueAtOnce = 100

// SettleAuction ends an auction whose time is over, with or without a winner. It
// returns how long the auction still runs, or 0 when nothing remains to do, as for
// a settled or cancelled auction.
func (s *Service) SettleAuction(ctx context.Context, tenantID, auctionID string) (wait time.Duration, err error) {
	var a state
	var freed *db.Product
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		wait, freed = 0, nil
		if a, err = lock(ctx, tx, lane{tenantID, auctionID}); err != nil || a.Status != Live {
			return err
		}
		if !over(a) {
			wait = a.EndsAt.Sub(a.Now)
			return nil
		}
		if won(a) {
			return s.settleWon(ctx, tx, a)
		}
		freed, err = s.settleUnsold(ctx, tx, a)
		return err
	})
	if problem.Is(err, "not_found") {
		return 0, nil
	}
	if err == nil && freed != nil {
		s.showStock(ctx, a.StreamID, *freed)
	}
	return wait, err
}

// settleWon creates the winner's order. The unit that the auction holds passes to
// it.
func (s *Service) settleWon(ctx context.Context, tx pgx.Tx, a state) error {
	q := db.New(tx)
	bid, err := q.GetBid(ctx, db.GetBidParams{TenantID: a.TenantID, ID: *a.TopBidID})
	if err != nil {
		return fmt.Errorf("get winning bid: %w", err)
	}
	product, err := q.GetProduct(ctx, db.GetProductParams{TenantID: a.TenantID, ID: a.ProductID})
	if err != nil {
		return fmt.Errorf("get product: %w", err)
	}
	orderID, err := s.config.Orders.CreateForWinner(ctx, tx, order.Winner{
		TenantID: a.TenantID, StreamID: a.StreamID, AuctionID: a.ID, ProductID: a.ProductID, ProductName: product.Name,
		BidderExternalID: bid.BidderExternalID, Currency: a.Currency, AmountCents: bid.AmountCents,
	})
	if err != nil {
		return err
	}
	if err := closeAs(ctx, tx, a, Ended, &bid.ID, &orderID); err != nil {
		return err
	}
	return s.config.Events.Emit(ctx, tx, event.Event{
		TenantID: a.TenantID, Name: event.AuctionWon, Subject: a.ID,
		Data: wonData{a.ID, bid.BidderExternalID, bid.AmountCents, bid.BidderName},
	})
}

// settleUnsold releases the auction's unit and returns its product.
func (s *Service) settleUnsold(ctx context.Context, tx pgx.Tx, a state) (*db.Product, error) {
	freed, err := releaseUnit(ctx, tx, a)
	if err != nil {
		return nil, err
	}
	if err := closeAs(ctx, tx, a, Ended, nil, nil); err != nil {
		return nil, err
	}
	return freed, s.config.Events.Emit(ctx, tx, event.Event{
		TenantID: a.TenantID, Name: event.AuctionReserveNotMet, Subject: a.ID,
		Data: notMetData{a.ID, a.ProductID, a.StreamID, a.ReservePriceCents, a.TopBidCents, timestamp.From(a.EndsAt)},
	})
}

// SettleOverdue ends auctions whose time is over, such as those whose job was
// lost. Each has its own transaction, and a failure doesn't stop the others.
func (s *Service) SettleOverdue(ctx context.Context) error {
	rows, err := db.New(s.config.Pool).ListOverdueAuctions(ctx, overdueAtOnce)
	if err != nil {
		return fmt.Errorf("list overdue auctions: %w", err)
	}
	var errs []error
	for _, r := range rows {
		_, err := s.SettleAuction(ctx, r.TenantID, r.ID)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
