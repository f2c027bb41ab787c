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
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/internal/shows/shop"
)

// GetShowCart returns the participant's cart.
func (s *Server) GetShowCart(ctx context.Context, r api.GetShowCartRequestObject) (api.GetShowCartResponseObject, error) {
	cart, err := s.areas.Shop.GetCart(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetShowCart200JSONResponse(toShowCart(cart)), nil
}

// UpdateShowCart replaces the participant's cart.
func (s *Server) UpdateShowCart(ctx context.Context, r api.UpdateShowCartRequestObject) (api.UpdateShowCartResponseObject, error) {
	cart, err := s.areas.Shop.UpdateCart(ctx, request.Caller(ctx), r.ID, each(r.Body.Items, toLine), orNil(r.Body.DiscountCode))
	if err != nil {
		return nil, err
	}
	return api.UpdateShowCart200JSONResponse(toShowCart(cart)), nil
}

// CreateShowCheckout creates an order of the participant with a payment page.
func (s *Server) CreateShowCheckout(
	ctx context.Context, r api.CreateShowCheckoutRequestObject,
) (api.CreateShowCheckoutResponseObject, error) {
	page, err := s.areas.Shop.CreateCheckout(ctx, request.Caller(ctx), r.ID, shop.CheckoutInput{
		Lines: each(r.Body.Items, toLine), DiscountCode: orEmpty(orNil(r.Body.DiscountCode)), CustomerEmail: r.Body.CustomerEmail,
		CustomerName: orNil(r.Body.CustomerName), ReturnURL: orNil(r.Body.ReturnURL),
	})
	if err != nil {
		return nil, err
	}
	return api.CreateShowCheckout201JSONResponse(toCheckout(page)), nil
}

// ListShowOrders lists the participant's orders.
func (s *Server) ListShowOrders(ctx context.Context, r api.ListShowOrdersRequestObject) (api.ListShowOrdersResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Order)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Shop.ListOrders(ctx, request.Caller(ctx), r.ID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v order.View) string { return v.ID })
	return api.ListShowOrders200JSONResponse{Body: each(views, toShowOrder), Headers: api.ListShowOrders200ResponseHeaders{Link: link}}, nil
}

// GetShowOrder returns an order of the participant.
func (s *Server) GetShowOrder(ctx context.Context, r api.GetShowOrderRequestObject) (api.GetShowOrderResponseObject, error) {
	v, err := s.areas.Shop.GetOrder(ctx, request.Caller(ctx), r.ID, r.OrderID)
	if err != nil {
		return nil, err
	}
	return api.GetShowOrder200JSONResponse(toShowOrder(v)), nil
}

// ListShowSales lists the orders of a stream for its host.
func (s *Server) ListShowSales(ctx context.Context, r api.ListShowSalesRequestObject) (api.ListShowSalesResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Order)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Shop.ListSales(ctx, request.Caller(ctx), r.ID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v order.View) string { return v.ID })
	return api.ListShowSales200JSONResponse{Body: each(views, toShowSale), Headers: api.ListShowSales200ResponseHeaders{Link: link}}, nil
}

// CreateShowAuction starts an auction in a stream. The validator has filled in the document's defaults.
func (s *Server) CreateShowAuction(ctx context.Context, r api.CreateShowAuctionRequestObject) (api.CreateShowAuctionResponseObject, error) {
	v, err := s.areas.Shop.CreateAuction(ctx, request.Caller(ctx), auction.Input{
		ProductID: r.Body.ProductID, StreamID: r.ID, StartingBidCents: r.Body.StartingBidCents,
		BidIncrementCents: r.Body.BidIncrementCents, DurationSec: r.Body.DurationSec, AntiSnipeSec: *r.Body.AntiSnipeSec,
		ReservePriceCents: orNil(r.Body.ReservePriceCents),
	})
	if err != nil {
		return nil, err
	}
	return api.CreateShowAuction201JSONResponse(toShowAuction(v)), nil
}

// CancelShowAuction cancels an auction of a stream.
func (s *Server) CancelShowAuction(ctx context.Context, r api.CancelShowAuctionRequestObject) (api.CancelShowAuctionResponseObject, error) {
	v, err := s.areas.Shop.CancelAuction(ctx, request.Caller(ctx), r.ID, r.AuctionID)
	if err != nil {
		return nil, err
	}
	return api.CancelShowAuction201JSONResponse(toShowAuction(v)), nil
}

// PlaceShowBid places a bid of the participant.
func (s *Server) PlaceShowBid(ctx context.Context, r api.PlaceShowBidRequestObject) (api.PlaceShowBidResponseObject, error) {
	v, err := s.areas.Shop.PlaceBid(ctx, request.Caller(ctx), r.ID, r.AuctionID, r.Body.AmountCents, orNil(r.Body.BidderName))
	if err != nil {
		return nil, err
	}
	return api.PlaceShowBid201JSONResponse(toShowAuction(v)), nil
}

