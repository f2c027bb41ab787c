package shop

import (
	"context"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/tenancy"
)

// CreateAuction starts an auction in the stream of in, by its host.
func (s *Service) CreateAuction(ctx context.Context, c tenancy.Caller, in auction.Input) (auction.View, error) {
	ctx, err := s.config.Shows.AsHost(ctx, c, in.StreamID)
	if err != nil {
		return auction.View{}, err
	}
	return s.config.Auctions.CreateAuction(ctx, c, in)
}

// CancelAuction cancels an auction of a stream, by its host.
func (s *Service) CancelAuction(ctx context.Context, c tenancy.Caller, streamID, auctionID string) (auction.View, error) {
	ctx, err := s.config.Shows.AsHost(ctx, c, streamID)
	if err != nil {
		return auction.View{}, err
	}
	if _, err := s.auctionOf(ctx, c, streamID, auctionID); err != nil {
		return auction.View{}, err
	}
	return s.config.Auctions.CancelAuction(ctx, c, auctionID)
}

// PlaceBid places a bid of the calling participant. name is the bidder's name if its token has none. The result is the
// auction as it was when the bid was its top bid.
func (s *Service) PlaceBid(
	ctx context.Context, c tenancy.Caller, streamID, auctionID string, amountCents int64, name *string,
) (auction.View, error) {
	known, err := s.config.Shows.CheckViewer(ctx, c, streamID)
	if err != nil {
		return auction.View{}, err
	}
	if known == "" && name != nil {
		known = *name
	}
	if auction.ShortName(known) == "" {
		return auction.View{}, problem.BadField("bidderName", "is needed, because the token has no name")
	}
	v, err := s.auctionOf(ctx, c, streamID, auctionID)
	if err != nil {
		return auction.View{}, err
	}
	placed, err := s.config.Auctions.PlaceBid(ctx, c, auctionID, auction.BidInput{
		AmountCents: amountCents, BidderExternalID: c.Participant.UserID, BidderName: known,
	})
	if err != nil {
		return auction.View{}, err
	}
	v.Top, v.TopBidID, v.TopBidCents, v.EndsAt = &placed.Bid, &placed.Bid.ID, &placed.Bid.AmountCents, placed.EndsAt
	return v, nil
}

// auctionOf returns an auction of a stream.
func (s *Service) auctionOf(ctx context.Context, c tenancy.Caller, streamID, auctionID string) (auction.View, error) {
	v, err := s.config.Auctions.GetAuction(ctx, c, auctionID)
	if err == nil && v.StreamID != streamID {
		return v, problem.Missing("auction")
	}
	return v, err
}
