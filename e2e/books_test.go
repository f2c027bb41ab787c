package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
)

// books is the final state of the server's database.
type books struct {
	orders    []orderRow
	auctions  []auctionRow
	bids      map[string][]bidRow // by auction, in order
	refunds   []refundRow
	products  map[string]productRow
	discounts []discountRow
	// items is how many units of each product were sold, by its name.
	items  map[string]int64
	events []eventRow
}

type orderRow struct {
	ID, Status, CustomerExternalID string
	AuctionID, CheckoutSessionID   *string
	PaymentIntentID, DiscountID    *string
	TotalCents, RefundedCents      int64
	PaidAt                         *time.Time
}

type auctionRow struct {
	ID, Status                          string
	OrderID, WinningBidID, TopBidID     *string
	StartingBidCents, BidIncrementCents int64
	ReservePriceCents                   *int64
}

type bidRow struct {
	ID, AuctionID, BidderExternalID string
	AmountCents                     int64
}

type refundRow struct {
	ID, OrderID, Status string
	ProcessorRefundID   *string
	AmountCents         int64
}

type productRow struct {
	Name        string
	Stock, Held int64
}

type discountRow struct {
	ID, Code          string
	Redemptions, Held int64
	MaxRedemptions    *int64
}

type eventRow struct {
	ID, Subject string
	Event       api.EventName
}

func readBooks(t testing.TB, pool *pgxpool.Pool) *books {
	t.Helper()
	b := &books{bids: map[string][]bidRow{}, products: map[string]productRow{}, items: map[string]int64{}}
	b.orders = read[orderRow](t, pool, `SELECT id, status, customer_external_id, auction_id, checkout_session_id, payment_intent_id, discount_id,
		total_cents, refunded_cents, paid_at FROM orders ORDER BY id`)
	b.auctions = read[auctionRow](t, pool, `SELECT id, status, order_id, winning_bid_id, top_bid_id, starting_bid_cents, bid_increment_cents,
		reserve_price_cents FROM auctions ORDER BY id`)
	for _, bid := range read[bidRow](t, pool, "SELECT id, auction_id, bidder_external_id, amount_cents FROM bids ORDER BY created_at, amount_cents") {
		b.bids[bid.AuctionID] = append(b.bids[bid.AuctionID], bid)
	}
	b.refunds = read[refundRow](t, pool, "SELECT id, order_id, status, processor_refund_id, amount_cents FROM refunds ORDER BY id")
	for _, p := range read[productRow](t, pool, "SELECT name, stock, held FROM products") {
		b.products[p.Name] = p
	}
	b.discounts = read[discountRow](t, pool, "SELECT id, code, redemptions, held, max_redemptions FROM discounts ORDER BY id")
	type sold struct {
		Name     string
		Quantity int64
	}
	for _, s := range read[sold](t, pool, `SELECT i.name, sum(i.quantity) AS quantity FROM order_items i JOIN orders o ON o.id = i.order_id
		WHERE o.paid_at IS NOT NULL GROUP BY i.name`) {
		b.items[s.Name] = s.Quantity
	}
	b.events = read[eventRow](t, pool, "SELECT id, subject, event FROM events ORDER BY id")
	return b
}

func read[T any](t testing.TB, pool *pgxpool.Pool, query string) []T {
	t.Helper()
	rows, err := pool.Query(t.Context(), query)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[T])
	require.NoError(t, err)
	return list
}

func (b *books) paid() (n int) {
	for _, o := range b.orders {
		if o.PaidAt != nil {
			n++
		}
	}
	return n
}

// subjectsOf returns the subjects of all events of this name, and requires that each
// subject has only one.
func (b *books) subjectsOf(t testing.TB, name api.EventName) []string {
	t.Helper()
	var subjects []string
	for _, e := range b.events {
		if e.Event == name {
			require.NotContains(t, subjects, e.Subject, "one event for %s", name)
			subjects = append(subjects, e.Subject)
		}
	}
	return slices.Sorted(slices.Values(subjects))
}

