package order_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/order"
	"showfloor/internal/testkit/apitest"
)

func TestAnExpiredPageReleasesItsHolds(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	codeID := r.code(t, "ONCE", 1, 1)
	c := r.checkout(t, r.cart(mug, map[string]any{"discountCode": "ONCE"}))
	for range 3 {
		if page, _ := r.Sandbox.Session(c.SessionID); page.Status == "open" {
			_, err := r.Sandbox.Expire(c.SessionID)
			require.NoError(t, err)
		}
		r.report(t, c.SessionID)
		o := r.order(t, c.OrderID)
		require.Equal(t, api.OrderStatus("EXPIRED"), o.Status)
		require.True(t, o.CheckoutURL.IsNull() && o.ExpiresAt.IsNull())
		r.has(t, mug, 5, 0)
		redemptions, held := r.uses(t, codeID)
		require.Equal(t, []int32{0, 0}, []int32{redemptions, held})
	}
	require.Equal(t, []int{4, 5}, r.ticks(mug))
	require.Empty(t, r.events(t, "purchase.completed"))
	r.checkout(t, r.cart(mug, map[string]any{"discountCode": "ONCE"}))
}

// TestAPaidOrderIsSold: also if the order had expired.
func TestAPaidOrderIsSold(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	codeID := r.code(t, "ONCE", 1, 1)
	c := r.checkout(t, r.cart(mug, map[string]any{"discountCode": "ONCE"}))
	page, err := r.Sandbox.Client.GetPage(t.Context(), r.account, c.SessionID)
	require.NoError(t, err)
	page.Status = "expired"
	require.NoError(t, r.Orders.ApplyPaymentPage(t.Context(), r.account, page))
	r.has(t, mug, 5, 0)
	r.pay(t, c.SessionID)
	require.Equal(t, api.OrderStatus("PAID"), r.order(t, c.OrderID).Status)
	r.has(t, mug, 4, 0)
	redemptions, held := r.uses(t, codeID)
	require.Equal(t, []int32{1, 0}, []int32{redemptions, held})
	require.NoError(t, r.Orders.ApplyPaymentPage(t.Context(), r.account, page), "an old report")
	require.Equal(t, api.OrderStatus("PAID"), r.order(t, c.OrderID).Status)
	require.Len(t, r.events(t, "purchase.completed"), 1)
}

func TestReportsThatArentTheOrders(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	c := r.checkout(t, r.cart(mug, nil))
	_, err := r.Sandbox.Pay(c.SessionID, "")
	require.NoError(t, err)
	paid, err := r.Sandbox.Client.GetPage(t.Context(), r.account, c.SessionID)
	require.NoError(t, err)

	thief := r.Register(t).Seller(t)
	require.NoError(t, r.Orders.ApplyPaymentPage(t.Context(), thief, paid), "another account")
	other := paid
	other.ID = "cs_other"
	require.NoError(t, r.Orders.ApplyPaymentPage(t.Context(), r.account, other), "another page that names the order")
	other.OrderID = "ord_none"
	require.NoError(t, r.Orders.ApplyPaymentPage(t.Context(), r.account, other), "no order at all")
	require.Equal(t, api.OrderStatus("PENDING"), r.order(t, c.OrderID).Status)
	require.NoError(t, r.Orders.ApplyPaymentPage(t.Context(), r.account, paid))
	require.Equal(t, api.OrderStatus("PAID"), r.order(t, c.OrderID).Status)
}

// TestMoneyThatTakesDays: the order waits and holds its units.
func TestMoneyThatTakesDays(t *testing.T) {
	t.Parallel()
	for _, comes := range []bool{true, false} {
		r := newRig(t, apitest.Options{})
		mug := r.product(t, 5)
		c := r.checkout(t, r.cart(mug, nil))
		_, err := r.Sandbox.PayLater(c.SessionID, "")
		require.NoError(t, err)
		r.report(t, c.SessionID)
		r.Clock.Advance(3 * time.Hour)
		require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
		o := r.row(t, c.OrderID)
		require.Equal(t, order.Pending, o.Status)
		require.Equal(t, r.Clock.Now().Add(time.Hour), *o.CheckAt)
		r.has(t, mug, 5, 1)
		_, err = r.Sandbox.Settle(c.SessionID, comes)
		require.NoError(t, err)
		require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID), "the report was lost")
		if comes {
			require.Equal(t, order.Paid, r.row(t, c.OrderID).Status)
			r.has(t, mug, 4, 0)
		} else {
			require.Equal(t, order.Expired, r.row(t, c.OrderID).Status)
			r.has(t, mug, 5, 0)
		}
	}
}

func TestOrdersOfASuspendedTenantGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	one, two := r.checkout(t, r.cart(mug, nil)), r.checkout(t, r.cart(mug, nil))
	r.owner.SetTenantStatus(t, "SUSPENDED")
	r.pay(t, one.SessionID)
	r.expire(t, two.SessionID)
	require.Equal(t, order.Paid, r.row(t, one.OrderID).Status)
	require.Equal(t, order.Expired, r.row(t, two.OrderID).Status)
	r.has(t, mug, 4, 0)
}

func TestFulfilling(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	c := r.checkout(t, r.cart(r.product(t, 5), nil))
	fulfil := func() apitest.Response {
		return r.owner.Call(t, "POST", "/v1/me/commerce/orders/"+c.OrderID+"/fulfil", nil)
	}
	require.Equal(t, "the order is not paid", fulfil().Problem(t, 409, "conflict").Message)
	r.pay(t, c.SessionID)
	var o api.Order
	fulfil().Into(t, 201, &o)
	require.Equal(t, api.OrderStatus("FULFILLED"), o.Status)
	at := o.FulfilledAt.MustGet()
	r.Clock.Advance(time.Minute)
	fulfil().Into(t, 201, &o)
	require.Equal(t, at, o.FulfilledAt.MustGet(), "doing it again changes nothing")
	var audits int
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM audit_entries WHERE action = 'order.fulfil' AND entity_id = $1", c.OrderID).Scan(&audits))
	require.Equal(t, 1, audits)
	r.report(t, c.SessionID)
	require.Equal(t, api.OrderStatus("FULFILLED"), r.order(t, c.OrderID).Status, "a late report")

	_, err := r.Pool.Exec(t.Context(), "UPDATE orders SET status = 'PARTIALLY_REFUNDED', fulfilled_at = NULL WHERE id = $1", c.OrderID)
	require.NoError(t, err)
	fulfil().Into(t, 201, &o)
	require.Equal(t, api.OrderStatus("PARTIALLY_REFUNDED"), o.Status)
	require.False(t, o.FulfilledAt.IsNull())
	_, err = r.Pool.Exec(t.Context(), "UPDATE orders SET status = 'REFUNDED' WHERE id = $1", c.OrderID)
	require.NoError(t, err)
	require.Equal(t, "the order was refunded in full", fulfil().Problem(t, 409, "conflict").Message)
	otherTenant := r.Register(t)
	otherTenant.Call(t, "POST", "/v1/me/commerce/orders/"+c.OrderID+"/fulfil", nil).Problem(t, 404, "not_found")
	require.Equal(t, "order not found", otherTenant.Call(t, "GET", "/v1/me/commerce/orders/"+c.OrderID, nil).Problem(t, 404, "not_found").Message)
}

func TestFindingOrders(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, -1)
	there := r.owner.Stream(t, nil).ID
	one := r.checkout(t, r.cart(mug, nil)).OrderID
	paid := r.checkout(t, r.cart(mug, map[string]any{"streamId": there}))
	r.pay(t, paid.SessionID)
	three := r.checkout(t, r.cart(mug, map[string]any{"customerExternalId": "user 3&"})).OrderID
	find := func(query string) []string {
		var list []api.Order
		r.owner.Call(t, "GET", "/v1/me/commerce/orders"+query, nil).Into(t, 200, &list)
		ids := []string{}
		for _, o := range list {
			require.Len(t, o.Items, 1)
			ids = append(ids, o.ID)
		}
		return ids
	}
	require.Equal(t, []string{three, paid.OrderID, one}, find(""))
	require.Equal(t, []string{three, one}, find("?status=PENDING"))
	require.Equal(t, []string{paid.OrderID}, find("?streamId="+there))
	require.Equal(t, []string{three}, find("?customerExternalId=user%203%26"))
	require.Equal(t, []string{one}, find("?customerExternalId=user-1&status=PENDING"))
	require.Empty(t, find("?status=REFUNDED&streamId="+r.stream))
	r.owner.Call(t, "GET", "/v1/me/commerce/orders?status=LOST", nil).Problem(t, 400, "invalid_input")
	r.owner.Call(t, "GET", "/v1/me/commerce/orders?cursor="+mug, nil).Problem(t, 400, "invalid_input")
}

