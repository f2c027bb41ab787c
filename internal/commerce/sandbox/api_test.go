package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
)

func TestProductionRefusesIt(t *testing.T) {
	t.Parallel()
	_, err := sandbox.Open(sandbox.Config{URL: "http://localhost", Key: key, Secret: secret, ConnectSecret: connectSecret, Production: true})
	require.ErrorContains(t, err, "production")
	_, err = sandbox.Open(sandbox.Config{URL: "http://localhost", Key: key})
	require.Error(t, err)
	_, err = sandbox.Open(sandbox.Config{Key: key, Secret: secret, ConnectSecret: connectSecret})
	require.Error(t, err)
}

func TestTheAPINeedsTheKey(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	_, err := apiOf(r.url, "sk_test_another_key_here").Accounts.New(&stripe.AccountParams{})
	said := refused(t, err, 401, "")
	require.NotContains(t, said.Msg, "another")
	_, err = r.api.Accounts.GetByID("acct_none", nil)
	refused(t, err, 403, "account_invalid")
	_, err = r.api.CheckoutSessions.New(r.page("acct_none"))
	refused(t, err, 403, "account_invalid")
	_, err = r.api.Topups.New(&stripe.TopupParams{})
	refused(t, err, 404, "")
}

func TestPagesThatCantBe(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	data := func(p *stripe.CheckoutSessionParams) *stripe.CheckoutSessionLineItemPriceDataParams {
		return p.LineItems[0].PriceData
	}
	for name, c := range map[string]struct {
		change func(p *stripe.CheckoutSessionParams)
		code   string
		param  string
	}{
		"no mode":        {func(p *stripe.CheckoutSessionParams) { p.Mode = nil }, "", "mode"},
		"no lines":       {func(p *stripe.CheckoutSessionParams) { p.LineItems = nil }, "parameter_missing", "line_items"},
		"no way back":    {func(p *stripe.CheckoutSessionParams) { p.SuccessURL = nil }, "parameter_missing", "success_url"},
		"a bad way back": {func(p *stripe.CheckoutSessionParams) { p.CancelURL = new("javascript:alert(1)") }, "url_invalid", "cancel_url"},
		"closes too soon": {func(p *stripe.CheckoutSessionParams) {
			p.ExpiresAt = new(r.now().Add(29 * time.Minute).Unix())
		}, "", "expires_at"},
		"closes too late": {func(p *stripe.CheckoutSessionParams) {
			p.ExpiresAt = new(r.now().Add(24*time.Hour + time.Second).Unix())
		}, "", "expires_at"},
		"49 cents": {func(p *stripe.CheckoutSessionParams) {
			data(p).UnitAmount, p.LineItems[0].Quantity = new(int64(49)), new(int64(1))
		}, "amount_too_small", ""},
		"a million":         {func(p *stripe.CheckoutSessionParams) { data(p).UnitAmount = new(int64(50000000)) }, "amount_too_large", ""},
		"less than nothing": {func(p *stripe.CheckoutSessionParams) { data(p).UnitAmount = new(int64(-1)) }, "parameter_invalid_integer", "line_items[0][price_data][unit_amount]"},
		"no name":           {func(p *stripe.CheckoutSessionParams) { data(p).ProductData.Name = new("") }, "parameter_invalid_empty", "line_items[0][price_data][product_data][name]"},
		"no quantity":       {func(p *stripe.CheckoutSessionParams) { p.LineItems[0].Quantity = new(int64(0)) }, "parameter_invalid_integer", "line_items[0][quantity]"},
		"a large currency":  {func(p *stripe.CheckoutSessionParams) { data(p).Currency = new("USD") }, "", "line_items[0][price_data][currency]"},
		"a fee above all":   {func(p *stripe.CheckoutSessionParams) { p.PaymentIntentData.ApplicationFeeAmount = new(int64(3001)) }, "", "payment_intent_data[application_fee_amount]"},
		"a fee of nothing":  {func(p *stripe.CheckoutSessionParams) { p.PaymentIntentData.ApplicationFeeAmount = new(int64(0)) }, "parameter_invalid_integer", "payment_intent_data[application_fee_amount]"},
		"no such price": {func(p *stripe.CheckoutSessionParams) {
			p.LineItems[0].Price, p.LineItems[0].PriceData = new("price_x"), nil
		}, "resource_missing", "line_items[0][price]"},
		"no such coupon": {func(p *stripe.CheckoutSessionParams) {
			p.Discounts = []*stripe.CheckoutSessionDiscountParams{{Coupon: new("x")}}
		}, "resource_missing", "discounts[0][coupon]"},
		"two currencies": {func(p *stripe.CheckoutSessionParams) {
			other := *p.LineItems[0]
			other.PriceData = &stripe.CheckoutSessionLineItemPriceDataParams{Currency: new("eur"), UnitAmount: new(int64(100)), ProductData: data(p).ProductData}
			p.LineItems = append(p.LineItems, &other)
		}, "", "line_items"},
		"a parameter that there isn't": {func(p *stripe.CheckoutSessionParams) { p.AddExtra("colour", "red") }, "parameter_unknown", "colour"},
	} {
		p := r.page(account)
		c.change(p)
		_, err := r.api.CheckoutSessions.New(p)
		said := refused(t, err, 400, c.code)
		require.Equal(t, c.param, said.Param, name)
		require.Equal(t, stripe.ErrorTypeInvalidRequest, said.Type)
	}
	require.NoError(t, r.SetCharges(account, false))
	_, err := r.api.CheckoutSessions.New(r.page(account))
	refused(t, err, 400, "")
	require.Empty(t, r.Sessions(account))
}

