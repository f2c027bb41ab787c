package order_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/internal/tenancy/setting"
	"showfloor/internal/testkit/apitest"
)

func TestACartIsSold(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{PlatformFee: 250})
	mug, plate := r.product(t, 10), r.productIn(t, "USD", 333, -1)
	codeID := r.code(t, "Launch20", 5, 1)

	c := r.checkout(t, r.cart(mug, map[string]any{
		"metadata": map[string]any{"desk": "7", "empty": ""}, "discountCode": "LAUNCH20", "items": []map[string]any{
			{"productId": mug, "quantity": 1}, {"productId": plate, "quantity": 3}, {"productId": mug, "quantity": 2},
		}}))
	require.Equal(t, r.Clock.Now().Add(31*time.Minute).Truncate(time.Second), c.ExpiresAt.Time)
	o := r.order(t, c.OrderID)
	require.Equal(t, api.OrderStatus("PENDING"), o.Status)
	require.Equal(t, []api.OrderItem{{ProductID: mug, NameSnapshot: "Blue mug", PriceCents: 1000, Quantity: 3}, {ProductID: plate, NameSnapshot: "Blue mug", PriceCents: 333, Quantity: 3}}, o.Items)
	require.Equal(t, []int64{3999, 800, 3199, 80}, []int64{o.SubtotalCents, o.DiscountCents, o.TotalCents, o.ApplicationFeeCents})
	require.Equal(t, "usd", o.Currency)
	require.Equal(t, c.URL, o.CheckoutURL.MustGet())
	require.Equal(t, c.SessionID, o.ProcessorCheckoutSessionID.MustGet())
	require.Equal(t, "Launch20", o.DiscountCode.MustGet())
	require.Equal(t, c.ExpiresAt, o.ExpiresAt.MustGet())
	require.True(t, o.PaidAt.IsNull() && o.ProcessorPaymentIntentID.IsNull() && o.AuctionID.IsNull() && o.FulfilledAt.IsNull())
	r.has(t, mug, 10, 3)
	r.has(t, plate, -1, 3)
	redemptions, held := r.uses(t, codeID)
	require.Equal(t, []int32{0, 1}, []int32{redemptions, held})

	page, known := r.Sandbox.Session(c.SessionID)
	require.True(t, known)
	require.Equal(t, int64(3199), page.TotalCents())
	require.Equal(t, "https://shop.example/thanks?s={CHECKOUT_SESSION_ID}", page.SuccessURL)

	r.pay(t, c.SessionID)
	o = r.order(t, c.OrderID)
	require.Equal(t, api.OrderStatus("PAID"), o.Status)
	require.Equal(t, r.Clock.Now(), o.PaidAt.MustGet().Time)
	require.True(t, o.CheckoutURL.IsNull() && o.ExpiresAt.IsNull())
	require.Equal(t, "bo@buyer.example", o.CustomerEmail.MustGet())
	r.has(t, mug, 7, 0)
	r.has(t, plate, -1, 0)
	redemptions, held = r.uses(t, codeID)
	require.Equal(t, []int32{1, 0}, []int32{redemptions, held})
	require.Equal(t, []map[string]any{{
		"orderId": c.OrderID, "processorPaymentIntentId": o.ProcessorPaymentIntentID.MustGet(), "customerEmail": "bo@buyer.example",
		"customerExternalId": "user-1", "streamId": r.stream, "totalCents": 3199., "currency": "usd", "paymentMismatch": nil, "metadata": map[string]any{"desk": "7"},
		"items": []any{
			map[string]any{"productId": mug, "name": "Blue mug", "quantity": 3., "priceCents": 1000.},
			map[string]any{"productId": plate, "name": "Blue mug", "quantity": 3., "priceCents": 333.},
		},
	}}, r.events(t, "purchase.completed"))
	require.Equal(t, 1, r.jobs(t, "catalog_cache_price", mug))
	require.Equal(t, []int{7, 7}, r.ticks(mug), "free, after the hold and after the payment")
	require.Empty(t, r.ticks(plate), "it isn't counted")
}

func TestStockFallsAndEmitsEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 3)
	c := r.checkout(t, r.cart(mug, map[string]any{"items": []map[string]any{{"productId": mug, "quantity": 3}}}))
	require.Empty(t, r.events(t, "inventory.low"), "only what is paid counts")
	r.pay(t, c.SessionID)
	require.Len(t, r.events(t, "inventory.low"), 1)
	require.Equal(t, c.OrderID, r.events(t, "inventory.depleted")[0]["orderId"])
}

func TestProductsThatCannotBeSold(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug, euro, gone := r.product(t, 3), r.productIn(t, "EUR", 5, -1), r.product(t, 5)
	_, err := r.Pool.Exec(t.Context(), "UPDATE products SET active = false, name = 'Old mug' WHERE id = $1", gone)
	require.NoError(t, err)
	r.code(t, "ONCE", 1, 0)
	r.code(t, "MINE", 0, 1)
	elsewhere := r.code(t, "THERE", 0, 0)
	_, err = r.Pool.Exec(t.Context(), "UPDATE discounts SET stream_id = $2 WHERE id = $1", elsewhere, r.owner.Stream(t, nil).ID)
	require.NoError(t, err)
	items := func(lines ...any) map[string]any {
		var list []map[string]any
		for i := 0; i < len(lines); i += 2 {
			list = append(list, map[string]any{"productId": lines[i], "quantity": lines[i+1]})
		}
		return r.cart("", map[string]any{"items": list})
	}
	r.refuse(t, items(mug, 4), 400, "insufficient_stock", "only 3 of 4 remaining")
	r.refuse(t, items(mug, 2, euro, 1, mug, 2), 400, "mixed_currencies", "all items must share one currency")
	r.refuse(t, items(mug, 2, mug, 2), 400, "insufficient_stock", "only 3 of 4 remaining")
	r.refuse(t, items(mug, 1, "prod_none", 1), 404, "not_found", "product not found")
	r.refuse(t, items(mug, 1, gone, 1), 409, "conflict", `the product "Old mug" (`+gone+`) is archived`)
	r.refuse(t, r.cart(mug, map[string]any{"streamId": "str_none"}), 404, "not_found", "stream not found")
	r.refuse(t, r.cart(mug, map[string]any{"discountCode": "none-such"}), 400, "discount_invalid", "there is no such discount code")
	r.refuse(t, r.cart(mug, map[string]any{"discountCode": "THERE"}), 400, "discount_invalid", "this discount code only counts in another stream")
	other := newRig(t, apitest.Options{Pool: r.Pool})
	r.refuse(t, items(other.product(t, 5), 1), 404, "not_found", "product not found")
	r.refuse(t, r.cart(mug, map[string]any{"streamId": other.stream}), 404, "not_found", "stream not found")
	r.has(t, mug, 3, 0)

	r.checkout(t, r.cart(mug, map[string]any{"discountCode": "once"}))
	r.refuse(t, r.cart(mug, map[string]any{"discountCode": "ONCE"}), 400, "discount_invalid", "this discount code is used up")
	r.checkout(t, r.cart(mug, map[string]any{"discountCode": "mine"}))
	r.refuse(t, r.cart(mug, map[string]any{"discountCode": "MINE"}), 400, "discount_invalid", "this customer has used this discount code as often as possible")
	r.checkout(t, r.cart(mug, map[string]any{"discountCode": "mine", "customerExternalId": "user-2"}))
	r.refuse(t, items(mug, 1), 400, "insufficient_stock", "only 0 of 1 remaining")
	r.has(t, mug, 3, 3)
}

