package handlers_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/testkit/apitest"
)

// show is a stream with a product on sale, its host and a viewer.
type show struct {
	owner        *apitest.Caller
	id           string
	mug          api.Product
	host, viewer *apitest.Guest
}

func newShow(t *testing.T, s *apitest.Server) show {
	t.Helper()
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	return show{
		owner: owner, id: st.ID, mug: owner.Product(t, map[string]any{"name": "Mug", "priceCents": 1000, "stock": 5}),
		host:   owner.Viewer(t, st.ID, "ada", map[string]any{"role": "host", "displayName": "Ada Okafor"}),
		viewer: owner.Viewer(t, st.ID, "bo", map[string]any{"displayName": "Bo Lindqvist"}),
	}
}

func (s show) path(rest string) string { return "/v1/me/shows/" + s.id + rest }

func items(lines ...any) []map[string]any {
	list := []map[string]any{}
	for i := 0; i < len(lines); i += 2 {
		list = append(list, map[string]any{"productId": lines[i], "quantity": lines[i+1]})
	}
	return list
}

func TestACartShowsTodaysPrices(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	var cart api.ShowCart
	sh.viewer.Call(t, "GET", sh.path("/cart"), nil).Into(t, 200, &cart)
	require.Empty(t, cart.Items)
	require.True(t, cart.UpdatedAt.IsNull())

	sh.owner.Call(t, "POST", "/v1/me/commerce/discounts", map[string]any{"code": "TEN", "percentOff": 10}).Is(t, 201)
	sh.viewer.Call(t, "PUT", sh.path("/cart"), map[string]any{"items": items(sh.mug.ID, 1, sh.mug.ID, 1), "discountCode": "ten"}).Into(t, 200, &cart)
	require.Len(t, cart.Items, 1)
	require.Equal(t, 2, cart.Items[0].Quantity)
	require.EqualValues(t, 2000, cart.SubtotalCents)
	require.EqualValues(t, 200, cart.DiscountCents)
	require.EqualValues(t, 1800, cart.TotalCents)
	require.True(t, cart.DiscountRefusal.IsNull())

	// The price of today counts, and a code that is switched on no more has no effect.
	sh.owner.Product(t, map[string]any{"externalId": sh.mug.ExternalID, "name": "Mug", "priceCents": 1500, "stock": 1})
	sh.viewer.Call(t, "GET", sh.path("/cart"), nil).Into(t, 200, &cart)
	problem, err := cart.Items[0].Problem.Get()
	require.NoError(t, err)
	require.Equal(t, "insufficient_stock", problem)
	require.Zero(t, cart.TotalCents)

	sh.viewer.Call(t, "PUT", sh.path("/cart"), map[string]any{"items": items(sh.mug.ID, 1), "discountCode": "NOBODYS"}).Into(t, 200, &cart)
	require.EqualValues(t, 1500, cart.TotalCents)
	refusal, err := cart.DiscountRefusal.Get()
	require.NoError(t, err)
	require.Equal(t, "unknown", refusal)

	sh.owner.Call(t, "DELETE", "/v1/me/catalog/products/"+sh.mug.ID, nil).Is(t, 200)
	sh.viewer.Call(t, "GET", sh.path("/cart"), nil).Into(t, 200, &cart)
	problem, err = cart.Items[0].Problem.Get()
	require.NoError(t, err)
	require.Equal(t, "archived", problem)

	// Another viewer's cart is another one; an unknown product leaves the cart as it was.
	other := sh.owner.Viewer(t, sh.id, "cleo", nil)
	other.Call(t, "GET", sh.path("/cart"), nil).Into(t, 200, &cart)
	require.Empty(t, cart.Items)
	foreign := s.Register(t).Product(t, nil)
	sh.viewer.Call(t, "PUT", sh.path("/cart"), map[string]any{"items": items(foreign.ID, 1)}).Problem(t, 404, "not_found")
	sh.viewer.Call(t, "GET", sh.path("/cart"), nil).Into(t, 200, &cart)
	require.Len(t, cart.Items, 1)

	s.Clock.Advance(31 * 24 * time.Hour)
	require.NoError(t, s.Shop.DeleteOld(t.Context()))
	left, err := db.New(s.Pool).CountCarts(t.Context(), db.CountCartsParams{TenantID: sh.owner.TenantID, StreamID: sh.id})
	require.NoError(t, err)
	require.Zero(t, left)
}

