package order

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/outflow/realtime"
)

// unitChange is the change of a product's counters for one ordered unit.
type unitChange struct{ stock, held int64 }

// ticks returns the free units of each product after an order's change, computed
// from its locked row before. Products without a stock count are omitted.
func ticks(lines []catalog.Line, before map[string]db.Product, c unitChange) []catalog.Tick {
	var list []catalog.Tick
	for _, l := range lines {
		p := before[l.ProductID]
		if p.Stock >= 0 {
			p.Stock = max(p.Stock+c.stock*l.Quantity, 0)
		}
		p.Held += c.held * l.Quantity
		if t, counted := catalog.TickOf(p); counted {
			list = append(list, t)
		}
	}
	return list
}

// publishStock sends the products' free units to the viewers of the order's stream
// once tx is committed; an order without a stream (nil) has no viewers. before has
// the products' locked rows, without the change.
func (s *Service) publishStock(
	ctx context.Context, tx pgx.Tx, streamID *string, lines []catalog.Line, before map[string]db.Product, c unitChange,
) {
	if streamID == nil {
		return
	}
	list := ticks(lines, before, c)
	postgres.AfterCommit(tx, func() {
		for _, t := range list {
			s.config.Realtime.Publish(ctx, realtime.Publication{Room: *streamID, Type: realtime.StockTick, Data: t})
		}
	})
}