// requirePromises requires that everything that was acknowledged is stored, and
// that no customer has two orders, although clients repeated their requests.
func (b *books) requirePromises(t testing.TB, c *crowd) {
	t.Helper()
	orders, customers := map[string]bool{}, map[string]bool{}
	for _, o := range b.orders {
		orders[o.ID] = true
		if o.AuctionID == nil {
			require.False(t, customers[o.CustomerExternalID], "%s has two orders", o.CustomerExternalID)
			customers[o.CustomerExternalID] = true
		}
	}
	auctions, bids := map[string]bool{}, map[string]int64{}
	for _, a := range b.auctions {
		auctions[a.ID] = true
		for _, bid := range b.bids[a.ID] {
			bids[bid.ID] = bid.AmountCents
		}
	}
	require.Subset(t, orders, c.orders, "orders that were acknowledged")
	require.Subset(t, auctions, c.auctions, "auctions that were acknowledged")
	for _, bid := range c.bids {
		require.Equal(t, bid.AmountCents, bids[bid.ID], "a bid that was acknowledged")
	}
	require.NotEmpty(t, c.orders)
	require.NotEmpty(t, c.auctions)
	require.NotEmpty(t, c.bids)
}

// requirePayments compares the orders with the processor's pages: each order
// has at most one page, and is PAID if and only if that page was paid.
func (b *books) requirePayments(t testing.TB, box *sandbox.Server) {
	t.Helper()
	pages := map[string]sandbox.Session{}
	paid := 0
	for _, page := range box.Sessions("") {
		require.NotContains(t, pages, page.ClientReferenceID, "a second page of an order")
		pages[page.ClientReferenceID] = page
		if wasPaid(page) {
			paid++
		}
	}
	require.Positive(t, paid)
	for _, o := range b.orders {
		page := pages[o.ID]
		require.Equal(t, wasPaid(page), o.PaidAt != nil, "order %s is %s, its page %s and %s", o.ID, o.Status, page.Status, page.PaymentStatus)
		if o.PaidAt == nil {
			require.Equal(t, "EXPIRED", o.Status)
			continue
		}
		paid--
		require.Equal(t, page.ID, *o.CheckoutSessionID)
		require.Equal(t, page.TotalCents(), o.TotalCents)
	}
	require.Zero(t, paid, "pages that were paid and are no order's")
}

func wasPaid(x sandbox.Session) bool {
	return x.Status == sandbox.StatusComplete && x.PaymentStatus != sandbox.Unpaid
}

// requireRefunds compares the orders with the processor's refunds.
func (b *books) requireRefunds(t testing.TB, box *sandbox.Server) {
	t.Helper()
	refunded, announced := map[string]int64{}, map[string]int64{}
	for _, r := range b.refunds {
		if r.Status == "SUCCEEDED" {
			refunded[r.OrderID] += r.AmountCents
		}
	}
	for _, e := range b.events {
		if e.Event == api.EventNamePurchaseRefunded {
			announced[e.Subject]++
		}
	}
	sum := 0
	for _, o := range b.orders {
		var cents, n int64
		if o.PaymentIntentID != nil {
			for _, r := range box.Refunds(*o.PaymentIntentID) {
				require.Equal(t, sandbox.Succeeded, r.Status)
				cents += r.AmountCents
				n++
			}
		}
		require.Equal(t, []int64{cents, cents, n}, []int64{o.RefundedCents, refunded[o.ID], announced[o.ID]}, "refunds of order %s", o.ID)
		switch {
		case o.PaidAt == nil || cents == 0:
			require.Contains(t, []string{"PAID", "FULFILLED", "EXPIRED"}, o.Status)
		case cents == o.TotalCents:
			require.Equal(t, "REFUNDED", o.Status)
		default:
			require.Equal(t, "PARTIALLY_REFUNDED", o.Status)
		}
		sum += int(n)
	}
	require.Equal(t, len(box.Refunds("")), sum, "refunds that are no order's")
	require.Positive(t, sum)
}

// requireStock counts the sold units, by our order lines and by the processor's.
func (b *books) requireStock(t testing.TB, box *sandbox.Server, products []api.Product) {
	t.Helper()
	sold := map[string]int64{}
	for _, page := range box.Sessions("") {
		for _, line := range page.Lines {
			if wasPaid(page) {
				sold[line.Name] += line.Quantity
			}
		}
	}
	require.Equal(t, sold, b.items)
	depleted := b.subjectsOf(t, api.EventNameInventoryDepleted)
	for _, p := range products {
		left := p.Stock
		if p.Stock >= 0 {
			left -= sold[p.Name]
			require.GreaterOrEqual(t, left, int64(0), "%s was sold more often than there were", p.Name)
		}
		require.Equal(t, productRow{Name: p.Name, Stock: left}, b.products[p.Name])
		require.Equal(t, left == 0, slices.Contains(depleted, p.ID), "%s: %d are left", p.Name, left)
	}
}

