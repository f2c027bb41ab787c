package processor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/stripe/stripe-go/v76"
)

// CreatePrice makes a price that later payment pages can name, once for the same
// name, amount and currency however often it is called within a day.
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

// priceKey changes with all that makes another price of it.
func priceKey(p NewPrice) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %s", p.Name, p.UnitCents, p.Currency))
	return "price-" + p.ProductID + "-" + hex.EncodeToString(sum[:8])
}
