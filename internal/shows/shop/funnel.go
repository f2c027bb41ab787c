package shop

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"showfloor/gen/db"
	"showfloor/internal/commerce/order"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
)

// maxFunnelProducts is the number of products in a funnel.
const maxFunnelProducts = 200

// Funnel counts what became of a stream's viewers.
type Funnel struct {
	stream.AudienceSum

	Clicks, Carts int64
	Sums          []order.StreamSum
	Products      []ProductFunnel
}

// ProductFunnel counts what became of the interest in one product.
type ProductFunnel struct {
	ProductID, Name       string
	Clicks, Orders, Units int64
}

// GetFunnel counts who watched, clicked, filled a cart and bought in one of the caller's streams.
func (s *Service) GetFunnel(ctx context.Context, c tenancy.Caller, streamID string) (f Funnel, err error) {
	if err = s.config.Streams.CheckStreamTx(ctx, s.config.Pool, c.TenantID, streamID); err != nil {
		return f, err
	}
	if f.AudienceSum, err = s.config.Streams.SumAudience(ctx, c.TenantID, streamID); err != nil {
		return f, err
	}
	if f.Sums, err = s.config.Orders.SumStream(ctx, c.TenantID, streamID); err != nil {
		return f, err
	}
	q := db.New(s.config.Pool)
	if f.Carts, err = q.CountCarts(ctx, db.CountCartsParams{TenantID: c.TenantID, StreamID: streamID}); err != nil {
		return f, fmt.Errorf("count carts: %w", err)
	}
	clicks, err := q.ListClicks(ctx, db.ListClicksParams{TenantID: c.TenantID, StreamID: streamID})
	if err != nil {
		return f, fmt.Errorf("list clicks: %w", err)
	}
	sold, err := s.config.Orders.SumStreamProducts(ctx, c.TenantID, streamID)
	if err != nil {
		return f, err
	}
	for _, r := range clicks {
		f.Clicks += r.Clicks
	}
	f.Products = joinFunnel(clicks, sold)
	return f, s.addNames(ctx, c, f.Products)
}

// joinFunnel joins the clicks on products with their sales: the products with the most units first, then those with the most
// clicks.
func joinFunnel(clicks []db.ListClicksRow, sold []order.ProductSum) []ProductFunnel {
	list := make([]ProductFunnel, 0, len(sold))
	at := map[string]int{}
	for _, p := range sold {
		at[p.ProductID] = len(list)
		list = append(list, ProductFunnel{ProductID: p.ProductID, Orders: p.Orders, Units: p.Units})
	}
	for _, r := range clicks {
		i, known := at[r.ProductID]
		if !known {
			i = len(list)
			list = append(list, ProductFunnel{ProductID: r.ProductID})
		}
		list[i].Clicks = r.Clicks
	}
	slices.SortStableFunc(list, func(a, b ProductFunnel) int {
		return cmp.Or(cmp.Compare(b.Units, a.Units), cmp.Compare(b.Clicks, a.Clicks), cmp.Compare(a.ProductID, b.ProductID))
	})
	return list[:min(len(list), maxFunnelProducts)]
}

func (s *Service) addNames(ctx context.Context, c tenancy.Caller, list []ProductFunnel) error {
	ids := make([]string, len(list))
	for i, p := range list {
		ids[i] = p.ProductID
	}
	names, err := s.config.Catalog.ListNames(ctx, c.TenantID, ids)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Name = names[list[i].ProductID]
	}
	return nil
}