func TestWrongCarts(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 3)
	for name, fields := range map[string]map[string]any{
		"no items":       {"items": []any{}},
		"half a unit":    {"items": []any{map[string]any{"productId": mug, "quantity": 1.5}}},
		"no unit":        {"items": []any{map[string]any{"productId": mug, "quantity": 0}}},
		"too many units": {"items": []any{map[string]any{"productId": mug, "quantity": 10_001}}},
		"no address":     {"customerEmail": "bo"},
		"no web address": {"successUrl": "javascript:alert(1)"},
		"no customer":    {"customerExternalId": ""},
	} {
		require.Equal(t, http.StatusBadRequest, r.owner.Call(t, "POST", "/v1/me/commerce/checkout", r.cart(mug, fields)).Status, name)
	}
	r.has(t, mug, 3, 0)
}

func TestASellerMustBeOnboardedFirst(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	r := &rig{Server: s, owner: owner, stream: owner.Stream(t, nil).ID}
	r.refuse(t, r.cart("prod_none", map[string]any{"streamId": "str_none"}), 400, "seller_not_onboarded", "Seller has not completed onboarding")
	r.account = owner.Seller(t)
	r.checkout(t, r.cart(r.product(t, 1), nil))
	_, err := s.Pool.Exec(t.Context(), "UPDATE tenants SET charges_enabled = false WHERE id = $1", owner.TenantID)
	require.NoError(t, err)
	r.refuse(t, r.cart(r.product(t, 1), nil), 400, "seller_not_onboarded", "Seller has not completed onboarding")
}

func TestNothingToPay(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{PlatformFee: 1000})
	mug := r.product(t, 5)
	all := r.code(t, "ALL", 0, 0)
	_, err := r.Pool.Exec(t.Context(), "UPDATE discounts SET percent_off = 100 WHERE id = $1", all)
	require.NoError(t, err)
	c := r.checkout(t, r.cart(mug, map[string]any{"discountCode": "ALL"}))
	require.Zero(t, r.order(t, c.OrderID).TotalCents)
	r.pay(t, c.SessionID)
	o := r.order(t, c.OrderID)
	require.Equal(t, api.OrderStatus("PAID"), o.Status)
	require.True(t, o.ProcessorPaymentIntentID.IsNull())
	require.Nil(t, r.events(t, "purchase.completed")[0]["processorPaymentIntentId"])
}

func TestARefusedPageHoldsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug, cheap := r.product(t, 5), r.productIn(t, "USD", 61, 5)
	codeID := r.code(t, "ONCE", 1, 0)
	r.refuse(t, r.cart(cheap, map[string]any{"discountCode": "ONCE"}), 400, "checkout_refused",
		"the payment processor refused this checkout: The Checkout Session's total amount due must add up to at least $0.50 usd")
	require.NoError(t, r.Sandbox.SetCharges(r.account, false))
	r.refuse(t, r.cart(mug, map[string]any{"discountCode": "ONCE"}), 400, "checkout_refused", "the payment processor refused this checkout")
	r.has(t, cheap, 5, 0)
	r.has(t, mug, 5, 0)
	redemptions, held := r.uses(t, codeID)
	require.Equal(t, []int32{0, 0}, []int32{redemptions, held})
	var orders []api.Order
	r.owner.Call(t, "GET", "/v1/me/commerce/orders?status=EXPIRED", nil).Into(t, 200, &orders)
	require.Len(t, orders, 2)
	require.True(t, orders[0].ExpiresAt.IsNull())
	require.Equal(t, []int{4, 5}, r.ticks(mug))
	require.NoError(t, r.Sandbox.SetCharges(r.account, true))
	r.checkout(t, r.cart(mug, map[string]any{"discountCode": "ONCE"}))
}

