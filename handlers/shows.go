package handlers

import (
	"context"
	"time"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/shows/show"
	"showfloor/internal/streams/stream"
)

// GetShow returns a stream as viewers see it.
func (s *Server) GetShow(ctx context.Context, r api.GetShowRequestObject) (api.GetShowResponseObject, error) {
	v, err := s.areas.Shows.GetShow(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	text, err := v.Encoded(func() ([]byte, error) { return encodeShared(toShow(v, s.areas.Shows.OffersRealtime(v))) })
	return sharedAnswer{text: text, now: s.areas.Shows.Now(), public: true}, err
}

// CreateShowPlaybackURL returns the URL at which participants watch.
func (s *Server) CreateShowPlaybackURL(
	ctx context.Context, r api.CreateShowPlaybackURLRequestObject,
) (api.CreateShowPlaybackURLResponseObject, error) {
	p, err := s.areas.Shows.CreateShowPlaybackURL(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.CreateShowPlaybackURL201JSONResponse(toPlaybackURL(p)), nil
}

// PinShowProduct shows a product to all viewers, or none.
func (s *Server) PinShowProduct(ctx context.Context, r api.PinShowProductRequestObject) (api.PinShowProductResponseObject, error) {
	productID := orNil(r.Body.ProductID)
	if err := s.areas.Shows.PinShowProduct(ctx, request.Caller(ctx), r.ID, productID); err != nil {
		return nil, err
	}
	return api.PinShowProduct200JSONResponse{ProductID: orNull(productID)}, nil
}

// DropShowDiscount creates a code for the current viewers.
func (s *Server) DropShowDiscount(ctx context.Context, r api.DropShowDiscountRequestObject) (api.DropShowDiscountResponseObject, error) {
	d, err := s.areas.Shows.DropShowDiscount(ctx, request.Caller(ctx), r.ID, discount.DropInput{
		Code: r.Body.Code, PercentOff: int32(r.Body.PercentOff), Duration: time.Duration(r.Body.DurationSec) * time.Second,
		MaxRedemptions: smallOrNil(r.Body.MaxRedemptions),
	})
	if err != nil {
		return nil, err
	}
	return api.DropShowDiscount201JSONResponse(toShowDrop(d)), nil
}

// CreateShowStreamKey replaces the stream key. Only this answer contains the new one.
func (s *Server) CreateShowStreamKey(
	ctx context.Context, r api.CreateShowStreamKeyRequestObject,
) (api.CreateShowStreamKeyResponseObject, error) {
	v, err := s.areas.Shows.CreateShowStreamKey(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.CreateShowStreamKey201JSONResponse{IngestURL: v.IngestURL, StreamKey: v.Key}, nil
}

// EndShow ends the broadcast.
func (s *Server) EndShow(ctx context.Context, r api.EndShowRequestObject) (api.EndShowResponseObject, error) {
	v, err := s.areas.Shows.EndShow(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.EndShow201JSONResponse{ID: v.ID, Status: api.StreamStatus(v.Status)}, nil
}

func toShow(v *show.Show, realtime bool) api.Show {
	return api.Show{
		ID: v.ID, Name: v.Name, Status: api.StreamStatus(v.Status), ScheduledAt: timeOrNull(v.ScheduledAt),
		StartedAt: timeOrNull(v.StartedAt), EndedAt: timeOrNull(v.EndedAt), ViewerCount: v.Viewers, PosterURL: orNull(v.PosterURL),
		Brand: toBrand(v.Tenant), CanBuy: v.Tenant.ChargesEnabled, RealtimeVideo: realtime, PinnedProductID: orNull(v.Pinned),
		Products: each(v.Products, toShowProduct), Auctions: each(v.Auctions, toShowAuction), Drops: each(v.Drops, toShowDrop),
		ReplayID: orNull(v.ReplayID),
	}
}

func toShowAuction(v auction.View) api.ShowAuction {
	a := auction.ShownOf(v)
	return api.ShowAuction{
		ID: a.ID, ProductID: a.ProductID, Currency: a.Currency, Status: api.AuctionStatus(a.Status), EndsAt: a.EndsAt,
		AntiSnipeSec: int(a.AntiSnipeSec), MinimumBidCents: a.MinimumBidCents, BidIncrementCents: a.BidIncrementCents,
		TopBidCents: orNull(a.TopBidCents), TopBidderName: orNull(a.TopBidderName), TopBidID: orNull(a.TopBidID),
		WinningBidID: orNull(a.WinningBidID),
	}
}

// toShowDrop converts a dropped code, which has a percentage and an end.
func toShowDrop(d db.Discount) api.ShowDrop {
	return api.ShowDrop{Code: d.Code, PercentOff: int(*d.PercentOff), EndsAt: timestamp.From(*d.EndsAt)}
}

func toPlaybackURL(p stream.PlaybackURL) api.PlaybackURL {
	out := api.PlaybackURL{
		URL: p.URL, Type: api.PlaybackTypeHLS, ExpiresAt: timestamp.From(p.ExpiresAt), DvrURL: orNull(p.DVR), ThumbnailURL: p.Thumbnail,
	}
	if p.LowLatency {
		out.Type = api.PlaybackTypeLLHLS
	}
	return out
}
