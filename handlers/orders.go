package handlers

import (
	"context"
	"strings"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/internal/tenancy/idempotency"
)

// CreateCheckout creates an order and its payment page.
func (s *Server) CreateCheckout(ctx context.Context, r api.CreateCheckoutRequestObject) (api.CreateCheckoutResponseObject, error) {
	page, err := s.areas.Orders.CreateCheckout(ctx, request.Caller(ctx), order.Cart{
		Lines:    each(r.Body.Items, toLine),
		StreamID: orNil(r.Body.StreamID), CustomerEmail: r.Body.CustomerEmail, CustomerExternalID: r.Body.CustomerExternalID,
		DiscountCode: orEmpty(r.Body.DiscountCode), SuccessURL: r.Body.SuccessURL, CancelURL: r.Body.CancelURL,
		Metadata: pairsOf(r.Body.Metadata),
	})
	if err != nil {
		return nil, err
	}
	return api.CreateCheckout201JSONResponse(toCheckout(page)), nil
}

func toCheckout(page order.Checkout) api.Checkout {
	return api.Checkout{URL: page.URL, SessionID: page.SessionID, OrderID: page.OrderID, ExpiresAt: timestamp.From(page.ExpiresAt)}
}

func toLine(i api.CartItem) catalog.Line {
	return catalog.Line{ProductID: i.ProductID, Quantity: int64(i.Quantity)}
}

// ListOrders lists the tenant's orders.
func (s *Server) ListOrders(ctx context.Context, r api.ListOrdersRequestObject) (api.ListOrdersResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Order)
	if err != nil {
		return nil, err
	}
	filter := order.Filter{
		Status: (*string)(r.Params.Status), StreamID: given(r.Params.StreamID), CustomerExternalID: given(r.Params.CustomerExternalID),
	}
	views, err := s.areas.Orders.ListOrders(ctx, request.Caller(ctx), filter, cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v order.View) string { return v.ID })
	return api.ListOrders200JSONResponse{Body: each(views, toOrder), Headers: api.ListOrders200ResponseHeaders{Link: link}}, nil
}

// GetOrder returns an order.
func (s *Server) GetOrder(ctx context.Context, r api.GetOrderRequestObject) (api.GetOrderResponseObject, error) {
	v, err := s.areas.Orders.GetOrder(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetOrder200JSONResponse(toOrder(v)), nil
}

// UpdateOrder changes an order's metadata.
func (s *Server) UpdateOrder(ctx context.Context, r api.UpdateOrderRequestObject) (api.UpdateOrderResponseObject, error) {
	v, err := s.areas.Orders.UpdateOrder(ctx, request.Caller(ctx), r.ID, pairsOf(r.Body.Metadata))
	if err != nil {
		return nil, err
	}
	return api.UpdateOrder200JSONResponse(toOrder(v)), nil
}

// FulfilOrder marks an order as fulfilled.
func (s *Server) FulfilOrder(ctx context.Context, r api.FulfilOrderRequestObject) (api.FulfilOrderResponseObject, error) {
	v, err := s.areas.Orders.FulfilOrder(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.FulfilOrder201JSONResponse(toOrder(v)), nil
}

// RefundOrder refunds an order.
func (s *Server) RefundOrder(ctx context.Context, r api.RefundOrderRequestObject) (api.RefundOrderResponseObject, error) {
	n := order.NewRefund{Key: idempotency.KeyFrom(ctx)}
	if r.Body != nil {
		n.AmountCents, n.Reason = r.Body.AmountCents, r.Body.Reason
	}
	v, err := s.areas.Orders.RefundOrder(ctx, request.Caller(ctx), r.ID, n)
	if err != nil {
		return nil, err
	}
	return api.RefundOrder201JSONResponse(toOrder(v)), nil
}

// toOrder leaves out the payment page and its end if the order isn't pending any more.
func toOrder(v order.View) api.Order {
	out := api.Order{
		ID: v.ID, ProcessorCheckoutSessionID: orNull(v.CheckoutSessionID), ProcessorPaymentIntentID: orNull(v.PaymentIntentID),
		CustomerExternalID: v.CustomerExternalID, CustomerEmail: orNull(v.CustomerEmail),
		StreamID: orNull(v.StreamID), AuctionID: orNull(v.AuctionID),
		SubtotalCents: v.SubtotalCents, DiscountCents: v.DiscountCents, TotalCents: v.TotalCents, RefundedCents: v.RefundedCents,
		Currency: strings.ToLower(v.Currency), Status: api.OrderStatus(v.Status),
		PaymentMismatch: orNull(toMismatch(v.Order)), DiscountCode: orNull(v.DiscountCode),
		ApplicationFeeCents: v.ApplicationFeeCents, Items: each(v.Items, toOrderItem),
		Refunds: each(v.Refunds, toRefund), Disputes: each(v.Disputes, toDispute),
		CheckoutURL: orNull[string](nil), ExpiresAt: timeOrNull(nil), PaidAt: timeOrNull(v.PaidAt), FulfilledAt: timeOrNull(v.FulfilledAt),
		Metadata:  toMetadata(v.Metadata),
		CreatedAt: timestamp.From(v.CreatedAt), UpdatedAt: timestamp.From(v.UpdatedAt),
	}
	if v.Status == order.Pending {
		out.CheckoutURL, out.ExpiresAt = orNull(v.CheckoutURL), timeOrNull(&v.ExpiresAt)
	}
	return out
}

// toMismatch returns nil if the payment equals the order's total and currency.
func toMismatch(o db.Order) *api.PaymentMismatch {
	if o.PaidCents == nil {
		return nil
	}
	return &api.PaymentMismatch{ExpectedTotalCents: o.TotalCents, PaidTotalCents: *o.PaidCents, PaidCurrency: strings.ToLower(*o.PaidCurrency)}
}

func toOrderItem(i db.OrderItem) api.OrderItem {
	return api.OrderItem{ProductID: i.ProductID, NameSnapshot: i.Name, PriceCents: i.PriceCents, Quantity: int(i.Quantity)}
}

func toDispute(d db.Dispute) api.Dispute {
	return api.Dispute{
		ID: d.ID, ProcessorDisputeID: d.ProcessorDisputeID, Status: api.DisputeStatus(d.Status), Reason: d.Reason, AmountCents: d.AmountCents,
		Currency: strings.ToLower(d.Currency), EvidenceDueAt: timeOrNull(d.EvidenceDueAt),
		OpenedAt: timestamp.From(d.OpenedAt), ClosedAt: timeOrNull(d.ClosedAt),
	}
}

func toRefund(r db.Refund) api.Refund {
	return api.Refund{
		ID: r.ID, Status: api.RefundStatus(r.Status), Source: api.RefundSource(r.Source), AmountCents: r.AmountCents, Reason: orNull(r.Reason),
		FailureReason: orNull(r.FailureReason), ProcessorRefundID: orNull(r.ProcessorRefundID),
		CreatedAt: timestamp.From(r.CreatedAt), UpdatedAt: timestamp.From(r.UpdatedAt),
	}
}
