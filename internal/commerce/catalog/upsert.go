package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// change is a product before and after an input; a new product has no id in
// before.
type change struct{ before, after db.Product }

// UpsertProduct updates the product with the input's SKU, or creates it.
func (s *Service) UpsertProduct(ctx context.Context, c tenancy.Caller, in Input) (db.Product, error) {
	checked, err := check([]Input{in}, bodyPath)
	if err != nil {
		return db.Product{}, err
	}
	changes, err := s.put(ctx, c, checked, func(changes []change) audit.Entry {
		before, after := changes[0].before, changes[0].after
		e := audit.Entry{Action: "product.upsert", Entity: entity, EntityID: after.ID, After: auditView(after)}
		if before.ID != "" {
			e.Before = auditView(before)
		}
		return e
	})
	if err != nil {
		return db.Product{}, err
	}
	return changes[0].after, nil
}

// SyncCatalog is UpsertProduct for many products, all or none. It returns their
// number.
func (s *Service) SyncCatalog(ctx context.Context, c tenancy.Caller, list []Input) (upserted int, err error) {
	checked, err := check(list, itemPath)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	changes, err := s.put(ctx, c, lastOfEach(checked), func(changes []change) audit.Entry {
		return audit.Entry{Action: "catalog.sync", Entity: "catalog", EntityID: c.TenantID, After: map[string]any{"products": len(changes)}}
	})
	return len(changes), err
}

// auditView is a product in the audit log.
func auditView(p db.Product) map[string]any {
	return map[string]any{
		"externalId": p.ExternalID, "name": p.Name, "priceCents": p.PriceCents, "currency": p.Currency, "stock": p.Stock, "active": p.Active,
	}
}

// errOvertaken: another transaction has inserted one of the new products.
var errOvertaken = errors.New("a product was inserted meanwhile")

// put writes inputs of different SKUs with their events, and one audit entry,
// unless no product changes.
func (s *Service) put(ctx context.Context, c tenancy.Caller, list []Input, entry func([]change) audit.Entry) ([]change, error) {
	for {
		var changes []change
		err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
			var written int
			if changes, written, err = s.write(ctx, tx, c.TenantID, list); err != nil {
				return err
			}
			if err := s.config.Events.EmitManyTx(ctx, tx, upsertEvents(changes)); err != nil || written == 0 {
				return err
			}
			e := entry(changes)
			e.Actor, e.TenantID = c.Actor(), c.TenantID
			s.announceTx(tx, c.TenantID, changes)
			return audit.WriteTx(ctx, db.New(tx), s.config.Now(), e)
		})
		// The next attempt finds and locks the product that was inserted. Products are
		// never deleted, so this loop ends.
		if !errors.Is(err, errOvertaken) {
			return changes, err
		}
	}
}

// announceTx reports changes to Config.Changed once tx is committed. A product that was archived, or didn't exist, and is archived
// afterwards was visible to no buyer; it is left out.
func (s *Service) announceTx(tx pgx.Tx, tenantID string, changes []change) {
	var ids []string
	for _, c := range changes {
		if !same(c.before, c.after) && (c.before.Active || c.after.Active) {
			ids = append(ids, c.after.ID)
		}
	}
	if s.config.Changed != nil && len(ids) > 0 {
		postgres.AfterCommit(tx, func() { s.config.Changed(tenantID, ids) })
	}
}

// write locks the existing products, in the order of ids, and writes new and
// changed ones with one statement. It returns one change per input, and the number
// of written products.
func (s *Service) write(ctx context.Context, tx pgx.Tx, tenantID string, list []Input) (changes []change, written int, err error) {
	q, now := db.New(tx), s.config.Now()
	skus := make([]string, len(list))
	for i, in := range list {
		skus[i] = in.ExternalID
	}
	rows, err := q.LockProductsByExternalID(ctx, db.LockProductsByExternalIDParams{TenantID: tenantID, ExternalIds: skus})
	if err != nil {
		return nil, 0, fmt.Errorf("lock products: %w", err)
	}
	known := make(map[string]db.Product, len(rows))
	for _, p := range rows {
		known[p.ExternalID] = p
	}
	fresh := 0
	changes = make([]change, len(list))
	w := db.WriteProductsParams{TenantID: tenantID, Now: now}
	for i, in := range list {
		before := known[in.ExternalID]
		after := merge(before, in)
		isNew := before.ID == ""
		if isNew {
			fresh++
			after.ID, after.TenantID, after.CreatedAt = id.New(id.Product), tenantID, now
		}
		if isNew || !same(before, after) {
			after.UpdatedAt = now
			addRow(&w, after, isNew)
		}
		changes[i] = change{before, after}
	}
	if len(w.Ids) == 0 {
		return changes, len(w.Ids), nil
	}
	inserted, err := q.WriteProducts(ctx, w)
	if err != nil {
		return nil, 0, fmt.Errorf("write products: %w", err)
	}
	if int(inserted) < fresh {
		return nil, 0, errOvertaken
	}
	return changes, len(w.Ids), nil
}

// addRow adds a row to the statement's arrays, in which an empty text and -1 stand
// for NULL.
func addRow(w *db.WriteProductsParams, p db.Product, fresh bool) {
	w.Ids, w.Fresh, w.ExternalIds = append(w.Ids, p.ID), append(w.Fresh, fresh), append(w.ExternalIds, p.ExternalID)
	w.Names, w.Descriptions = append(w.Names, p.Name), append(w.Descriptions, p.Description)
	w.ImageUrls, w.PriceCents = append(w.ImageUrls, or(p.ImageURL, "")), append(w.PriceCents, p.PriceCents)
	w.CompareAtCents, w.Currencies = append(w.CompareAtCents, or(p.CompareAtCents, -1)), append(w.Currencies, p.Currency)
	w.Stocks, w.LowStockAt = append(w.Stocks, p.Stock), append(w.LowStockAt, p.LowStockAt)
	w.Active, w.PriceIds = append(w.Active, p.Active), append(w.PriceIds, or(p.ProcessorPriceID, ""))
	w.Metadata, w.Searches = append(w.Metadata, string(p.Metadata)), append(w.Searches, p.Search)
}

func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// upsertEvents returns the events of each product, including those for crossed
// stock thresholds.
func upsertEvents(changes []change) []event.Event {
	events := make([]event.Event, 0, len(changes))
	for _, c := range changes {
		events = append(events, event.Event{
			TenantID: c.after.TenantID, Name: event.ProductUpserted, Subject: c.after.ID,
			Data: eventdata.ProductUpsertedData{Product: viewOf(c.after)},
		})
		if c.before.ID != "" {
			events = append(events, stockEvents(&c.before.Stock, c.after, nil)...)
		}
	}
	return events
}
