package order_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const (
	bazaarStock    = 1000
	bazaarProducts = 3
)

// bazaar is a shop for concurrency tests of all areas.
type bazaar struct {
	*rig

	products []string
}

// TestAllAreasAtOnce sells, refuses, refunds, auctions and changes the same
// products concurrently. There is no deadlock, and all amounts and counters are
// right in the end.
func TestAllAreasAtOnce(t *testing.T) {
	t.Parallel()
	b := bazaar{rig: newRig(t, apitest.Options{Pool: dbtest.New(t)})}
	b.owner.Call(t, "POST", "/v1/me/webhooks", map[string]any{
		"url": "http://127.0.0.1:9/", "events": []string{"purchase.completed", "purchase.refunded", "product.upserted", "auction.won"},
	}).Is(t, http.StatusCreated)
	for range bazaarProducts {
		b.products = append(b.products, b.product(t, bazaarStock))
	}
	b.code(t, "SAVE20", 0, 0)
	works := []func(t *testing.T, i int) error{
		b.sell, b.refused, b.change, b.auctionOff, b.askForAccount,
	}
	const people, rounds = 8, 10
	together(people, func(i int) {
		for n := range rounds {
			if err := works[(i+n)%len(works)](t, i); err != nil {
				t.Error(err)
			}
		}
	})
	b.balance(t)
	require.Zero(t, b.deadlocks(t))
}

func (b bazaar) lines() (list []catalog.Line) {
	for _, i := range rand.Perm(bazaarProducts) {
		list = append(list, catalog.Line{ProductID: b.products[i], Quantity: int64(1 + rand.N(2))})
	}
	return list
}

// sell sells a cart and refunds it twice concurrently.
func (b bazaar) sell(t *testing.T, i int) error {
	t.Helper()
	c, err := b.buy(t, fmt.Sprint("user-", i), []string{"", "save20"}[rand.N(2)], b.lines()...)
	if err != nil || !b.end(t, c) {
		return err
	}
	together(2, func(int) {
		_, err := b.Orders.RefundOrder(t.Context(), b.caller, c.OrderID, order.NewRefund{})
		if err != nil && !problem.Is(err, "conflict") {
			t.Error(err)
		}
	})
	return nil
}

// refused makes a cart that the processor refuses.
func (b bazaar) refused(t *testing.T, _ int) error {
	t.Helper()
	_, err := b.Orders.CreateCheckout(t.Context(), b.caller, order.Cart{
		Lines: b.lines(), StreamID: &b.stream, CustomerEmail: "nobody", CustomerExternalID: "nobody", DiscountCode: "SAVE20",
		SuccessURL: "https://shop.example/", CancelURL: "https://shop.example/",
	})
	if !problem.Is(err, "checkout_refused") {
		return fmt.Errorf("not refused: %w", err)
	}
	return nil
}

// change changes the catalog.
func (b bazaar) change(t *testing.T, i int) error {
	t.Helper()
	var list []catalog.Input
	for _, n := range rand.Perm(bazaarProducts) {
		list = append(list, catalog.Input{ExternalID: b.products[n], Name: fmt.Sprint("Mug ", i, rand.N(3)), PriceCents: 1000})
	}
	if _, err := b.Catalog.SyncCatalog(t.Context(), b.caller, list); err != nil {
		return err
	}
	return b.Catalog.CachePrice(t.Context(), catalog.CachePriceArgs{TenantID: b.caller.TenantID, ProductID: b.products[0], AccountID: b.account})
}

// auctionOff cancels an auction, or ends it and has its winner pay or not.
func (b bazaar) auctionOff(t *testing.T, i int) error {
	t.Helper()
	a, err := b.Auctions.CreateAuction(t.Context(), b.caller, auction.Input{
		ProductID: b.products[rand.N(bazaarProducts)], StreamID: b.stream, StartingBidCents: 100, BidIncrementCents: 1, DurationSec: 1,
	})
	if err != nil {
		return err
	}
	if i%2 == 0 {
		_, err = b.Auctions.CancelAuction(t.Context(), b.caller, a.ID)
		return err
	}
	_, err = b.Auctions.PlaceBid(t.Context(), b.caller, a.ID, auction.BidInput{AmountCents: 100, BidderExternalID: "user-1", BidderName: "Bo"})
	if err != nil && !problem.Is(err, "auction_ended") {
		return err
	}
	apitest.Until(t, "the auction's end", func() bool {
		wait, err := b.Auctions.SettleAuction(t.Context(), b.caller.TenantID, a.ID)
		return err == nil && wait == 0
	})
	v, err := b.Auctions.GetAuction(t.Context(), b.caller, a.ID)
	if err != nil || v.OrderID == nil {
		return err
	}
	if err := b.Orders.CheckOrder(t.Context(), *v.OrderID); err != nil {
		return err
	}
	b.end(t, order.Checkout{OrderID: *v.OrderID, SessionID: *b.row(t, *v.OrderID).CheckoutSessionID})
	return nil
}

func (b bazaar) askForAccount(t *testing.T, _ int) error {
	t.Helper()
	return b.Sellers.ApplyAccount(t.Context(), b.account)
}

// balance compares our counters with each other and with the processor's records.
func (b bazaar) balance(t *testing.T) {
	t.Helper()
	for _, productID := range b.products {
		sold := b.number(t, `SELECT coalesce(sum(i.quantity), 0) FROM order_items i JOIN orders o ON o.id = i.order_id
			WHERE o.paid_at IS NOT NULL AND i.product_id = '`+productID+"'")
		b.has(t, productID, bazaarStock-sold, 0)
	}
	require.Zero(t, b.number(t, `SELECT count(*) FROM discounts d WHERE held <> 0
		OR redemptions <> (SELECT count(*) FROM orders o WHERE o.discount_id = d.id AND o.paid_at IS NOT NULL)`), "uses of codes")
	require.Zero(t, b.number(t, `SELECT count(*) FROM orders o WHERE status = 'PENDING' OR refunded_cents <>
		(SELECT coalesce(sum(amount_cents), 0) FROM refunds r WHERE r.order_id = o.id AND r.status = 'SUCCEEDED')`), "orders")
	payments := b.Sandbox.Payments(b.account)
	require.Equal(t, b.number(t, "SELECT count(*) FROM orders WHERE paid_at IS NOT NULL"), int64(len(payments)))
	for _, p := range payments {
		given := int64(0)
		for _, x := range b.Sandbox.Refunds(p.ID) {
			given += x.AmountCents
		}
		require.Contains(t, []int64{0, p.AmountCents}, given)
	}
}

func (b bazaar) number(t *testing.T, query string) (n int64) {
	t.Helper()
	require.NoError(t, b.Pool.QueryRow(t.Context(), query).Scan(&n))
	return n
}

// deadlocks returns their number, after all connections that may have had one are
// closed: connections report to the database's statistics when they close.
func (b bazaar) deadlocks(t *testing.T) int64 {
	t.Helper()
	b.Pool.Reset()
	apitest.Until(t, "the others to be closed", func() bool {
		return b.number(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") == 0
	})
	return b.number(t, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
}
