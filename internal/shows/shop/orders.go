package shop

import (
	"context"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/order"
	"showfloor/internal/tenancy"
)

// ListOrders pages through the calling participant's orders in a show's stream, newest first.
func (s *Service) ListOrders(ctx context.Context, c tenancy.Caller, showID string, cursor *string, limit int) ([]order.View, error) {
	target, err := s.config.Shows.FindTarget(ctx, c, showID)
	if err != nil {
		return nil, err
	}
	own := order.Filter{StreamID: &target.StreamID, CustomerExternalID: &c.Participant.UserID}
	return s.config.Orders.ListOrders(ctx, c, own, cursor, limit)
}

// GetOrder returns an order of the calling participant in a show's stream.
func (s *Service) GetOrder(ctx context.Context, c tenancy.Caller, showID, orderID string) (order.View, error) {
	target, err := s.config.Shows.FindTarget(ctx, c, showID)
	if err != nil {
		return order.View{}, err
	}
	v, err := s.config.Orders.GetOrder(ctx, c, orderID)
	if err == nil && (v.CustomerExternalID != c.Participant.UserID || v.StreamID == nil || *v.StreamID != target.StreamID) {
		return order.View{}, problem.Missing("order")
	}
	return v, err
}

// ListSales pages through all orders of a stream, newest first, for its host or a cohost.
func (s *Service) ListSales(ctx context.Context, c tenancy.Caller, streamID string, cursor *string, limit int) ([]order.View, error) {
	if err := s.config.Shows.CheckModerator(ctx, c, streamID); err != nil {
		return nil, err
	}
	return s.config.Orders.ListOrders(ctx, c, order.Filter{StreamID: &streamID}, cursor, limit)
}
