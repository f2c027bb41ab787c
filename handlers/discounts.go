package handlers

import (
	"context"
	"time"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/discount"
)

// ListDiscounts lists the tenant's discount codes.
func (s *Server) ListDiscounts(ctx context.Context, r api.ListDiscountsRequestObject) (api.ListDiscountsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Discount)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Discounts.ListDiscounts(ctx, request.Caller(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(d db.Discount) string { return d.ID })
	return api.ListDiscounts200JSONResponse{Body: each(rows, toDiscount), Headers: api.ListDiscounts200ResponseHeaders{Link: link}}, nil
}

// CreateDiscount creates a code. The validator has filled in the document's
// default of active.
func (s *Server) CreateDiscount(ctx context.Context, r api.CreateDiscountRequestObject) (api.CreateDiscountResponseObject, error) {
	d, err := s.areas.Discounts.CreateDiscount(ctx, request.Caller(ctx), discount.Input{
		Code: r.Body.Code, PercentOff: smallOrNil(r.Body.PercentOff), AmountOffCents: orNil(r.Body.AmountOffCents),
		StartsAt: instant(orNil(r.Body.StartsAt)), EndsAt: instant(orNil(r.Body.EndsAt)),
		MaxRedemptions: smallOrNil(r.Body.MaxRedemptions), MaxPerCustomer: smallOrNil(r.Body.MaxPerCustomer),
		StreamID: orNil(r.Body.StreamID), Active: *r.Body.Active,
	})
	if err != nil {
		return nil, err
	}
	return api.CreateDiscount201JSONResponse(toDiscount(d)), nil
}

// DropDiscount creates a code for the current viewers of a stream.
func (s *Server) DropDiscount(ctx context.Context, r api.DropDiscountRequestObject) (api.DropDiscountResponseObject, error) {
	d, err := s.areas.Discounts.DropDiscount(ctx, request.Caller(ctx), r.StreamID, discount.DropInput{
		Code: r.Body.Code, PercentOff: int32(r.Body.PercentOff), Duration: time.Duration(r.Body.DurationSec) * time.Second,
		MaxRedemptions: smallOrNil(r.Body.MaxRedemptions),
	})
	if err != nil {
		return nil, err
	}
	return api.DropDiscount201JSONResponse(toDiscount(d)), nil
}

// CheckDiscount reports whether a code can be used now.
func (s *Server) CheckDiscount(ctx context.Context, r api.CheckDiscountRequestObject) (api.CheckDiscountResponseObject, error) {
	check, err := s.areas.Discounts.CheckDiscount(ctx, request.Caller(ctx), r.Code,
		given(r.Params.StreamID), given(r.Params.CustomerExternalID))
	if err != nil {
		return nil, err
	}
	d := check.Discount
	if d == nil {
		d = &db.Discount{Code: r.Code}
	}
	out := api.CheckDiscount200JSONResponse{
		Valid: check.Refusal == "", Code: d.Code,
		PercentOff: intOrNull(d.PercentOff), AmountOffCents: orNull(d.AmountOffCents), EndsAt: timeOrNull(d.EndsAt),
		StreamID: orNull(d.StreamID),
	}
	if !out.Valid {
		out.Reason = new(api.DiscountRefusal(check.Refusal))
	}
	return out, nil
}

func toDiscount(d db.Discount) api.Discount {
	return api.Discount{
		ID: d.ID, Code: d.Code, PercentOff: intOrNull(d.PercentOff), AmountOffCents: orNull(d.AmountOffCents),
		StartsAt: timeOrNull(d.StartsAt), EndsAt: timeOrNull(d.EndsAt),
		MaxRedemptions: intOrNull(d.MaxRedemptions), Redemptions: int(d.Redemptions), MaxPerCustomer: intOrNull(d.MaxPerCustomer),
		StreamID: d.StreamID, Active: d.Active, CreatedAt: timestamp.From(d.CreatedAt),
	}
}
