package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// entity is the entity of a product in the audit log.
const entity = "product"

// beforeAll sorts after every id; it is the cursor of the first page.
const beforeAll = "prod_zzzzzzzzzzzzzzzzzzzzzzzzzzz"

// Filter of a list.
type Filter struct {
	// Query is a text that name or externalId must contain; empty for all products.
	Query      string
	ActiveOnly bool
}

// ListProducts pages through the tenant's products, newest first. cursor is the id
// after which the page starts, nil for the first page.
func (s *Service) ListProducts(ctx context.Context, c tenancy.Caller, f Filter, cursor *string, limit int) ([]db.Product, error) {
	q, before := db.New(s.config.Pool), beforeAll
	if cursor != nil {
		before = *cursor
	}
	p := db.ListProductsParams{TenantID: c.TenantID, Before: before, Pattern: pattern(f.Query), MaxRows: int32(limit)}
	var rows []db.Product
	var err error
	if f.ActiveOnly {
		rows, err = q.ListActiveProducts(ctx, db.ListActiveProductsParams(p))
	} else {
		rows, err = q.ListProducts(ctx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("list products: %w", err)
	}
	return rows, nil
}

// GetProduct returns one product of the tenant, archived or not.
func (s *Service) GetProduct(ctx context.Context, c tenancy.Caller, productID string) (db.Product, error) {
	return getProduct(ctx, db.New(s.config.Pool), c.TenantID, productID)
}

// ListByID returns those of the tenant's products that have one of the ids, archived or not, by id.
func (s *Service) ListByID(ctx context.Context, tenantID string, ids []string) (map[string]db.Product, error) {
	products := make(map[string]db.Product, len(ids))
	if len(ids) == 0 {
		return products, nil
	}
	rows, err := db.New(s.config.Pool).ListProductsByID(ctx, db.ListProductsByIDParams{TenantID: tenantID, Ids: ids})
	if err != nil {
		return nil, fmt.Errorf("list products by id: %w", err)
	}
	for _, p := range rows {
		products[p.ID] = p
	}
	return products, nil
}

// ListNames returns the names of those of the tenant's products that have one of the ids, archived or not, by id.
func (s *Service) ListNames(ctx context.Context, tenantID string, ids []string) (map[string]string, error) {
	rows, err := db.New(s.config.Pool).ListProductNames(ctx, db.ListProductNamesParams{TenantID: tenantID, Ids: ids})
	if err != nil {
		return nil, fmt.Errorf("list names of products: %w", err)
	}
	names := make(map[string]string, len(rows))
	for _, r := range rows {
		names[r.ID] = r.Name
	}
	return names, nil
}

// GetTx returns one product of the tenant, in the caller's transaction.
func GetTx(ctx context.Context, tx pgx.Tx, tenantID, productID string) (db.Product, error) {
	return getProduct(ctx, db.New(tx), tenantID, productID)
}

// CheckActiveTx returns the problem not_found unless the tenant has a product with
// this id, and a conflict if the product is archived.
func (s *Service) CheckActiveTx(ctx context.Context, tx pgx.Tx, tenantID, productID string) error {
	p, err := GetTx(ctx, tx, tenantID, productID)
	if err == nil && !p.Active {
		return problem.Conflicting("the product is archived")
	}
	return err
}

// CheckProductsTx returns the problem not_found unless all products are the tenant's. ids has none twice.
func (s *Service) CheckProductsTx(ctx context.Context, tx pgx.Tx, tenantID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := db.New(tx).ListProductNames(ctx, db.ListProductNamesParams{TenantID: tenantID, Ids: ids})
	if err != nil {
		return fmt.Errorf("look for products: %w", err)
	}
	if len(rows) < len(ids) {
		return problem.Missing("product")
	}
	return nil
}

func getProduct(ctx context.Context, q *db.Queries, tenantID, productID string) (db.Product, error) {
	p, err := q.GetProduct(ctx, db.GetProductParams{TenantID: tenantID, ID: productID})
	if errors.Is(err, pgx.ErrNoRows) {
		return p, problem.Missing("product")
	}
	if err != nil {
		return p, fmt.Errorf("get product: %w", err)
	}
	return p, nil
}

// ArchiveProduct takes a product off sale. It has no effect on an archived
// product.
func (s *Service) ArchiveProduct(ctx context.Context, c tenancy.Caller, productID string) (db.Product, error) {
	var p db.Product
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		var err error
		p, err = q.LockProduct(ctx, db.LockProductParams{TenantID: c.TenantID, ID: productID})
		if errors.Is(err, pgx.ErrNoRows) {
			return problem.Missing("product")
		}
		if err != nil {
			return fmt.Errorf("lock product: %w", err)
		}
		if !p.Active {
			return nil
		}
		before := p
		if p, err = q.ArchiveProduct(ctx, db.ArchiveProductParams{TenantID: c.TenantID, ID: productID, Now: now}); err != nil {
			return fmt.Errorf("archive product: %w", err)
		}
		s.announceTx(tx, c.TenantID, []change{{before, p}})
		err = s.config.Events.EmitTx(ctx, tx, event.Event{
			TenantID: c.TenantID, Name: event.ProductArchived, Subject: p.ID, Data: eventdata.ProductArchivedData{Product: viewOf(p)},
		})
		if err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "product.archive", Entity: entity, EntityID: p.ID,
			Before: map[string]any{"active": true}, After: map[string]any{"active": false},
		})
	})
	return p, err
}
