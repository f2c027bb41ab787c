package apitest

import (
	"maps"
	"net/http"
	"testing"

	"showfloor/gen/api"
)

// Auction starts an auction of a new product in a new stream: for an hour, from
// 10.00 in steps of 1.00. fields replace or add to the request's body.
func (c *Caller) Auction(t testing.TB, fields map[string]any) api.Auction {
	t.Helper()
	body := map[string]any{"startingBidCents": 1000, "bidIncrementCents": 100, "durationSec": 3600}
	maps.Copy(body, fields)
	if body["productId"] == nil {
		body["productId"] = c.Product(t, map[string]any{"stock": 1}).ID
	}
	if body["streamId"] == nil {
		body["streamId"] = c.Stream(t, nil).ID
	}
	var a api.Auction
	c.Call(t, "POST", "/v1/me/commerce/auctions", body).Into(t, http.StatusCreated, &a)
	return a
}

// Bid places a bid; every call has the same bidder.
func (c *Caller) Bid(t testing.TB, auctionID string, amountCents int64) Response {
	t.Helper()
	return c.Call(t, "POST", "/v1/me/commerce/auctions/"+auctionID+"/bid", map[string]any{
		"amountCents": amountCents, "bidderExternalId": "user-4711", "bidderName": "Bo",
	})
}
