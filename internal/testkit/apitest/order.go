package apitest

import (
	"net/http"
	"testing"

	"showfloor/gen/api"
)

// Checkout creates an order of one unit and its payment page, outside of a stream if
// streamID is empty. The caller's tenant must be a Seller.
func (c *Caller) Checkout(t testing.TB, streamID, productID string) api.Checkout {
	t.Helper()
	body := map[string]any{
		"items":         []map[string]any{{"productId": productID, "quantity": 1}},
		"customerEmail": "bo@buyer.example", "customerExternalId": "user-4711",
		"successUrl": "https://shop.example/thanks", "cancelUrl": "https://shop.example/cart",
	}
	if streamID != "" {
		body["streamId"] = streamID
	}
	var made api.Checkout
	c.Call(t, "POST", "/v1/me/commerce/checkout", body).Into(t, http.StatusCreated, &made)
	return made
}

// Sale creates a Checkout and pays it.
func (c *Caller) Sale(t testing.TB, streamID, productID string) api.Order {
	t.Helper()
	made := c.Checkout(t, streamID, productID)
	_, err := c.server.Sandbox.Pay(made.SessionID, "bo@buyer.example")
	must(t, err)
	page, known := c.server.Sandbox.Session(made.SessionID)
	if !known {
		t.Fatalf("the processor has no page %s", made.SessionID)
	}
	paid, err := c.server.Sandbox.Client.GetPage(t.Context(), page.Account, page.ID)
	must(t, err)
	must(t, c.server.Orders.ApplyPaymentPage(t.Context(), page.Account, paid))
	var o api.Order
	c.Call(t, "GET", "/v1/me/commerce/orders/"+made.OrderID, nil).Into(t, http.StatusOK, &o)
	return o
}
