package auction

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/batch"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/internal/outflow/event"
)

// overdueAtOnce is the maximum number of auctions per run of SettleOverdue.
const overdueAtOnce = 100

// SettleAuction ends an auction whose time is over, with or without a winner. It
// returns how long the auction still runs, or 0 when nothing remains to do, as for
// a settled or cancelled auction.
func (s *Service) SettleAuction(ctx context.Context, tenantID, auctionID string) (wait time.Duration, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		wait = 0
		a, err := lock(ctx, tx, auctionKey{tenantID, auctionID})
		if err != nil || a.Status != Live {
			return err
		}
		if !over(a) {
			wait = a.EndsAt.Sub(a.Now)
			return nil
		}
		if hasWinner(a) {
			return s.settleWon(ctx, tx, a)
		}
		return s.settleUnsold(ctx, tx, a)
	})
	if problem.Is(err, "not_found") {
		return 0, nil
	}
	return wait, err
}

// settleWon creates the winner's order. The unit that the auction holds passes to
// it.
func (s *Service) settleWon(ctx context.Context, tx pgx.Tx, a state) error {
	bid, err := topBidOf(ctx, tx, a)
	if err != nil {
		return err
	}
	product, err := catalog.GetTx(ctx, tx, a.TenantID, a.ProductID)
	if err != nil {
		return err
	}
	orderID, err := s.config.Orders.CreateForWinnerTx(ctx, tx, order.Winner{
		TenantID: a.TenantID, StreamID: a.StreamID, AuctionID: a.ID, ProductID: a.ProductID, ProductName: product.Name,
		BidderExternalID: bid.BidderExternalID, BidderName: bid.BidderName, Currency: a.Currency, AmountCents: bid.AmountCents,
	})
	if err != nil {
		return err
	}
	if err := s.closeAs(ctx, tx, a, ending{Ended, bid, &orderID}); err != nil {
		return err
	}
	return s.config.Events.EmitTx(ctx, tx, event.Event{
		TenantID: a.TenantID, Name: event.AuctionWon, Subject: a.ID,
		Data: eventdata.AuctionWonData{
			AuctionID: a.ID, WinnerExternalID: bid.BidderExternalID, AmountCents: bid.AmountCents, WinnerName: bid.BidderName,
		},
	})
}

// topBidOf reads the top bid of a locked auction; nil if there is none.
func topBidOf(ctx context.Context, tx pgx.Tx, a state) (*db.Bid, error) {
	if a.TopBidID == nil {
		return nil, nil //nolint:nilnil // no bid is not a fault
	}
	bid, err := db.New(tx).GetBid(ctx, db.GetBidParams{TenantID: a.TenantID, ID: *a.TopBidID})
	if err != nil {
		return nil, fmt.Errorf("get top bid: %w", err)
	}
	return &bid, nil
}

// settleUnsold releases the auction's unit.
func (s *Service) settleUnsold(ctx context.Context, tx pgx.Tx, a state) error {
	if err := s.releaseUnit(ctx, tx, a); err != nil {
		return err
	}
	bid, err := topBidOf(ctx, tx, a)
	if err != nil {
		return err
	}
	if err := s.closeAs(ctx, tx, a, ending{status: Ended, top: bid}); err != nil {
		return err
	}
	return s.config.Events.EmitTx(ctx, tx, event.Event{
		TenantID: a.TenantID, Name: event.AuctionReserveNotMet, Subject: a.ID,
		Data: eventdata.AuctionReserveNotMetData{
			AuctionID: a.ID, ProductID: a.ProductID, StreamID: a.StreamID, ReservePriceCents: a.ReservePriceCents, TopBidCents: a.TopBidCents,
			EndedAt: timestamp.From(a.EndsAt),
		},
	})
}

// SettleOverdue ends auctions whose time is over, for example because their job was
// lost. Each has its own transaction, and a failure doesn't stop the others.
func (s *Service) SettleOverdue(ctx context.Context) error {
	rows, err := db.New(s.config.Pool).ListOverdueAuctions(ctx, overdueAtOnce)
	if err != nil {
		return fmt.Errorf("list overdue auctions: %w", err)
	}
	return batch.Each(rows, func(r db.ListOverdueAuctionsRow) error {
		_, err := s.SettleAuction(ctx, r.TenantID, r.ID)
		return err
	})
}

// Settlement changes an auction in the transactions of the winner's order: it is an
// order.Auctions.
type Settlement struct{}

var _ order.Auctions = Settlement{}

// LockTx locks an auction. The order of its winner is locked after it.
func (Settlement) LockTx(ctx context.Context, tx pgx.Tx, tenantID, auctionID string) error {
	_, err := lock(ctx, tx, auctionKey{tenantID, auctionID})
	return err
}

// SettleTx makes a locked, ended auction SETTLED, because its order was paid.
func (Settlement) SettleTx(ctx context.Context, tx pgx.Tx, tenantID, auctionID string, now time.Time) error {
	err := db.New(tx).SetAuctionSettled(ctx, db.SetAuctionSettledParams{TenantID: tenantID, ID: auctionID, Now: now})
	if err != nil {
		return fmt.Errorf("settle auction %s: %w", auctionID, err)
	}
	return nil
}
