package catalog

import (
	"strings"

	"showfloor/gen/db"
)

// Shown is a product as buyers see it: the API's ShowProduct.
type Shown struct {
	ID          string  `json:"id"`
	ExternalID  string  `json:"externalId"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	ImageURL    *string `json:"imageUrl"`
	PriceCents  int64   `json:"priceCents"`
	// CompareAtCents is a former price; nil for none.
	CompareAtCents *int64 `json:"compareAtCents"`
	// Currency is in lower case.
	Currency string `json:"currency"`
	// Remaining is the number of free units; -1 if the stock isn't counted.
	Remaining int64 `json:"remaining"`
	Low       bool  `json:"low"`
	Active    bool  `json:"active"`
}

// ShownOf returns what buyers see of a product.
func ShownOf(p db.Product) Shown {
	out := Shown{
		ID: p.ID, ExternalID: p.ExternalID, Name: p.Name, Description: p.Description, ImageURL: p.ImageURL, PriceCents: p.PriceCents,
		CompareAtCents: p.CompareAtCents, Currency: strings.ToLower(p.Currency), Remaining: -1, Active: p.Active,
	}
	if free, counted := Free(p); counted {
		out.Remaining, out.Low = free, free <= p.LowStockAt
	}
	return out
}