// TestAPriceThatIsGoneAtTheProcessor: one checkout is refused, the next ones
// succeed.
func TestAPriceThatIsGoneAtTheProcessor(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	_, err := r.Pool.Exec(t.Context(), "UPDATE products SET processor_price_id = 'price_gone' WHERE id = $1", mug)
	require.NoError(t, err)
	r.refuse(t, r.cart(mug, nil), 400, "checkout_refused", "the payment processor refused this checkout")
	r.checkout(t, r.cart(mug, nil))
	r.has(t, mug, 5, 1)
}

func TestAProcessorThatIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	r.Sandbox.Down(true)
	r.owner.Call(t, "POST", "/v1/me/commerce/checkout", r.cart(mug, nil)).Problem(t, 503, "processor_unavailable")
	r.Sandbox.Down(false)
	r.has(t, mug, 5, 1)
	var orders []api.Order
	r.owner.Call(t, "GET", "/v1/me/commerce/orders", nil).Into(t, 200, &orders)
	require.Len(t, orders, 1)
	require.True(t, orders[0].CheckoutURL.IsNull())
	require.False(t, orders[0].ExpiresAt.IsNull())
}

// TestAPageThatWasNotAskedForHoldsNothing: if the processor definitely made no
// page, the units are free at once, and the buyer can try again.
func TestAPageThatWasNotAskedForHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(r *rig){
		"no connection":     func(r *rig) { r.Sandbox.Refuse(true) },
		"too many requests": func(r *rig) { r.Sandbox.Fail(1, "/v1/checkout/sessions", http.StatusTooManyRequests) },
		"no coupon":         func(r *rig) { r.Sandbox.LoseAnswers(1, "/v1/coupons") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, apitest.Options{})
			mug := r.product(t, 1)
			codeID := r.code(t, "ONCE", 1, 1)
			cart := r.cart(mug, map[string]any{"discountCode": "ONCE"})
			fault(r)
			p := r.owner.Call(t, "POST", "/v1/me/commerce/checkout", cart).Problem(t, 503, "processor_unavailable")
			require.Equal(t, "the payment processor can't be reached; no payment page was made and nothing is held: try again later", p.Message)
			r.has(t, mug, 1, 0)
			redemptions, held := r.uses(t, codeID)
			require.Equal(t, []int32{0, 0}, []int32{redemptions, held})
			require.Equal(t, order.Expired, r.onlyOrder(t).Status)
			require.Equal(t, []int{0, 1}, r.ticks(mug))
			require.Empty(t, r.Sandbox.Sessions(r.account))
			r.Sandbox.Refuse(false)
			r.checkout(t, cart)
		})
	}
}

// TestADisconnectedBuyersOrderHasItsPage: the caller disconnects while the processor
// works.
func TestADisconnectedBuyersOrderHasItsPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	arrived, resume := r.Sandbox.Block("/v1/checkout/sessions")
	defer resume()
	ctx, hangUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.Orders.CreateCheckout(ctx, r.caller, order.Cart{
			Lines: []catalog.Line{{ProductID: mug, Quantity: 1}}, StreamID: &r.stream, CustomerEmail: "bo@buyer.example", CustomerExternalID: "user-1",
			SuccessURL: "https://shop.example/", CancelURL: "https://shop.example/",
		})
		done <- err
	}()
	<-arrived
	hangUp()
	resume()
	require.NoError(t, <-done)
	var orders []api.Order
	r.owner.Call(t, "GET", "/v1/me/commerce/orders", nil).Into(t, 200, &orders)
	require.True(t, strings.HasPrefix(orders[0].CheckoutURL.MustGet(), r.Sandbox.URL))
}

func TestTheFeeIsTheCurrentSetting(t *testing.T) {
	t.Parallel()
	for rate, fee := range map[setting.Rate]int64{0: 0, 1: 0, 5: 1, 250: 25, 10_000: 1000} {
		r := newRig(t, apitest.Options{PlatformFee: rate})
		c := r.checkout(t, r.cart(r.product(t, 1), nil))
		require.Equal(t, fee, r.order(t, c.OrderID).ApplicationFeeCents, rate)
	}
}