func TestAKeyDoesAThingOnce(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	page := r.page(account)
	page.Params = on(account, "page-1")
	first, err := r.api.CheckoutSessions.New(page)
	require.NoError(t, err)
	again, err := r.api.CheckoutSessions.New(page)
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)
	page.LineItems[0].Quantity = new(int64(3))
	_, err = r.api.CheckoutSessions.New(page)
	require.Equal(t, stripe.ErrorTypeIdempotency, refused(t, err, 400, "").Type)
	other := r.page(r.seller(t))
	other.SetIdempotencyKey("page-1")
	elsewhere, err := r.api.CheckoutSessions.New(other)
	require.NoError(t, err, "another account's keys are others")
	require.NotEqual(t, first.ID, elsewhere.ID)

	wrong := r.page(account)
	wrong.Params, wrong.Mode = on(account, "page-2"), nil
	_, err = r.api.CheckoutSessions.New(wrong)
	refused(t, err, 400, "")
	wrong.Mode = new("payment")
	_, err = r.api.CheckoutSessions.New(wrong)
	require.NoError(t, err, "a malformed request doesn't use up its key")

	require.NoError(t, r.SetCharges(account, false))
	early := r.page(account)
	early.SetIdempotencyKey("page-3")
	_, err = r.api.CheckoutSessions.New(early)
	refused(t, err, 400, "")
	require.NoError(t, r.SetCharges(account, true))
	_, err = r.api.CheckoutSessions.New(early)
	refused(t, err, 400, "")
	r.advance(24*time.Hour + time.Second)
	early.ExpiresAt = nil
	_, err = r.api.CheckoutSessions.New(early)
	require.NoError(t, err, "a key is forgotten after a day")
}

func TestManyAtOnceWithOneKey(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	var ids sync.Map
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			page := r.page(account)
			page.SetIdempotencyKey("one")
			made, err := r.api.CheckoutSessions.New(page)
			if assert.NoError(t, err) {
				ids.Store(made.ID, true)
			}
		})
	}
	work.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 1, n)
	require.Len(t, r.Sessions(account), 1)
}

func TestAHundredBuyersPayOnce(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *sandbox.Config) { c.Dir = t.TempDir() })
	account := r.seller(t)
	made, err := r.api.CheckoutSessions.New(r.page(account))
	require.NoError(t, err)
	var paid atomic.Int64
	var work sync.WaitGroup
	for i := range 100 {
		work.Go(func() {
			if _, err := r.Pay(made.ID, fmt.Sprintf("buyer%d@example.test", i)); err == nil {
				paid.Add(1)
			}
		})
	}
	work.Wait()
	require.Equal(t, int64(1), paid.Load())
	require.Len(t, r.Payments(account), 1)
	require.Equal(t, []string{"payment_intent.succeeded", "charge.succeeded", "checkout.session.completed"}, r.delivered(t))
}

