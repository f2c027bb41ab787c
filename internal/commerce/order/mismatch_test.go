package order_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/order"
	"showfloor/internal/testkit/apitest"
)

// mismatched holds those fields of an order that depend on the paid amount.
type mismatched struct {
	Status          string
	TotalCents      int64
	RefundedCents   int64
	PaymentMismatch *struct {
		ExpectedTotalCents, PaidTotalCents int64
		PaidCurrency                       string
	}
}

func (r *rig) shown(t *testing.T, orderID string) (o mismatched) {
	t.Helper()
	r.owner.Call(t, "GET", "/v1/me/commerce/orders/"+orderID, nil).Into(t, http.StatusOK, &o)
	return o
}

// TestAPageOfOursPaidWithAnotherAmount: a payment that covers the total makes the
// order PAID, any other puts it into REVIEW, where it holds no units. This holds for
// pages that the processor reports and for those that we ask for.
func TestAPageOfOursPaidWithAnotherAmount(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cents       int64
		currency    string
		status      string
		stock, held int64
	}{
		"more":             {1200, "usd", "PAID", 4, 0},
		"less":             {999, "usd", "REVIEW", 5, 0},
		"another currency": {150_000, "jpy", "REVIEW", 5, 0},
	} {
		for _, reported := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, apitest.Options{})
				mug := r.product(t, 5)
				c := r.checkout(t, r.cart(mug, nil))
				require.NoError(t, r.Sandbox.Reprice(c.SessionID, tt.cents, tt.currency))
				if reported {
					r.pay(t, c.SessionID)
				} else {
					_, err := r.Sandbox.Pay(c.SessionID, "")
					require.NoError(t, err)
					r.Clock.Advance(2 * time.Minute)
					require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
				}
				o := r.shown(t, c.OrderID)
				require.Equal(t, tt.status, o.Status)
				require.Equal(t, int64(1000), o.TotalCents)
				require.NotNil(t, o.PaymentMismatch)
				require.Equal(t, []any{int64(1000), tt.cents, tt.currency},
					[]any{o.PaymentMismatch.ExpectedTotalCents, o.PaymentMismatch.PaidTotalCents, o.PaymentMismatch.PaidCurrency})
				r.has(t, mug, tt.stock, tt.held)
				require.Nil(t, r.row(t, c.OrderID).CheckAt, "nothing is left to ask")
				if tt.status == order.Review {
					r.report(t, c.SessionID)
					require.Empty(t, r.events(t, "purchase.completed"))
					require.Equal(t, []map[string]any{{
						"orderId": c.OrderID, "processorPaymentIntentId": *r.row(t, c.OrderID).PaymentIntentID, "customerEmail": "bo@buyer.example",
						"customerExternalId": "user-1", "streamId": r.stream, "currency": "usd", "metadata": map[string]any{},
						"paymentMismatch": map[string]any{"expectedTotalCents": 1000., "paidTotalCents": float64(tt.cents), "paidCurrency": tt.currency},
					}}, r.events(t, "purchase.mismatched"), "once, however often it is reported")
				}
			})
		}
	}
}

// review is an order that was paid with 600 of 1000 cents.
func (r *rig) review(t *testing.T, mug string) (orderID string) {
	t.Helper()
	c := r.checkout(t, r.cart(mug, nil))
	require.NoError(t, r.Sandbox.Reprice(c.SessionID, 600, "usd"))
	r.pay(t, c.SessionID)
	require.Equal(t, order.Review, r.shown(t, c.OrderID).Status)
	return c.OrderID
}

// TestAPaymentUnderReviewIsAccepted: fulfilling the order accepts it, and the
// units are sold once.
func TestAPaymentUnderReviewIsAccepted(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	orderID := r.review(t, mug)
	for range 2 {
		r.owner.Call(t, "POST", "/v1/me/commerce/orders/"+orderID+"/fulfil", nil).Into(t, http.StatusCreated, new(api.Order))
	}
	o := r.order(t, orderID)
	require.Equal(t, api.OrderStatus("FULFILLED"), o.Status)
	require.False(t, o.PaidAt.IsNull() || o.FulfilledAt.IsNull())
	r.has(t, mug, 4, 0)
	sold := r.events(t, "purchase.completed")
	require.Len(t, sold, 1)
	require.Equal(t, []any{600., "usd"}, []any{sold[0]["totalCents"], sold[0]["currency"]})
	require.NotNil(t, sold[0]["paymentMismatch"])
	r.refund(t, orderID, 0).Into(t, http.StatusCreated, new(api.Order))
	r.refunded(t, orderID, order.Refunded, 600, 1)
}

// TestAPaymentUnderReviewIsRefunded: in parts, up to the paid amount; after that
// the order can't be fulfilled.
func TestAPaymentUnderReviewIsRefunded(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	orderID := r.review(t, mug)
	r.refund(t, orderID, 601).Problem(t, 400, "refund_too_large")
	r.refund(t, orderID, 100).Into(t, http.StatusCreated, new(api.Order))
	r.refunded(t, orderID, order.Review, 100, 1)
	r.owner.Call(t, "POST", "/v1/me/commerce/orders/"+orderID+"/fulfil", nil).Problem(t, 409, "conflict")
	r.refund(t, orderID, 0).Into(t, http.StatusCreated, new(api.Order))
	r.refunded(t, orderID, order.Refunded, 600, 2)
	r.owner.Call(t, "POST", "/v1/me/commerce/orders/"+orderID+"/fulfil", nil).Problem(t, 409, "conflict")
	r.has(t, mug, 5, 0)
	require.Empty(t, r.events(t, "purchase.completed"))
}

// TestAnUnpaidPageWithAnotherAmount: it holds its units until it is closed, like
// any page.
func TestAnUnpaidPageWithAnotherAmount(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	c := r.checkout(t, r.cart(mug, nil))
	require.NoError(t, r.Sandbox.Reprice(c.SessionID, 150_000, "jpy"))
	r.Clock.Advance(2 * time.Minute)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
	require.Equal(t, "PENDING", r.shown(t, c.OrderID).Status)
	r.has(t, mug, 5, 1)
	r.Clock.Advance(time.Hour)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
	require.Equal(t, "EXPIRED", r.shown(t, c.OrderID).Status)
	r.has(t, mug, 5, 0)
}
