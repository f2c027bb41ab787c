package handlers

import (
	"context"
	"strings"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/auction"
)

// ListAuctions lists the tenant's auctions.
func (s *Server) ListAuctions(ctx context.Context, r api.ListAuctionsRequestObject) (api.ListAuctionsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Auction)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Auctions.ListAuctions(ctx, request.Caller(ctx), (*string)(r.Params.Status), cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v auction.View) string { return v.ID })
	return api.ListAuctions200JSONResponse{Body: each(views, toAuction), Headers: api.ListAuctions200ResponseHeaders{Link: link}}, nil
}

// CreateAuction starts an auction. The validator has filled in the document's
// defaults.
func (s *Server) CreateAuction(ctx context.Context, r api.CreateAuctionRequestObject) (api.CreateAuctionResponseObject, error) {
	v, err := s.areas.Auctions.CreateAuction(ctx, request.Caller(ctx), auction.Input{
		ProductID: r.Body.ProductID, StreamID: r.Body.StreamID, StartingBidCents: r.Body.StartingBidCents,
		BidIncrementCents: r.Body.BidIncrementCents, DurationSec: r.Body.DurationSec, AntiSnipeSec: *r.Body.AntiSnipeSec,
		ReservePriceCents: orNil(r.Body.ReservePriceCents),
	})
	if err != nil {
		return nil, err
	}
	return api.CreateAuction201JSONResponse(toAuction(v)), nil
}

// GetAuction returns an auction.
func (s *Server) GetAuction(ctx context.Context, r api.GetAuctionRequestObject) (api.GetAuctionResponseObject, error) {
	v, err := s.areas.Auctions.GetAuction(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetAuction200JSONResponse(toAuction(v)), nil
}

// PlaceBid places a bid.
func (s *Server) PlaceBid(ctx context.Context, r api.PlaceBidRequestObject) (api.PlaceBidResponseObject, error) {
	p, err := s.areas.Auctions.PlaceBid(ctx, request.Caller(ctx), r.ID, auction.BidInput{
		AmountCents: r.Body.AmountCents, BidderExternalID: r.Body.BidderExternalID, BidderName: r.Body.BidderName,
	})
	if err != nil {
		return nil, err
	}
	return api.PlaceBid201JSONResponse{Bid: toBid(p.Bid), NewEndsAt: timestamp.From(p.EndsAt)}, nil
}

// CancelAuction cancels an auction.
func (s *Server) CancelAuction(ctx context.Context, r api.CancelAuctionRequestObject) (api.CancelAuctionResponseObject, error) {
	v, err := s.areas.Auctions.CancelAuction(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.CancelAuction201JSONResponse(toAuction(v)), nil
}

func toAuction(v auction.View) api.Auction {
	a := api.Auction{
		ID: v.ID, ProductID: v.ProductID, StreamID: v.StreamID, StartingBidCents: v.StartingBidCents,
		ReservePriceCents: v.ReservePriceCents, BidIncrementCents: v.BidIncrementCents, Currency: strings.ToLower(v.Currency),
		EndsAt: timestamp.From(v.EndsAt), AntiSnipeSec: int(v.AntiSnipeSec), Status: api.AuctionStatus(v.Status),
		WinningBidID: orNull(v.WinningBidID), OrderID: orNull(v.OrderID), Bids: []api.Bid{}, CreatedAt: timestamp.From(v.CreatedAt),
	}
	if v.Top != nil {
		a.Bids = append(a.Bids, toBid(*v.Top))
	}
	return a
}

func toBid(b db.Bid) api.Bid {
	return api.Bid{
		ID: b.ID, AuctionID: b.AuctionID, AmountCents: b.AmountCents, BidderExternalID: b.BidderExternalID,
		BidderName: b.BidderName, CreatedAt: timestamp.From(b.CreatedAt),
	}
}
