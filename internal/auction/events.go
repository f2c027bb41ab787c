package auction

import (
	"context"

	"showfloor/gen/db"
	"showfloor/internal/catalog"
	"showfloor/internal/event"
	"showfloor/internal/realtime"
	"showfloor/internal/timestamp"
)

// bidData is a bid in an event.
type bidData struct {
	ID               string         `json:"id"`
	AuctionID        string         `json:"auctionId"`
	AmountCents      int64          `json:"amountCents"`
	BidderExternalID string         `json:"bidderExternalId"`
	BidderName       string         `json:"bidderName"`
	CreatedAt        timestamp.Time `json:"createdAt"`
}

// placedData is the data of auction.bid.
type placedData struct {
	AuctionID string         `json:"auctionId"`
	ProductID string         `json:"productId"`
	StreamID  string         `json:"streamId"`
	Bid       bidData        `json:"bid"`
	NewEndsAt timestamp.Time `json:"newEndsAt"`
}

// wonData is the data of auction.won.
type wonData struct {
	AuctionID        string `json:"auctionId"`
	WinnerExternalID string `json:"winnerExternalId"`
	AmountCents      int64  `json:"amountCents"`
	WinnerName       string `json:"winnerName"`
}

// notMetData is the data of auction.reserve_not_met.
type notMetData struct {
	AuctionID         string         `json:"auctionId"`
	ProductID         string         `json:"productId"`
	StreamID          string         `json:"streamId"`
	ReservePriceCents *int64         `json:"reservePriceCents"`
	TopBidCents       *int64         `json:"topBidCents"`
	EndedAt           timestamp.Time `json:"endedAt"`
}

// topBid is a bid as viewers see it.
type topBid struct {
	AuctionID   string         `json:"auctionId"`
	AmountCents int64          `json:"amountCents"`
	BidderName  string         `json:"bidderName"`
	EndsAt      timestamp.Time `json:"endsAt"`
}

func placed(a state, p PlacedBid) event.Event {
	b := p.Bid
	return event.Event{
		TenantID: a.TenantID, Name: event.AuctionBid, Subject: a.ID,
		Data: placedData{
			AuctionID: a.ID, ProductID: a.ProductID, StreamID: a.StreamID, NewEndsAt: timestamp.From(p.EndsAt),
			Bid: bidData{b.ID, b.AuctionID, b.AmountCents, b.BidderExternalID, b.BidderName, timestamp.From(b.CreatedAt)},
		},
	}
}

// showBid publishes a committed bid to viewers.
func (s *Service) showBid(ctx context.Context, streamID string, p PlacedBid) {
	s.config.Realtime.Publish(ctx, realtime.Publication{
		Room: streamID, Type: realtime.AuctionBid,
		Data: topBid{p.Bid.AuctionID, p.Bid.AmountCents, p.Bid.BidderName, timestamp.From(p.EndsAt)},
	})
}

// showStock publishes the number of free units to viewers, after the commit.
func (s *Service) showStock(ctx context.Context, streamID string, p db.Product) {
	if tick, counted := catalog.TickOf(p); counted {
		s.config.Realtime.Publish(ctx, realtime.Publication{Room: streamID, Type: realtime.StockTick, Data: tick})
	}
}
