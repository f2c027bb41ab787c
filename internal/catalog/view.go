package catalog

import (
	"encoding/json"
	"strings"

	"showfloor/gen/db"
	"showfloor/internal/timestamp"
)

// view is the data of product.upserted and product.archived: the API document's
// Product.
type view struct {
	ID               string          `json:"id"`
	ExternalID       string          `json:"externalId"`
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	ImageURL         *string         `json:"imageUrl"`
	PriceCents       int64           `json:"priceCents"`
	CompareAtCents   *int64          `json:"compareAtCents,omitempty"`
	Currency         string          `json:"currency"`
	Stock            int64           `json:"stock"`
	LowStockAt       int64           `json:"lowStockAt"`
	Active           bool            `json:"active"`
	ProcessorPriceID *string         `json:"processorPriceId"`
	Metadata         json.RawMessage `json:"metadata"`
	CreatedAt        timestamp.Time  `json:"createdAt"`
	UpdatedAt        timestamp.Time  `json:"updatedAt"`
}

func viewOf(p db.Product) view {
	return view{
		ID: p.ID, ExternalID: p.ExternalID, Name: p.Name, Description: p.Description, ImageURL: p.ImageURL,
		PriceCents: p.PriceCents, CompareAtCents: p.CompareAtCents, Currency: strings.ToLower(p.Currency),
		Stock: p.Stock, LowStockAt: p.LowStockAt, Active: p.Active, ProcessorPriceID: p.ProcessorPriceID, Metadata: p.Metadata,
		CreatedAt: timestamp.From(p.CreatedAt), UpdatedAt: timestamp.From(p.UpdatedAt),
	}
}