func TestAParticipantBuys(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	body := map[string]any{"items": items(sh.mug.ID, 2), "customerEmail": "bo@buyer.example", "customerName": "Bo Lindqvist"}
	sh.viewer.Call(t, "POST", sh.path("/checkout"), body).Problem(t, 400, "seller_not_onboarded")
	account := sh.owner.Seller(t)

	raw, err := json.Marshal(body)
	require.NoError(t, err)
	first := post(t, sh.viewer.Caller, s, sh.path("/checkout"), string(raw), "once")
	second := post(t, sh.viewer.Caller, s, sh.path("/checkout"), string(raw), "once")
	replayed(t, first, second)
	var made api.Checkout
	first.Into(t, 201, &made)
	body["items"] = items(sh.mug.ID, 6)
	sh.viewer.Call(t, "POST", sh.path("/checkout"), body).Problem(t, 400, "insufficient_stock")

	page, known := s.Sandbox.Session(made.SessionID)
	require.True(t, known)
	require.Equal(t, apitest.PublicURL+"/scenarios/shopping/?room="+sh.id+"&checkout=success", page.SuccessURL)
	require.Equal(t, apitest.PublicURL+"/scenarios/shopping/?room="+sh.id+"&checkout=cancelled", page.CancelURL)

	var own api.ShowOrder
	sh.viewer.Call(t, "GET", sh.path("/orders/"+made.OrderID), nil).Into(t, 200, &own)
	require.Equal(t, api.OrderStatusPENDING, own.Status)
	url, err := own.CheckoutURL.Get()
	require.NoError(t, err)
	require.Equal(t, made.URL, url)
	_, err = s.Sandbox.Pay(made.SessionID, "bo@buyer.example")
	require.NoError(t, err)
	paid, err := s.Sandbox.Client.GetPage(t.Context(), account, made.SessionID)
	require.NoError(t, err)
	require.NoError(t, s.Orders.ApplyPaymentPage(t.Context(), account, paid))
	var list []api.ShowOrder
	sh.viewer.Call(t, "GET", sh.path("/orders"), nil).Into(t, 200, &list)
	require.Len(t, list, 1)
	require.Equal(t, api.OrderStatusPAID, list[0].Status)

	// The tenant sees the buyer, other participants don't.
	var order api.Order
	sh.owner.Call(t, "GET", "/v1/me/commerce/orders/"+made.OrderID, nil).Into(t, 200, &order)
	require.Equal(t, "bo", order.CustomerExternalID)
	other := sh.owner.Viewer(t, sh.id, "cleo", nil)
	other.Call(t, "GET", sh.path("/orders"), nil).Into(t, 200, &list)
	require.Empty(t, list)
	other.Call(t, "GET", sh.path("/orders/"+made.OrderID), nil).Problem(t, 404, "not_found")
	other.Call(t, "GET", sh.path("/sales"), nil).Problem(t, 403, "forbidden")
	var sales []api.ShowSale
	sold := sh.host.Call(t, "GET", sh.path("/sales"), nil)
	sold.Into(t, 200, &sales)
	require.Len(t, sales, 1)
	name, err := sales[0].BuyerName.Get()
	require.NoError(t, err)
	require.Equal(t, "Bo Lindqvist", name)
	require.NotContains(t, string(sold.Body), "buyer.example")
	sh.owner.Viewer(t, sh.id, "cem", map[string]any{"role": "cohost"}).Call(t, "GET", sh.path("/sales"), nil).Is(t, 200)
}

