package handlers

import (
	"context"
	"strings"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/catalog"
)

// ListProducts lists the tenant's products.
func (s *Server) ListProducts(ctx context.Context, r api.ListProductsRequestObject) (api.ListProductsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Product)
	if err != nil {
		return nil, err
	}
	filter := catalog.Filter{
		Query: orEmpty(r.Params.Q), ActiveOnly: r.Params.ActiveOnly != nil && *r.Params.ActiveOnly == api.ActiveOnlyFlagN1,
	}
	rows, err := s.areas.Catalog.ListProducts(ctx, request.Caller(ctx), filter, cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(p db.Product) string { return p.ID })
	return api.ListProducts200JSONResponse{Body: each(rows, toProduct), Headers: api.ListProducts200ResponseHeaders{Link: link}}, nil
}

// GetProduct returns a product.
func (s *Server) GetProduct(ctx context.Context, r api.GetProductRequestObject) (api.GetProductResponseObject, error) {
	p, err := s.areas.Catalog.GetProduct(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetProduct200JSONResponse(toProduct(p)), nil
}

// UpsertProduct creates or updates a product.
func (s *Server) UpsertProduct(ctx context.Context, r api.UpsertProductRequestObject) (api.UpsertProductResponseObject, error) {
	p, err := s.areas.Catalog.UpsertProduct(ctx, request.Caller(ctx), fromProductInput(*r.Body))
	if err != nil {
		return nil, err
	}
	return api.UpsertProduct201JSONResponse(toProduct(p)), nil
}

// ArchiveProduct archives a product, so that it can't be sold.
func (s *Server) ArchiveProduct(ctx context.Context, r api.ArchiveProductRequestObject) (api.ArchiveProductResponseObject, error) {
	p, err := s.areas.Catalog.ArchiveProduct(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.ArchiveProduct200JSONResponse(toProduct(p)), nil
}

// SyncCatalog creates or updates many products.
func (s *Server) SyncCatalog(ctx context.Context, r api.SyncCatalogRequestObject) (api.SyncCatalogResponseObject, error) {
	n, err := s.areas.Catalog.SyncCatalog(ctx, request.Caller(ctx), each(r.Body.Items, fromProductInput))
	if err != nil {
		return nil, err
	}
	return api.SyncCatalog201JSONResponse{Upserted: n}, nil
}

func fromProductInput(in api.ProductInput) catalog.Input {
	out := catalog.Input{
		ExternalID: in.ExternalID, Name: in.Name, Description: in.Description, PriceCents: in.PriceCents,
		ImageURL: fromNullable(in.ImageURL), CompareAtCents: fromNullable(in.CompareAtCents),
		Currency: in.Currency, Stock: in.Stock, LowStockAt: in.LowStockAt, Active: in.Active,
	}
	if in.Metadata != nil {
		out.Metadata = *in.Metadata
	}
	return out
}

// fromNullable keeps the difference between null and an absent field.
func fromNullable[T any](v nullable.Nullable[T]) catalog.Nullable[T] {
	out := catalog.Nullable[T]{Given: v.IsSpecified()}
	if value, err := v.Get(); err == nil {
		out.Value = &value
	}
	return out
}

func toProduct(p db.Product) api.Product {
	return api.Product{
		ID: p.ID, ExternalID: p.ExternalID, Name: p.Name, Description: p.Description, ImageURL: orNull(p.ImageURL),
		PriceCents: p.PriceCents, CompareAtCents: p.CompareAtCents, Currency: strings.ToLower(p.Currency),
		Stock: p.Stock, LowStockAt: p.LowStockAt, Active: p.Active, ProcessorPriceID: orNull(p.ProcessorPriceID),
		Metadata: p.Metadata, CreatedAt: timestamp.From(p.CreatedAt), UpdatedAt: timestamp.From(p.UpdatedAt),
	}
}
