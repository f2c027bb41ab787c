package processor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/stripe/stripe-go/v76"
)

// CreatePrice creates a price that later payment pages can refer to. Repeated
// calls within a day with the same name, amount and currency create only one.
func (c *Client) CreatePrice(ctx context.Context, p NewPrice) (priceID string, err error) {
	labels := map[string]string{metaProduct: p.ProductID, metaTenant: p.TenantID}
	made, err := c.api.Prices.New(&stripe.PriceParams{
		Params:   params(ctx, p.AccountID, priceKey(p)),
		Currency: new(p.Currency), UnitAmount: new(p.UnitCents),
		ProductData: &stripe.PriceProductDataParams{Name: new(p.Name), Metadata: labels},
		Metadata:    labels,
	})
	if err := c.failed(ctx, "create price", err, made.ID != ""); err != nil {
		return "", err
	}
	return made.ID, nil
}

// priceKey is the idempotency key of a price. It depends on everything that makes
// it a different price.
func priceKey(p NewPrice) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %s", p.Name, p.UnitCents, p.Currency))
	return "price-" + p.ProductID + "-" + hex.EncodeToString(sum[:8])
}
