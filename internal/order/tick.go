package order

import (
	"context"

	"showfloor/gen/db"
	"showfloor/internal/catalog"
	"showfloor/internal/realtime"
)

// change is the change of a product's counters in a transaction.
type change struct{ stock, held int64 }

// ticks returns the free units of each product after an order's change, computed
// from its locked row before and the change of each line. Products without a stock
// count are omitted.
func ticks(lines []catalog.Line, before map[string]db.Product, of func(quantity int64) change) []catalog.Tick {
	var list []catalog.Tick
	for _, l := range lines {
		p, c := before[l.ProductID], of(l.Quantity)
		if p.Stock >= 0 {
			p.Stock = max(p.Stock+c.stock, 0)
		}
		p.Held += c.held
		if t, counted := catalog.TickOf(p); counted {
			list = append(list, t)
		}
	}
	return list
}

// publish sends ticks to the stream's viewers. Call it after the commit.
func (s *Service) publish(ctx context.Context, streamID string, list []catalog.Tick) {
	for _, t := range list {
		s.config.Realtime.Publish(ctx, realtime.Publication{Room: streamID, Type: realtime.StockTick, Data: t})
	}
}

func (s *Service) tickHeld(ctx context.Context, o placed) {
	s.publish(ctx, o.StreamID, ticks(o.lines, o.products, func(n int64) change { return change{held: n} }))
}
