package handlers_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/testkit/apitest"
	showfloor "showfloor/sdk/go"
)

// TestAPurchaseOutsideOfAStream follows it from the checkout, which is sent twice, to the
// refund, with its webhooks and the lists of orders.
func TestAPurchaseOutsideOfAStream(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true})
	owner := s.Register(t)
	account := owner.Seller(t)
	st, mug := owner.Stream(t, nil), owner.Product(t, map[string]any{"priceCents": 1000, "stock": 30})
	sink := apitest.NewSink(t, nil)
	hook := owner.Webhook(t, sink.URL, "purchase.completed", "purchase.refunded")

	var made api.Checkout
	body, err := json.Marshal(checkoutBody(mug.ID, "", map[string]any{"streamId": nil}))
	require.NoError(t, err)
	first, second := post(t, owner, s, checkoutPath, string(body), "once"), post(t, owner, s, checkoutPath, string(body), "once")
	replayed(t, first, second)
	first.Into(t, 201, &made)
	_, err = s.Sandbox.Pay(made.SessionID, "bo@buyer.example")
	require.NoError(t, err)
	page, err := s.Sandbox.Client.GetPage(t.Context(), account, made.SessionID)
	require.NoError(t, err)
	require.NoError(t, s.Orders.ApplyPaymentPage(t.Context(), account, page))
	owner.Call(t, "POST", "/v1/me/commerce/orders/"+made.OrderID+"/refund", map[string]any{"amountCents": 300}).Is(t, 201)

	received := sink.Wait(t, 2)
	e, err := showfloor.VerifyWebhook(received[0].Header, received[0].Body, *hook.Secret)
	require.NoError(t, err)
	completed, err := e.AsPurchaseCompletedEvent()
	require.NoError(t, err)
	require.Equal(t, made.OrderID, completed.Data.OrderID)
	require.True(t, completed.Data.StreamID.IsNull())
	e, err = showfloor.VerifyWebhook(received[1].Header, received[1].Body, *hook.Secret)
	require.NoError(t, err)
	refunded, err := e.AsPurchaseRefundedEvent()
	require.NoError(t, err)
	require.Equal(t, int64(300), refunded.Data.RefundedCents)
	require.True(t, refunded.Data.StreamID.IsNull())
	for i, r := range received {
		require.Equal(t, []string{"1", "2"}[i], r.Header.Get("X-Service-Sequence"), "the order numbers its events")
	}

	inStream := owner.Sale(t, st.ID, mug.ID)
	var orders []api.Order
	owner.Call(t, "GET", "/v1/me/commerce/orders", nil).Into(t, 200, &orders)
	require.Len(t, orders, 2)
	require.Equal(t, made.OrderID, orders[1].ID)
	require.Equal(t, api.OrderStatusPARTIALLYREFUNDED, orders[1].Status)
	require.True(t, orders[1].StreamID.IsNull())
	owner.Call(t, "GET", "/v1/me/commerce/orders?streamId="+st.ID, nil).Into(t, 200, &orders)
	require.Equal(t, []api.Order{inStream}, orders)
}

func TestFiguresCountPurchasesOutsideOfAStream(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	start := noon(s)
	owner := s.Register(t)
	owner.Seller(t)
	st, mug := owner.Stream(t, nil), owner.Product(t, map[string]any{"priceCents": 1000})
	owner.Sale(t, st.ID, mug.ID)
	owner.Sale(t, "", mug.ID)

	var o api.Overview
	owner.Call(t, "GET", "/v1/me/overview", nil).Into(t, 200, &o)
	require.Equal(t, 2, o.OrdersToday)
	require.Equal(t, api.RevenueList{{Currency: "usd", TotalCents: 2000}}, o.RevenueToday)
	var a api.Analytics
	span := "&from=" + timestamp.Format(start) + "&to=" + timestamp.Format(start.Add(time.Hour))
	owner.Call(t, "GET", "/v1/me/analytics?interval=hour"+span, nil).Into(t, 200, &a)
	require.Equal(t, 2, a.Points[0].Orders)
	require.Equal(t, api.RevenueList{{Currency: "usd", TotalCents: 2000}}, a.Points[0].Revenue)
}