func TestACheckoutReturnsOnlyToKnownSites(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	sh.owner.Seller(t)
	buy := func(back string) apitest.Response {
		return sh.viewer.Call(t, "POST", sh.path("/checkout"), map[string]any{
			"items": items(sh.mug.ID, 1), "customerEmail": "bo@buyer.example", "returnUrl": back,
		})
	}
	for _, back := range []string{
		"https://shop.example/live", "https://evil.example/", apitest.PublicURL + ".evil.example/", "https://shop.example:8443/live",
		"https://user:pass@shop.example/live",
	} {
		buy(back).Problem(t, 400, "invalid_input")
	}
	var tenant api.Tenant
	sh.owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"embedOrigins": []string{"https://Shop.example:443", "https://shop.example"}}).Into(t, 200, &tenant)
	require.Equal(t, []string{"https://shop.example"}, tenant.EmbedOrigins)
	var made api.Checkout
	buy("https://shop.example/live?a=1").Into(t, 201, &made)
	page, _ := s.Sandbox.Session(made.SessionID)
	require.Equal(t, "https://shop.example/live?a=1&checkout=success", page.SuccessURL)
	buy("https://shop.example:8443/live").Problem(t, 400, "invalid_input")
	buy("https://user:pass@shop.example/live").Problem(t, 400, "invalid_input")
}

func TestParticipantsBid(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	start := map[string]any{"productId": sh.mug.ID, "startingBidCents": 1000, "bidIncrementCents": 100, "durationSec": 3600}
	sh.viewer.Call(t, "POST", sh.path("/auctions"), start).Problem(t, 403, "forbidden")
	var a api.ShowAuction
	sh.host.Call(t, "POST", sh.path("/auctions"), start).Into(t, 201, &a)
	require.EqualValues(t, 1000, a.MinimumBidCents)
	require.Equal(t, 10, a.AntiSnipeSec)
	bids := sh.path("/auctions/" + a.ID + "/bids")
	sh.viewer.Call(t, "POST", bids, map[string]any{"amountCents": 999}).Problem(t, 400, "bid_too_low")
	sh.viewer.Call(t, "POST", bids, map[string]any{"amountCents": 1000}).Into(t, 201, &a)
	name, err := a.TopBidderName.Get()
	require.NoError(t, err)
	require.Equal(t, "Bo L.", name)
	require.EqualValues(t, 1100, a.MinimumBidCents)

	nameless := sh.owner.Viewer(t, sh.id, "cleo", nil)
	nameless.Call(t, "POST", bids, map[string]any{"amountCents": 1100}).Problem(t, 400, "invalid_input")
	nameless.Call(t, "POST", bids, map[string]any{"amountCents": 1100, "bidderName": "Cleo Katz"}).Is(t, 201)
	var full api.Auction
	sh.owner.Call(t, "GET", "/v1/me/commerce/auctions/"+a.ID, nil).Into(t, 200, &full)
	require.Equal(t, "cleo", full.Bids[0].BidderExternalID)
	require.Equal(t, "Cleo Katz", full.Bids[0].BidderName, "the tenant sees the whole name")

	sh.host.Call(t, "POST", sh.path("/auctions/"+a.ID+"/cancel"), nil).Problem(t, 409, "conflict")
	sh.viewer.Call(t, "POST", sh.path("/auctions/"+a.ID+"/cancel"), nil).Problem(t, 403, "forbidden")
	sh.owner.Call(t, "POST", "/v1/me/channels/"+sh.id+"/moderate/ban", map[string]any{"target": "bo", "by": "ada"}).Is(t, 201)
	sh.viewer.Call(t, "POST", bids, map[string]any{"amountCents": 9000}).Problem(t, 403, "banned")

	// An auction of another stream of the tenant is not in this show.
	elsewhere := sh.owner.Auction(t, nil)
	nameless.Call(t, "POST", sh.path("/auctions/"+elsewhere.ID+"/bids"), map[string]any{"amountCents": 9000, "bidderName": "Cleo"}).Problem(t, 404, "not_found")
	sh.host.Call(t, "POST", sh.path("/auctions/"+elsewhere.ID+"/cancel"), nil).Problem(t, 404, "not_found")
	var fresh api.ShowAuction
	sh.host.Call(t, "POST", sh.path("/auctions"), start).Into(t, 201, &fresh)
	sh.host.Call(t, "POST", sh.path("/auctions/"+fresh.ID+"/cancel"), nil).Into(t, 201, &fresh)
	require.Equal(t, api.AuctionStatusCANCELLED, fresh.Status)
}

