package catalog

import (
	"strings"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/timestamp"
)

// viewOf converts a product for events.
func viewOf(p db.Product) eventdata.Product {
	return eventdata.Product{
		ID: p.ID, ExternalID: p.ExternalID, Name: p.Name, Description: p.Description, ImageURL: p.ImageURL,
		PriceCents: p.PriceCents, CompareAtCents: p.CompareAtCents, Currency: strings.ToLower(p.Currency),
		Stock: p.Stock, LowStockAt: p.LowStockAt, Active: p.Active, ProcessorPriceID: p.ProcessorPriceID, Metadata: p.Metadata,
		CreatedAt: timestamp.From(p.CreatedAt), UpdatedAt: timestamp.From(p.UpdatedAt),
	}
}
