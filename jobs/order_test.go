package jobs_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// TestASaleGoesByItself checks that an order becomes PAID when the processor sends
// its webhooks, even repeatedly, and also when the processor can't send them.
func TestASaleGoesByItself(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true})
	owner := s.Register(t)
	owner.Seller(t)
	streamID, product := owner.Stream(t, nil).ID, owner.Product(t, map[string]any{"stock": 5})
	reported, lost := owner.Checkout(t, streamID, product.ID), owner.Checkout(t, streamID, product.ID)
	is := func(orderID string, status api.OrderStatus) func() bool {
		return func() bool {
			var o api.Order
			owner.Call(t, "GET", "/v1/me/commerce/orders/"+orderID, nil).Into(t, http.StatusOK, &o)
			return o.Status == status
		}
	}
	_, err := s.Sandbox.Pay(reported.SessionID, "")
	require.NoError(t, err)
	for _, e := range s.Sandbox.Events() {
		require.NoError(t, s.Sandbox.Resend(e.ID, 3))
	}
	apitest.Until(t, "the report", is(reported.OrderID, "PAID"))

	require.NoError(t, s.Sandbox.HoldEvents())
	_, err = s.Sandbox.Pay(lost.SessionID, "")
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), "UPDATE orders SET check_at = now() WHERE id = $1", lost.OrderID)
	require.NoError(t, err)
	require.NoError(t, s.Orders.EnqueueDue(t.Context()))
	apitest.Until(t, "the check", is(lost.OrderID, "PAID"))

	var got api.Product
	owner.Call(t, "GET", "/v1/me/catalog/products/"+product.ID, nil).Into(t, http.StatusOK, &got)
	require.EqualValues(t, 3, got.Stock)
	apitest.Until(t, "the price of later pages", func() bool {
		owner.Call(t, "GET", "/v1/me/catalog/products/"+product.ID, nil).Into(t, http.StatusOK, &got)
		return !got.ProcessorPriceID.IsNull()
	})
	require.NoError(t, s.Sandbox.ReleaseEvents())
	third := owner.Checkout(t, streamID, product.ID)
	_, err = s.Sandbox.Pay(third.SessionID, "")
	require.NoError(t, err)
	apitest.Until(t, "a sale with the price", is(third.OrderID, "PAID"))
}