func TestTheFunnelCountsWithoutNames(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	cup := sh.owner.Product(t, map[string]any{"name": "Cup"})
	var clicks sync.WaitGroup
	for range 50 {
		clicks.Go(func() {
			sh.viewer.Call(t, "POST", sh.path("/clicks"), map[string]any{"productId": sh.mug.ID}).Is(t, 201)
		})
	}
	clicks.Wait()
	sh.viewer.Call(t, "POST", sh.path("/clicks"), map[string]any{"productId": cup.ID}).Is(t, 201)
	sh.viewer.Call(t, "POST", sh.path("/clicks"), map[string]any{"productId": "prod_none"}).Problem(t, 404, "not_found")
	sh.viewer.Call(t, "PUT", sh.path("/cart"), map[string]any{"items": items(sh.mug.ID, 1)}).Is(t, 200)
	sh.owner.Seller(t)
	sh.owner.Checkout(t, sh.id, sh.mug.ID)
	sh.owner.Sale(t, sh.id, sh.mug.ID)

	var f api.StreamFunnel
	sh.owner.Call(t, "GET", "/v1/me/streams/"+sh.id+"/funnel", nil).Into(t, 200, &f)
	require.EqualValues(t, 51, f.Clicks)
	require.EqualValues(t, 1, f.Carts)
	require.EqualValues(t, 2, f.Checkouts)
	require.EqualValues(t, 1, f.Orders)
	require.Equal(t, []api.ShowRevenue{{Currency: "usd", Cents: 1000}}, f.Revenue)
	require.Equal(t, []api.ProductFunnel{
		{ProductID: sh.mug.ID, Name: "Mug", Clicks: 50, Orders: 1, Units: 1}, {ProductID: cup.ID, Name: "Cup", Clicks: 1},
	}, f.Products)
	s.Register(t).Call(t, "GET", "/v1/me/streams/"+sh.id+"/funnel", nil).Problem(t, 404, "not_found")
}

// TestAShowIsClosedToOtherRooms calls every operation of a show with tokens of other rooms.
func TestAShowIsClosedToOtherRooms(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	a := sh.owner.Auction(t, map[string]any{"streamId": sh.id})
	other := sh.owner.Viewer(t, sh.owner.Stream(t, nil).ID, "bo", map[string]any{"role": "host"})
	session := sh.owner.Ticket(t, sh.owner.Session(t, nil).ID, "bo", nil)
	foreign := s.Register(t)
	foreigner := foreign.Viewer(t, foreign.Stream(t, nil).ID, "bo", map[string]any{"role": "host"})
	for _, guest := range []*apitest.Guest{other, session, foreigner} {
		for _, c := range []struct {
			method, path string
			body         map[string]any
		}{
			{http.MethodGet, "/cart", nil},
			{http.MethodPut, "/cart", map[string]any{"items": items()}},
			{http.MethodPost, "/checkout", map[string]any{"items": items(sh.mug.ID, 1), "customerEmail": "bo@buyer.example"}},
			{http.MethodGet, "/orders", nil},
			{http.MethodGet, "/orders/ord_none", nil},
			{http.MethodGet, "/sales", nil},
			{http.MethodPost, "/auctions", map[string]any{"productId": sh.mug.ID, "startingBidCents": 1, "bidIncrementCents": 1, "durationSec": 60}},
			{http.MethodPost, "/auctions/" + a.ID + "/bids", map[string]any{"amountCents": 5000, "bidderName": "Bo"}},
			{http.MethodPost, "/auctions/" + a.ID + "/cancel", nil},
			{http.MethodPost, "/clicks", map[string]any{"productId": sh.mug.ID}},
		} {
			guest.Call(t, c.method, sh.path(c.path), c.body).Problem(t, 404, "not_found")
		}
	}
}

