package auction

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
)

// topBid is a bid as viewers see it.
type topBid struct {
	AuctionID   string         `json:"auctionId"`
	BidID       string         `json:"bidId"`
	AmountCents int64          `json:"amountCents"`
	BidderName  string         `json:"bidderName"`
	EndsAt      timestamp.Time `json:"endsAt"`
}

// bidEvent is the event auction.bid of an accepted bid.
func bidEvent(a state, p PlacedBid) event.Event {
	b := p.Bid
	return event.Event{
		TenantID: a.TenantID, Name: event.AuctionBid, Subject: a.ID,
		Data: eventdata.AuctionBidData{
			AuctionID: a.ID, ProductID: a.ProductID, StreamID: a.StreamID, NewEndsAt: timestamp.From(p.EndsAt),
			Bid: eventdata.Bid{
				ID: b.ID, AuctionID: b.AuctionID, AmountCents: b.AmountCents, BidderExternalID: b.BidderExternalID,
				BidderName: b.BidderName, CreatedAt: timestamp.From(b.CreatedAt),
			},
		},
	}
}

// publishBid sends a bid to the stream's viewers once tx is committed.
func (s *Service) publishBid(ctx context.Context, tx pgx.Tx, streamID string, p PlacedBid) {
	postgres.AfterCommit(tx, func() {
		s.config.Realtime.Publish(ctx, realtime.Publication{
			Room: streamID, Type: realtime.AuctionBid,
			Data: topBid{p.Bid.AuctionID, p.Bid.ID, p.Bid.AmountCents, ShortName(p.Bid.BidderName), timestamp.From(p.EndsAt)},
		})
	})
}

// publishAuction sends an auction to the stream's viewers once tx is committed. kind is realtime.AuctionStarted or AuctionEnded.
func (s *Service) publishAuction(ctx context.Context, tx pgx.Tx, kind string, v View) {
	postgres.AfterCommit(tx, func() {
		s.config.Realtime.Publish(ctx, realtime.Publication{Room: v.StreamID, Type: kind, Data: ShownOf(v)})
	})
}

// publishStock sends the number of a product's free units to the stream's viewers
// once tx is committed.
func (s *Service) publishStock(ctx context.Context, tx pgx.Tx, streamID string, p db.Product) {
	if tick, counted := catalog.TickOf(p); counted {
		postgres.AfterCommit(tx, func() {
			s.config.Realtime.Publish(ctx, realtime.Publication{Room: streamID, Type: realtime.StockTick, Data: tick})
		})
	}
}
