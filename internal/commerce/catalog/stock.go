package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
)

// The functions in this file run in other areas' transactions. Stock and held
// units change only under the row's lock; rows are always locked in the order of
// ids.

// Line is a number of units of a product. The lines of one call must have
// different products.
type Line struct {
	ProductID string
	Quantity  int64
}

// LockTx locks products of the tenant until the transaction ends. An id that isn't
// the tenant's gives "product not found".
func LockTx(ctx context.Context, tx pgx.Tx, tenantID string, ids []string) (map[string]db.Product, error) {
	b := &pgx.Batch{}
	l := QueueLock(b, tenantID, ids)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("lock products: %w", err)
	}
	return l.Products()
}

// Locked is the result of QueueLock, which shares a round trip with other
// statements.
type Locked struct {
	ids  []string
	rows []db.Product
}

// QueueLock adds Lock to a batch. After the batch has run, Products returns the
// result.
func QueueLock(b *pgx.Batch, tenantID string, ids []string) *Locked {
	l := &Locked{ids: ids}
	postgres.ReadRows(postgres.Queue(b, db.LockProducts, db.LockProductsParams{TenantID: tenantID, Ids: ids}), &l.rows)
	return l
}

// Products returns the locked rows by their ids.
func (l *Locked) Products() (map[string]db.Product, error) {
	products := make(map[string]db.Product, len(l.rows))
	for _, p := range l.rows {
		products[p.ID] = p
	}
	for _, productID := range l.ids {
		if _, found := products[productID]; !found {
			return nil, problem.Missing("product")
		}
	}
	return products, nil
}

// HoldTx holds units of locked products for a checkout or an auction. The caller has
// checked with CheckFree that they are free.
func HoldTx(ctx context.Context, tx pgx.Tx, tenantID string, lines []Line) error {
	return hold(ctx, tx, func(b *pgx.Batch) { QueueHold(b, tenantID, lines) })
}

// QueueHold adds Hold to a batch.
func QueueHold(b *pgx.Batch, tenantID string, lines []Line) { queueHold(b, tenantID, lines, 1) }

// ReleaseTx releases held units of locked products.
func ReleaseTx(ctx context.Context, tx pgx.Tx, tenantID string, lines []Line) error {
	return hold(ctx, tx, func(b *pgx.Batch) { queueHold(b, tenantID, lines, -1) })
}

func hold(ctx context.Context, tx pgx.Tx, queue func(b *pgx.Batch)) error {
	b := &pgx.Batch{}
	queue(b)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("hold products: %w", err)
	}
	return nil
}

func queueHold(b *pgx.Batch, tenantID string, lines []Line, sign int64) {
	p := db.HoldProductsParams{TenantID: tenantID}
	for _, l := range lines {
		p.Ids, p.Quantities = append(p.Ids, l.ProductID), append(p.Quantities, sign*l.Quantity)
	}
	postgres.Queue(b, db.HoldProducts, p).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(len(lines)) {
			return fmt.Errorf("%d of %d lines have a product", tag.RowsAffected(), len(lines))
		}
		return nil
	})
}

// TakeTx subtracts an order's units from the stock of locked products, where the
// stock is counted. With held it also releases the units that the order held. It
// emits inventory.low and inventory.depleted when a threshold is crossed.
func (s *Service) TakeTx(ctx context.Context, tx pgx.Tx, tenantID, orderID string, lines []Line, held bool) error {
	p := db.TakeProductsParams{TenantID: tenantID, Held: held, Now: s.config.Now()}
	for _, l := range lines {
		p.Ids, p.Quantities = append(p.Ids, l.ProductID), append(p.Quantities, l.Quantity)
	}
	rows, err := db.New(tx).TakeProducts(ctx, p)
	if err != nil {
		return fmt.Errorf("take products: %w", err)
	}
	if len(rows) != len(lines) {
		return fmt.Errorf("take products: %d of %d lines have one", len(rows), len(lines))
	}
	slices.SortFunc(rows, func(a, b db.TakeProductsRow) int { return strings.Compare(a.Product.ID, b.Product.ID) })
	for _, r := range rows {
		for _, e := range stockEvents(&r.StockBefore, r.Product, &orderID) {
			if err := s.config.Events.EmitTx(ctx, tx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Tick is a product's stock as viewers see it, as in the API's RealtimeStockTick.
type Tick struct {
	ProductID string `json:"productId"`
	// Remaining is the number of free units.
	Remaining int64 `json:"remaining"`
}

// TickOf returns the free units of a product; counted is false if its stock isn't
// counted.
func TickOf(p db.Product) (t Tick, counted bool) {
	n, counted := Free(p)
	return Tick{p.ID, n}, counted
}

// stockEvents returns the events for a stock that changed from before to p's: low
// before depleted. orderID is nil when the catalog was changed.
func stockEvents(before *int64, p db.Product, orderID *string) (list []event.Event) {
	low, depleted := crossed(before, p)
	if low {
		list = append(list, event.Event{
			TenantID: p.TenantID, Name: event.InventoryLow, Subject: p.ID,
			Data: eventdata.InventoryLowData{
				ProductID: p.ID, ExternalID: p.ExternalID, Name: p.Name, Stock: p.Stock, LowStockAt: p.LowStockAt, OrderID: orderID,
			},
		})
	}
	if depleted {
		list = append(list, event.Event{
			TenantID: p.TenantID, Name: event.InventoryDepleted, Subject: p.ID,
			Data: eventdata.InventoryDepletedData{
				ProductID: p.ID, ExternalID: p.ExternalID, Name: p.Name, Stock: p.Stock, OrderID: orderID,
			},
		})
	}
	return list
}