// TestAnotherCheckoutClosesUnpaidOrders: a buyer leaves payment pages without paying. His units are free for his next checkout, and
// his fourth unpaid order closes the first one.
func TestAnotherCheckoutClosesUnpaidOrders(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	sh.owner.Seller(t)
	var last api.Product
	sh.owner.Call(t, "POST", "/v1/me/catalog/products", map[string]any{"externalId": "last", "name": "Last", "priceCents": 500, "stock": 1}).Into(t, 201, &last)
	buy := func(productID string) (made api.Checkout) {
		t.Helper()
		order := map[string]any{"items": items(productID, 1), "customerEmail": "bo@buyer.example"}
		sh.viewer.Call(t, "POST", sh.path("/checkout"), order).Into(t, 201, &made)
		return made
	}
	status := func(made api.Checkout) (o api.ShowOrder) {
		t.Helper()
		sh.viewer.Call(t, "GET", sh.path("/orders/"+made.OrderID), nil).Into(t, 200, &o)
		return o
	}

	left, again := buy(last.ID), buy(last.ID)
	require.Equal(t, api.OrderStatusEXPIRED, status(left).Status)
	require.Equal(t, api.OrderStatusPENDING, status(again).Status)
	cleo := sh.owner.Viewer(t, sh.id, "cleo", nil)
	order := map[string]any{"items": items(last.ID, 1), "customerEmail": "cleo@buyer.example"}
	cleo.Call(t, "POST", sh.path("/checkout"), order).Problem(t, 400, "insufficient_stock")
	require.Equal(t, api.OrderStatusPENDING, status(again).Status, "another buyer's order stays")

	order["items"] = items(last.ID, 2)
	sh.viewer.Call(t, "POST", sh.path("/checkout"), order).Problem(t, 400, "insufficient_stock")
	require.Equal(t, api.OrderStatusPENDING, status(again).Status, "closing it would not free enough units")

	second, third, fourth := buy(sh.mug.ID), buy(sh.mug.ID), buy(sh.mug.ID)
	require.Equal(t, api.OrderStatusEXPIRED, status(again).Status, "the oldest of four")
	for _, open := range []api.Checkout{second, third, fourth} {
		require.Equal(t, api.OrderStatusPENDING, status(open).Status)
	}
}

func TestListsOfAShowPage(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	sh := newShow(t, s)
	sh.owner.Seller(t)
	for range 3 {
		sh.viewer.Call(t, "POST", sh.path("/checkout"), map[string]any{"items": items(sh.mug.ID, 1), "customerEmail": "bo@buyer.example"}).Is(t, 201)
	}
	for _, list := range []struct {
		guest *apitest.Guest
		path  string
	}{{sh.viewer, "/orders"}, {sh.host, "/sales"}} {
		require.Len(t, follow(t, list.guest.Caller, sh.path(list.path)+"?limit=2", 2), 3)
	}

	sh.owner.Call(t, "POST", "/v1/me/channels/"+sh.id+"/moderate/ban", map[string]any{"target": "bo", "by": "ada"}).Is(t, 201)
	sh.viewer.Call(t, "PUT", sh.path("/cart"), map[string]any{"items": items()}).Problem(t, 403, "banned")
	sh.viewer.Call(t, "GET", sh.path("/orders"), nil).Is(t, 200)
}
