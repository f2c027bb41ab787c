package handlers_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/testkit/apitest"
)

const checkoutPath = "/v1/me/commerce/checkout"

func checkoutBody(productID, streamID string, fields map[string]any) map[string]any {
	body := map[string]any{
		"items": []map[string]any{{"productId": productID, "quantity": 1}}, "streamId": streamID,
		"customerEmail": "bo@buyer.example", "customerExternalId": "user-4711",
		"successUrl": "https://shop.example/thanks?s={CHECKOUT_SESSION_ID}", "cancelUrl": "https://shop.example/cart",
	}
	maps.Copy(body, fields)
	return body
}

// TestAddressesAreOnesForOthersToo checks that an address which the payment
// processor or a browser would refuse later is refused by its field's name, and
// that no unit is held for it.
func TestAddressesAreOnesForOthersToo(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	owner.Seller(t)
	product, streamID := owner.Product(t, map[string]any{"stock": 5}).ID, owner.Stream(t, nil).ID
	for _, address := range []string{
		"https://", "http://:80/", "https://a b.example/", "https://a.example/b c", "https://a.example/\u00a0", "https://[::1", "https://a.example/%zz",
	} {
		for _, field := range []string{"successUrl", "cancelUrl"} {
			p := owner.Call(t, "POST", checkoutPath, checkoutBody(product, streamID, map[string]any{field: address})).Problem(t, 400, "invalid_input")
			require.Equal(t, field, p.Errors[0].Field, address)
		}
		for _, field := range []string{"returnUrl", "refreshUrl"} {
			body := map[string]any{"returnUrl": "https://shop.example/", "refreshUrl": "https://shop.example/again"}
			body[field] = address
			p := owner.Call(t, "POST", "/v1/me/commerce/connect/onboarding-link", body).Problem(t, 400, "invalid_input")
			require.Equal(t, field, p.Errors[0].Field, address)
		}
		p := owner.Call(t, "POST", productsPath, map[string]any{"externalId": "A", "name": "N", "priceCents": 1, "imageUrl": address}).
			Problem(t, 400, "invalid_input")
		require.Equal(t, "imageUrl", p.Errors[0].Field, address)
	}
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", "/v1/me/commerce/orders", nil).Is(t, 200).Body))
	for _, address := range []string{"http://localhost:3000", "https://käse.example/ü?q={CHECKOUT_SESSION_ID}#x", "http://[::1]:8080/a", "https://a.example/%20"} {
		owner.Call(t, "POST", productsPath, map[string]any{"externalId": "A", "name": "N", "priceCents": 1, "imageUrl": address}).Is(t, 201)
	}
}

// TestALostCheckoutNamesItsOrder checks that the answer names the order, because
// the client must not simply try again.
func TestALostCheckoutNamesItsOrder(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.Seller(t)
	body := checkoutBody(owner.Product(t, map[string]any{"stock": 5}).ID, owner.Stream(t, nil).ID, nil)
	s.Sandbox.Down(true)
	p := owner.Call(t, "POST", checkoutPath, body).Problem(t, 503, "processor_unavailable")
	var orders []struct{ ID, Status string }
	owner.Call(t, "GET", "/v1/me/commerce/orders?streamId=&customerExternalId=", nil).Into(t, 200, &orders)
	require.Len(t, orders, 1, "empty filters are none")
	require.Equal(t, "PENDING", orders[0].Status)
	require.Contains(t, p.Message, "the page of order "+orders[0].ID+" may have been made all the same")
}

// TestAServerWithoutAKeySellsNothing checks that, without the processor's key, no order
// or refund begins, so that no units are held for it and no refund is made much later.
func TestAServerWithoutAKeySellsNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	keyless := apitest.New(t, apitest.Options{Pool: s.Pool, Sandbox: &apitest.Sandbox{
		Server: s.Sandbox.Server, URL: s.Sandbox.URL, Client: processor.New(processor.Config{}),
	}})
	owner := s.Register(t)
	owner.Seller(t)
	st, mug := owner.Stream(t, nil), owner.Product(t, map[string]any{"stock": 3})
	sold := owner.Sale(t, st.ID, mug.ID)
	refund := "/v1/me/commerce/orders/" + sold.ID + "/refund"

	there := keyless.With(t, owner.Token)
	there.Call(t, "POST", checkoutPath, checkoutBody(mug.ID, st.ID, nil)).Problem(t, 503, "processor_unavailable")
	there.Call(t, "POST", refund, map[string]any{}).Problem(t, 503, "processor_unavailable")

	var orders []api.Order
	owner.Call(t, "GET", "/v1/me/commerce/orders", nil).Into(t, 200, &orders)
	require.Equal(t, []api.Order{sold}, orders)
	owner.Call(t, "POST", refund, map[string]any{}).Is(t, 201)
	both := map[string]any{"items": []map[string]any{{"productId": mug.ID, "quantity": 2}}}
	owner.Call(t, "POST", checkoutPath, checkoutBody(mug.ID, st.ID, both)).Is(t, 201)
}

// TestTimesAreOnesThatExist checks that a time which doesn't exist, or which has
// no form in UTC, is refused by its field's name.
func TestTimesAreOnesThatExist(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for _, at := range []string{
		"2027-02-29T00:00:00Z", "2026-12-31T23:59:60Z", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+00:01",
		"2027-01-01", "2027-01-01T00:00:00", "2027-01-01t00:00:00z", "2027-01-01T00:00:00,5Z", "2027-01-01T0:00:00Z", "", "now",
	} {
		p := owner.Call(t, "POST", "/v1/me/commerce/discounts", map[string]any{"code": "ABC", "percentOff": 5, "endsAt": at}).Problem(t, 400, "invalid_input")
		require.Len(t, p.Errors, 1, at)
		require.Equal(t, "endsAt", p.Errors[0].Field, at)
	}
	for code, at := range map[string]string{"FIRST": "0000-01-01T00:00:00Z", "LAST": "9999-12-31T23:59:59.9999Z", "EAST": "2027-01-01T00:00:00+14:00"} {
		owner.Discount(t, map[string]any{"code": code, "endsAt": at})
	}
}