// CountShowClick counts that a viewer opened a product.
func (s *Server) CountShowClick(ctx context.Context, r api.CountShowClickRequestObject) (api.CountShowClickResponseObject, error) {
	if err := s.areas.Shop.CountClick(ctx, request.Caller(ctx), r.ID, r.Body.ProductID); err != nil {
		return nil, err
	}
	return api.CountShowClick201JSONResponse{ProductID: r.Body.ProductID}, nil
}

// GetStreamFunnel counts what became of a stream's viewers.
func (s *Server) GetStreamFunnel(ctx context.Context, r api.GetStreamFunnelRequestObject) (api.GetStreamFunnelResponseObject, error) {
	f, err := s.areas.Shop.GetFunnel(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	out := api.GetStreamFunnel200JSONResponse{
		StreamID: r.ID, PeakViewers: f.PeakViewers, WatchedMinutes: f.WatchedMinutes, Clicks: f.Clicks, Carts: f.Carts,
		Revenue: []api.ShowRevenue{}, Products: each(f.Products, toProductFunnel),
	}
	for _, sum := range f.Sums {
		out.Checkouts += sum.Checkouts
		out.Orders += sum.Paid
		if sum.Paid > 0 {
			out.Revenue = append(out.Revenue, api.ShowRevenue{Currency: sum.Currency, Cents: sum.ChargedCents})
		}
	}
	return out, nil
}

func toProductFunnel(p shop.ProductFunnel) api.ProductFunnel {
	return api.ProductFunnel{ProductID: p.ProductID, Name: p.Name, Clicks: p.Clicks, Orders: p.Orders, Units: p.Units}
}

// toShowProduct converts a product as buyers see it.
func toShowProduct(p db.Product) api.ShowProduct {
	s := catalog.ShownOf(p)
	return api.ShowProduct{
		ID: s.ID, ExternalID: s.ExternalID, Name: s.Name, Description: s.Description, ImageURL: orNull(s.ImageURL),
		PriceCents: s.PriceCents, CompareAtCents: orNull(s.CompareAtCents), Currency: s.Currency, Remaining: s.Remaining, Low: s.Low,
		Active: s.Active,
	}
}

func toShowCart(c shop.Cart) api.ShowCart {
	return api.ShowCart{
		Items: each(c.Lines, toShowCartLine), Currency: textOrNull(strings.ToLower(c.Currency)),
		SubtotalCents: c.SubtotalCents, DiscountCents: c.DiscountCents, TotalCents: c.TotalCents,
		DiscountCode: orNull(c.DiscountCode), DiscountRefusal: textOrNull(string(c.Refusal)), UpdatedAt: timeOrNull(c.UpdatedAt),
	}
}

func toShowCartLine(l shop.CartLine) api.ShowCartLine {
	return api.ShowCartLine{
		ProductID: l.Product.ID, Quantity: int(l.Quantity), Product: toShowProduct(l.Product), LineCents: l.Cents,
		Problem: textOrNull(string(l.Problem)),
	}
}

// toShowOrder leaves out the payment page and its end if the order isn't pending any more.
func toShowOrder(v order.View) api.ShowOrder {
	out := api.ShowOrder{
		ID: v.ID, Status: api.OrderStatus(v.Status), AuctionID: orNull(v.AuctionID), Items: each(v.Items, toOrderItem),
		SubtotalCents: v.SubtotalCents, DiscountCents: v.DiscountCents, TotalCents: v.TotalCents, Currency: strings.ToLower(v.Currency),
		DiscountCode: orNull(v.DiscountCode), CheckoutURL: orNull[string](nil), ExpiresAt: timeOrNull(nil), PaidAt: timeOrNull(v.PaidAt),
		CreatedAt: timestamp.From(v.CreatedAt),
	}
	if v.Status == order.Pending {
		out.CheckoutURL, out.ExpiresAt = orNull(v.CheckoutURL), timeOrNull(&v.ExpiresAt)
	}
	return out
}

func toShowSale(v order.View) api.ShowSale {
	return api.ShowSale{
		OrderID: v.ID, Status: api.OrderStatus(v.Status), BuyerName: orNull(v.CustomerName), AuctionID: orNull(v.AuctionID),
		Items: each(v.Items, toOrderItem), TotalCents: v.TotalCents, Currency: strings.ToLower(v.Currency),
		PaidAt: timeOrNull(v.PaidAt), CreatedAt: timestamp.From(v.CreatedAt),
	}
}