func TestCouponsTakeOffAndRunOut(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	off := func(p *stripe.CouponParams) *stripe.CheckoutSessionParams {
		p.Params, p.Duration = on(account, ""), new("once")
		k, err := r.api.Coupons.New(p)
		require.NoError(t, err)
		require.True(t, k.Valid)
		page := r.page(account)
		page.PaymentIntentData, page.Discounts = nil, []*stripe.CheckoutSessionDiscountParams{{Coupon: new(k.ID)}}
		return page
	}
	once := off(&stripe.CouponParams{AmountOff: new(int64(1000)), Currency: new("usd"), MaxRedemptions: new(int64(1))})
	first, err := r.api.CheckoutSessions.New(once)
	require.NoError(t, err)
	require.Equal(t, int64(2000), first.AmountTotal)
	second, err := r.api.CheckoutSessions.New(once)
	require.NoError(t, err, "only a payment uses it up")
	_, err = r.Pay(first.ID, "ada@example.test")
	require.NoError(t, err)
	_, err = r.Pay(second.ID, "bob@example.test")
	require.Error(t, err)
	_, err = r.api.CheckoutSessions.New(once)
	refused(t, err, 400, "coupon_expired")

	rounded, err := r.api.CheckoutSessions.New(off(&stripe.CouponParams{PercentOff: new(12.25)}))
	require.NoError(t, err)
	require.Equal(t, int64(3000-368), rounded.AmountTotal)

	free, err := r.api.CheckoutSessions.New(off(&stripe.CouponParams{AmountOff: new(int64(9999)), Currency: new("usd")}))
	require.NoError(t, err)
	require.Zero(t, free.AmountTotal)
	require.Equal(t, stripe.CheckoutSessionPaymentStatusNoPaymentRequired, free.PaymentStatus)
	done, err := r.Pay(free.ID, "ada@example.test")
	require.NoError(t, err)
	require.Empty(t, done.PaymentID)

	_, err = r.api.CheckoutSessions.New(off(&stripe.CouponParams{AmountOff: new(int64(2951)), Currency: new("usd")}))
	refused(t, err, 400, "amount_too_small")
	_, err = r.api.CheckoutSessions.New(off(&stripe.CouponParams{AmountOff: new(int64(100)), Currency: new("eur")}))
	refused(t, err, 400, "")
	for _, p := range []*stripe.CouponParams{
		{}, {AmountOff: new(int64(1))}, {PercentOff: new(101.0)},
		{PercentOff: new(5.0), AmountOff: new(int64(5)), Currency: new("usd")},
		{PercentOff: new(5.0), Name: new(strings.Repeat("x", 41))},
	} {
		_, err := r.api.Coupons.New(p)
		require.Error(t, err)
	}
	named := &stripe.CouponParams{Params: on(account, ""), ID: new("order-1"), PercentOff: new(5.0)}
	_, err = r.api.Coupons.New(named)
	require.NoError(t, err)
	_, err = r.api.Coupons.New(named)
	refused(t, err, 400, "resource_already_exists")
}

func TestPricesOnPages(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	price, err := r.api.Prices.New(&stripe.PriceParams{
		Params: on(account, ""), Currency: new("usd"), UnitAmount: new(int64(1250)),
		ProductData: &stripe.PriceProductDataParams{Name: new("Mug")},
	})
	require.NoError(t, err)
	page := r.page(account)
	page.LineItems = []*stripe.CheckoutSessionLineItemParams{{Price: new(price.ID), Quantity: new(int64(2))}}
	made, err := r.api.CheckoutSessions.New(page)
	require.NoError(t, err)
	require.Equal(t, int64(2500), made.AmountTotal)
	lines := r.api.CheckoutSessions.ListLineItems(&stripe.CheckoutSessionListLineItemsParams{
		ListParams: stripe.ListParams{StripeAccount: new(account)}, Session: new(made.ID),
	})
	require.True(t, lines.Next())
	require.Equal(t, "Mug", lines.LineItem().Description)
	require.False(t, lines.Next())
	page.Params = on(r.seller(t), "")
	_, err = r.api.CheckoutSessions.New(page)
	refused(t, err, 400, "resource_missing")
	_, err = r.api.Prices.New(&stripe.PriceParams{Params: on(account, ""), Currency: new("usd"), UnitAmount: new(int64(1))})
	refused(t, err, 400, "parameter_missing")
}

func TestListsPage(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account, other := r.seller(t), r.seller(t)
	var want []string
	for i := range 7 {
		page := r.page(account)
		made, err := r.api.CheckoutSessions.New(page)
		require.NoError(t, err)
		want = append([]string{made.ID}, want...)
		if i == 3 {
			r.advance(time.Hour)
		}
	}
	_, err := r.api.CheckoutSessions.New(r.page(other))
	require.NoError(t, err)
	list := func(since int64) []string {
		var ids []string
		p := &stripe.CheckoutSessionListParams{ListParams: stripe.ListParams{StripeAccount: new(account), Limit: new(int64(2))}}
		if since > 0 {
			p.CreatedRange = &stripe.RangeQueryParams{GreaterThanOrEqual: since}
		}
		all := r.api.CheckoutSessions.List(p)
		for all.Next() {
			ids = append(ids, all.CheckoutSession().ID)
		}
		require.NoError(t, all.Err())
		return ids
	}
	require.Equal(t, want, list(0))
	require.Equal(t, want[:3], list(r.now().Unix()))
	require.Equal(t, 4+2, r.Count(http.MethodGet, "/v1/checkout/sessions"))
	accounts := r.api.Accounts.List(&stripe.AccountListParams{})
	require.True(t, accounts.Next())
	require.Equal(t, other, accounts.Account().ID)
}