func (b *books) requireCodes(t testing.TB) {
	t.Helper()
	used := map[string]int64{}
	for _, o := range b.orders {
		if o.DiscountID != nil && o.PaidAt != nil {
			used[*o.DiscountID]++
		}
	}
	for _, d := range b.discounts {
		require.Equal(t, []int64{used[d.ID], 0}, []int64{d.Redemptions, d.Held}, d.Code)
		if d.MaxRedemptions != nil {
			require.LessOrEqual(t, d.Redemptions, *d.MaxRedemptions, d.Code)
		}
		require.Positive(t, d.Redemptions, d.Code)
	}
}

// requireAuctions requires that the bids of each auction rise by the increment,
// and that each auction has one end.
func (b *books) requireAuctions(t testing.TB) {
	t.Helper()
	won, unsold := b.subjectsOf(t, api.EventNameAuctionWon), b.subjectsOf(t, api.EventNameAuctionReserveNotMet)
	orders := map[string]orderRow{}
	for _, o := range b.orders {
		orders[o.ID] = o
	}
	for _, a := range b.auctions {
		least := a.StartingBidCents
		var top bidRow
		for _, bid := range b.bids[a.ID] {
			require.GreaterOrEqual(t, bid.AmountCents, least)
			top, least = bid, bid.AmountCents+a.BidIncrementCents
		}
		wins := top.ID != "" && (a.ReservePriceCents == nil || top.AmountCents >= *a.ReservePriceCents)
		require.Equal(t, wins, slices.Contains(won, a.ID), "auction %s", a.ID)
		require.Equal(t, !wins && a.Status != "CANCELLED", slices.Contains(unsold, a.ID), "auction %s", a.ID)
		require.Equal(t, wins, a.OrderID != nil)
		require.Equal(t, wins, a.WinningBidID != nil)
		if !wins {
			require.Contains(t, []string{"ENDED", "CANCELLED"}, a.Status)
			continue
		}
		o := orders[*a.OrderID]
		require.Equal(t, top.ID, *a.WinningBidID)
		require.Equal(t, top.ID, *a.TopBidID)
		require.Equal(t, a.ID, *o.AuctionID)
		require.Equal(t, orderRow{TotalCents: top.AmountCents, CustomerExternalID: top.BidderExternalID},
			orderRow{TotalCents: o.TotalCents, CustomerExternalID: o.CustomerExternalID})
		require.Equal(t, o.PaidAt != nil, a.Status == "SETTLED", "auction %s is %s, its order %s", a.ID, a.Status, o.Status)
	}
	require.NotEmpty(t, won)
	require.NotEmpty(t, unsold)
}

// requireEvents requires one purchase.completed for each paid order, and that
// every event has reached the shop's endpoint.
func (b *books) requireEvents(t testing.TB, pool *pgxpool.Pool, hooks *sink) {
	t.Helper()
	var paid []string
	for _, o := range b.orders {
		if o.PaidAt != nil {
			paid = append(paid, o.ID)
		}
	}
	require.Equal(t, paid, b.subjectsOf(t, api.EventNamePurchaseCompleted))
	type delivery struct{ ID, EventID string }
	want, got := map[string]bool{}, map[string]bool{}
	for _, d := range read[delivery](t, pool, "SELECT id, event_id FROM webhook_deliveries") {
		want[d.ID] = true
	}
	completed := map[any]string{}
	for _, a := range hooks.all() {
		got[a.delivery] = true
		if a.Event == api.EventNamePurchaseCompleted {
			id := a.Data["orderId"]
			require.Contains(t, []string{"", a.delivery}, completed[id], "two events for order %s", id)
			completed[id] = a.delivery
		}
	}
	require.Equal(t, want, got)
	require.Len(t, completed, len(paid))
	require.ElementsMatch(t, slices.Collect(maps.Keys(completed)), toAny(paid))
}

func toAny(list []string) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
