package order_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// cartOutside is a valid request for one unit of a product outside of a stream.
func (r *rig) cartOutside(productID string, fields map[string]any) map[string]any {
	body := r.cart(productID, fields)
	delete(body, "streamId")
	return body
}

// TestACartIsSoldOutsideOfAStream covers both ways to name no stream. Units, code, fee
// and payment are those of any order; no viewers receive a stock-tick.
func TestACartIsSoldOutsideOfAStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{PlatformFee: 250})
	mug := r.product(t, 3)
	codeID := r.code(t, "LAUNCH20", 5, 1)
	inStream := r.checkout(t, r.cart(mug, nil))
	ticks := len(r.ticks(mug))

	cart := r.cartOutside(mug, map[string]any{"discountCode": "LAUNCH20"})
	absent := r.checkout(t, cart)
	cart["streamId"], cart["customerExternalId"] = nil, "user-2"
	null := r.checkout(t, cart)
	r.has(t, mug, 3, 3)
	for _, c := range []api.Checkout{absent, null} {
		o := r.order(t, c.OrderID)
		require.True(t, o.StreamID.IsNull())
		require.Equal(t, []int64{1000, 200, 800, 20}, []int64{o.SubtotalCents, o.DiscountCents, o.TotalCents, o.ApplicationFeeCents})
	}
	r.pay(t, absent.SessionID)
	r.expire(t, null.SessionID)
	require.Equal(t, api.OrderStatusPAID, r.order(t, absent.OrderID).Status)
	require.Equal(t, api.OrderStatusEXPIRED, r.order(t, null.OrderID).Status)
	r.has(t, mug, 2, 1)
	redemptions, held := r.uses(t, codeID)
	require.Equal(t, []int32{1, 0}, []int32{redemptions, held})
	require.Equal(t, absent.OrderID, r.events(t, "inventory.low")[0]["orderId"])
	require.Equal(t, 1, r.jobs(t, "catalog_cache_price", mug))
	for _, p := range r.Published() {
		require.Equal(t, r.stream, p.Room, "%s", p.Type)
	}
	require.Len(t, r.ticks(mug), ticks)

	var orders []api.Order
	r.owner.Call(t, "GET", "/v1/me/commerce/orders", nil).Into(t, 200, &orders)
	require.Equal(t, []string{null.OrderID, absent.OrderID, inStream.OrderID}, []string{orders[0].ID, orders[1].ID, orders[2].ID})
	r.owner.Call(t, "GET", "/v1/me/commerce/orders?streamId="+r.stream, nil).Into(t, 200, &orders)
	require.Len(t, orders, 1)
	require.Equal(t, inStream.OrderID, orders[0].ID)
}

// TestTheEventsOfAnOrderOutsideOfAStream: all six name null as the stream.
func TestTheEventsOfAnOrderOutsideOfAStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, -1)
	c := r.checkout(t, r.cartOutside(mug, nil))
	r.pay(t, c.SessionID)
	payment := r.order(t, c.OrderID).ProcessorPaymentIntentID.MustGet()
	r.refund(t, c.OrderID, 300).Is(t, 201)
	_, err := r.Sandbox.SettleRefund(r.Sandbox.Refunds(payment)[0].ID, false)
	require.NoError(t, err)
	r.apply(t, payment)
	dispute, err := r.Sandbox.Dispute(payment, "needs_response", "fraudulent")
	require.NoError(t, err)
	require.NoError(t, r.Sandbox.SetDispute(dispute.ID, "won"))
	r.applyDisputes(t, payment)
	less := r.checkout(t, r.cartOutside(mug, nil))
	require.NoError(t, r.Sandbox.Reprice(less.SessionID, 999, "usd"))
	r.pay(t, less.SessionID)

	for _, name := range []string{
		"purchase.completed", "purchase.mismatched", "purchase.refunded", "purchase.refund_failed", "purchase.disputed", "purchase.dispute_closed",
	} {
		events := r.events(t, name)
		require.Len(t, events, 1, name)
		require.Contains(t, events[0], "streamId", name)
		require.Nil(t, events[0]["streamId"], name)
	}
}

// TestALostPageOutsideOfAStreamIsFound: the check after a lost answer needs no stream.
func TestALostPageOutsideOfAStreamIsFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	r.Sandbox.LoseAnswers(1, "/v1/checkout/sessions")
	r.owner.Call(t, "POST", "/v1/me/commerce/checkout", r.cartOutside(r.product(t, 5), nil)).Problem(t, 503, "processor_unavailable")
	lost := r.onlyOrder(t)
	r.Clock.Advance(2 * time.Minute)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), lost.ID))
	o := r.order(t, lost.ID)
	require.False(t, o.CheckoutURL.IsNull())
	require.True(t, o.StreamID.IsNull())
}

// TestAStreamThatIsNamedMustExist: only an absent stream or null means none.
func TestAStreamThatIsNamedMustExist(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 3)
	other := newRig(t, apitest.Options{Pool: r.Pool})
	for _, streamID := range []string{"", "str_none", other.stream} {
		r.refuse(t, r.cart(mug, map[string]any{"streamId": streamID}), 404, "not_found", "stream not found")
	}
	elsewhere := r.code(t, "THERE", 0, 0)
	_, err := r.Pool.Exec(t.Context(), "UPDATE discounts SET stream_id = $2 WHERE id = $1", elsewhere, r.stream)
	require.NoError(t, err)
	cart := r.cartOutside(mug, map[string]any{"discountCode": "THERE"})
	r.refuse(t, cart, 400, "discount_invalid", "this discount code counts only in the stream that it belongs to")
	r.has(t, mug, 3, 0)
}