// won ends an auction with a winner, as the auction area does.
func (r *rig) won(t *testing.T, productID string) (auctionID, orderID string) {
	t.Helper()
	auctionID = id.New(id.Auction)
	require.NoError(t, postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO auctions (id, tenant_id, product_id, stream_id, starting_bid_cents, bid_increment_cents, currency,
				anti_snipe_sec, status, ends_at, created_at, updated_at) VALUES ($1, $2, $3, $4, 100, 100, 'USD', 0, 'ENDED', $5, $5, $5)`,
			auctionID, r.owner.TenantID, productID, r.stream, r.Clock.Now())
		if err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), "UPDATE products SET held = held + 1 WHERE id = $1", productID); err != nil {
			return err
		}
		orderID, err = r.Orders.CreateForWinnerTx(t.Context(), tx, order.Winner{
			TenantID: r.owner.TenantID, StreamID: r.stream, AuctionID: auctionID, ProductID: productID, ProductName: "Blue mug",
			BidderExternalID: "bidder-1", BidderName: "Emil Novak", Currency: "USD", AmountCents: 2600,
		})
		return err
	}))
	return auctionID, orderID
}

func (r *rig) auction(t *testing.T, auctionID string) (status string) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT status FROM auctions WHERE id = $1", auctionID).Scan(&status))
	return status
}

func (r *rig) customerName(t *testing.T, orderID string) (name string) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT customer_name FROM orders WHERE id = $1", orderID).Scan(&name))
	return name
}

func TestAWinnerPays(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{PlatformFee: 1000})
	mug := r.product(t, 5)
	auctionID, orderID := r.won(t, mug)
	r.has(t, mug, 5, 1)
	require.Equal(t, 1, r.jobs(t, "order_check", orderID))
	o := r.order(t, orderID)
	require.True(t, o.CheckoutURL.IsNull() && o.CustomerEmail.IsNull())
	require.Equal(t, auctionID, o.AuctionID.MustGet())
	require.Equal(t, "Emil Novak", r.customerName(t, orderID))
	require.NoError(t, r.Orders.CheckOrder(t.Context(), orderID))
	require.NoError(t, r.Orders.CheckOrder(t.Context(), orderID), "twice")
	require.Equal(t, 1, r.Sandbox.Count("POST", "/v1/checkout/sessions"))
	o = r.order(t, orderID)
	require.NotEmpty(t, o.CheckoutURL.MustGet())
	require.Equal(t, int64(260), o.ApplicationFeeCents)
	page, _ := r.Sandbox.Session(o.ProcessorCheckoutSessionID.MustGet())
	require.Regexp(t, `^https://api\.example\.test/purchase\?room=str_\w+&result=paid$`, page.SuccessURL)
	require.Regexp(t, `^https://api\.example\.test/purchase\?room=str_\w+&result=cancelled$`, page.CancelURL)
	require.Equal(t, r.Clock.Now().Add(24*time.Hour-time.Minute).Unix(), page.ExpiresAt)
	require.Equal(t, "ENDED", r.auction(t, auctionID))
	r.pay(t, page.ID)
	require.Equal(t, "SETTLED", r.auction(t, auctionID))
	require.Equal(t, "typed@buyer.example", r.order(t, orderID).CustomerEmail.MustGet())
	require.Equal(t, "typed@buyer.example", r.events(t, "purchase.completed")[0]["customerEmail"])
	r.has(t, mug, 4, 0)
}

func TestAWinnerWhoDoesntPay(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	auctionID, orderID := r.won(t, mug)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), orderID))
	r.Clock.Advance(24 * time.Hour)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), orderID))
	require.Equal(t, order.Expired, r.row(t, orderID).Status)
	require.Equal(t, "ENDED", r.auction(t, auctionID))
	r.has(t, mug, 5, 0)
}

// TestAWinnersSellerOnboardsLater: the winner's page is made once the seller can
// charge. Until then there is one attempt per minute, until the order's end.
func TestAWinnersSellerOnboardsLater(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	r := &rig{Server: s, owner: owner, stream: owner.Stream(t, nil).ID}
	mug := r.product(t, 5)
	_, one := r.won(t, mug)
	_, two := r.won(t, mug)
	for range 3 {
		require.NoError(t, r.Orders.CheckOrder(t.Context(), one))
		require.Equal(t, r.Clock.Now().Add(time.Minute), *r.row(t, one).CheckAt)
		r.Clock.Advance(time.Minute)
	}
	r.Clock.Advance(23*time.Hour + 50*time.Minute)
	r.account = owner.Seller(t)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), one))
	o := r.row(t, one)
	require.NotNil(t, o.CheckoutURL)
	require.Equal(t, r.Clock.Now().Add(31*time.Minute).Truncate(time.Second), o.ExpiresAt, "there is time to pay")
	r.pay(t, *o.CheckoutSessionID)

	r.Clock.Advance(10 * time.Minute)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), two))
	require.Equal(t, order.Expired, r.row(t, two).Status)
	r.has(t, mug, 4, 0)
}
