package apitest

import (
	"context"
	"maps"
	"net/http"
	"testing"

	"showfloor/gen/api"
	"showfloor/internal/id"
)

// StockedProduct makes a product of the caller's tenant with so many units (-1:
// not counted) behind the API's back, and returns its id.
func (c *Caller) StockedProduct(t testing.TB, stock int) string {
	t.Helper()
	productID := id.New(id.Product)
	_, err := c.server.Pool.Exec(context.WithoutCancel(t.Context()), `INSERT INTO products
		(id, tenant_id, external_id, name, price_cents, currency, stock, low_stock_at, created_at, updated_at)
		VALUES ($1, $2, $1, 'Blue mug', 1999, 'USD', $3, 0, now(), now())`, productID, c.TenantID, stock)
	must(t, err)
	return productID
}

// Auction starts one of a fresh product in a fresh stream, from 10.00 up by 1.00
// for an hour; fields replace or add to the request's body.
func (c *Caller) Auction(t testing.TB, fields map[string]any) api.Auction {
	t.Helper()
	body := map[string]any{"startingBidCents": 1000, "bidIncrementCents": 100, "durationSec": 3600}
	maps.Copy(body, fields)
	if body["productId"] == nil {
		body["productId"] = c.StockedProduct(t, 1)
	}
	if body["streamId"] == nil {
		body["streamId"] = c.Stream(t, nil).ID
	}
	var a api.Auction
	c.Call(t, "POST", "/v1/me/commerce/auctions", body).Into(t, http.StatusCreated, &a)
	return a
}

// Bid places a bid of somebody.
func (c *Caller) Bid(t testing.TB, auctionID string, amountCents int64) Response {
	t.Helper()
	return c.Call(t, "POST", "/v1/me/commerce/auctions/"+auctionID+"/bid", map[string]any{
		"amountCents": amountCents, "bidderExternalId": "user-4711", "bidderName": "Bo",
	})
}
