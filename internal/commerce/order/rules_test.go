package order

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/processor"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	require.Equal(t, []catalog.Line{{ProductID: "b", Quantity: 4}, {ProductID: "a", Quantity: 2}},
		merge([]catalog.Line{{ProductID: "b", Quantity: 1}, {ProductID: "a", Quantity: 2}, {ProductID: "b", Quantity: 3}}))
}

func TestPrice(t *testing.T) {
	t.Parallel()
	product := func(id, currency string, cents, stock, held int64) db.Product {
		return db.Product{ID: id, Name: "Mug", Currency: currency, PriceCents: cents, Stock: stock, Held: held, Active: true}
	}
	archived := product("a", "USD", 5, 10, 0)
	archived.Active = false
	for name, c := range map[string]struct {
		products []db.Product
		quantity int64
		subtotal int64
		code     string
		message  string
	}{
		"the sum":                 {products: []db.Product{product("a", "USD", 1999, 10, 0), product("b", "USD", 1, -1, 5)}, quantity: 2, subtotal: 4000},
		"the last ones":           {products: []db.Product{product("a", "USD", 5, 10, 7)}, quantity: 3, subtotal: 15},
		"more than are free":      {products: []db.Product{product("a", "USD", 5, 10, 7)}, quantity: 4, code: "insufficient_stock", message: "only 3 of 4 remaining"},
		"more held than in stock": {products: []db.Product{product("a", "USD", 5, 1, 7)}, quantity: 1, code: "insufficient_stock", message: "only 0 of 1 remaining"},
		"two currencies": {
			products: []db.Product{product("a", "USD", 5, -1, 0), product("b", "EUR", 5, 0, 0)}, quantity: 1,
			code: "mixed_currencies", message: "all items must share one currency",
		},
		"archived":    {products: []db.Product{archived, product("b", "EUR", 5, 0, 0)}, quantity: 1, code: "conflict", message: `the product "Mug" (a) is archived`},
		"as it comes": {products: []db.Product{product("a", "JPY", 99_999_999, -1, 0)}, quantity: 100 * 10_000, subtotal: 99_999_999_000_000},
	} {
		products := map[string]db.Product{}
		var lines []catalog.Line
		for _, p := range c.products {
			products[p.ID] = p
			lines = append(lines, catalog.Line{ProductID: p.ID, Quantity: c.quantity})
		}
		subtotal, currency, err := price(lines, products)
		if c.code != "" {
			require.True(t, problem.Is(err, c.code), name)
			require.EqualError(t, err, c.message, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.subtotal, subtotal, name)
		require.Equal(t, c.products[0].Currency, currency, name)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	mine, session := "acct_1", "cs_1"
	order := db.Order{ID: "ord_1", Status: Pending, ProcessorAccountID: &mine, CheckoutSessionID: &session, TotalCents: 500, Currency: "USD"}
	open := processor.PaymentPage{ID: session, OrderID: "ord_1", Status: processor.Open, TotalCents: 500, Currency: "usd"}
	paid, gone, late, failed := open, open, open, open
	paid.Status, paid.Paid = processor.Complete, true
	gone.Status = processor.Expired
	late.Status = processor.Complete
	failed.Status, failed.Failed = processor.Complete, true
	with := func(p processor.PaymentPage, f func(*processor.PaymentPage)) processor.PaymentPage { f(&p); return p }
	pageless, winner := order, order
	pageless.CheckoutSessionID = nil
	winner.ProcessorAccountID, winner.CheckoutSessionID = nil, nil
	in := func(status string) db.Order { o := order; o.Status = status; return o }
	cheap := func(p processor.PaymentPage) processor.PaymentPage { p.TotalCents = 499; return p }

	for name, c := range map[string]struct {
		o       db.Order
		account string
		p       processor.PaymentPage
		want    pageOutcome
	}{
		"open":                         {order, mine, open, waits},
		"paid":                         {order, mine, paid, pays},
		"expired":                      {order, mine, gone, expires},
		"days":                         {order, mine, late, waits},
		"days without an answer":       {order, mine, failed, expires},
		"paid without a known page":    {pageless, mine, paid, pays},
		"paid after it expired":        {in(Expired), mine, paid, pays},
		"expired again":                {in(Expired), mine, gone, nothing},
		"open after it expired":        {in(Expired), mine, open, nothing},
		"failed after it expired":      {in(Expired), mine, failed, nothing},
		"paid again":                   {in(Paid), mine, paid, nothing},
		"expired after it was paid":    {in(Paid), mine, gone, nothing},
		"handed over":                  {in(Fulfilled), mine, paid, nothing},
		"given back":                   {in(Refunded), mine, paid, nothing},
		"another account":              {order, "acct_2", paid, unrelated},
		"another account without page": {pageless, "acct_2", paid, unrelated},
		"no account yet":               {winner, mine, paid, unrelated},
		"another page":                 {order, mine, with(paid, func(p *processor.PaymentPage) { p.ID = "cs_2" }), unrelated},
		"another order":                {pageless, mine, with(paid, func(p *processor.PaymentPage) { p.OrderID = "ord_2" }), unrelated},
		"paid too little":              {order, mine, cheap(paid), mismatches},
		"paid too much":                {order, mine, with(paid, func(p *processor.PaymentPage) { p.TotalCents = 501 }), pays},
		"paid, other currency":         {order, mine, with(paid, func(p *processor.PaymentPage) { p.Currency, p.TotalCents = "jpy", 75_000 }), mismatches},
		"too little, no page noted":    {pageless, mine, cheap(paid), mismatches},
		"too little, after it expired": {in(Expired), mine, cheap(paid), mismatches},
		"too little, again":            {in(Review), mine, cheap(paid), nothing},
		"too little, accepted":         {in(Fulfilled), mine, cheap(paid), nothing},
		"shows another amount":         {order, mine, cheap(open), waits},
		"closed with another amount":   {order, mine, cheap(gone), expires},
		"open, a page of the seller's": {pageless, mine, cheap(open), unrelated},
	} {
		require.Equal(t, c.want, outcomeOf(c.o, c.account, c.p), name)
	}
}

func TestNextCheck(t *testing.T) {
	t.Parallel()
	now := time.Now()
	never := now.Add(24 * time.Hour)
	for checks, minutes := range []int{1, 2, 4, 8, 15, 15, 15} {
		require.Equal(t, now.Add(time.Duration(minutes)*time.Minute), nextCheck(now, never, int32(checks)))
	}
	require.Equal(t, now.Add(15*time.Minute), nextCheck(now, never, math.MaxInt32))
	require.Equal(t, now.Add(time.Minute), nextCheck(now, now.Add(-time.Hour), 0), "the page's time is over")
	require.Equal(t, now.Add(30*time.Second+closing), nextCheck(now, now.Add(30*time.Second), 0), "the page's time is over before")
}

func TestFulfilled(t *testing.T) {
	t.Parallel()
	_, err := fulfilmentStatus(db.Order{Status: Review, RefundedCents: 1})
	require.True(t, problem.Is(err, "conflict"))
	for status, want := range map[string]string{
		Review: Fulfilled, Paid: Fulfilled, Fulfilled: Fulfilled, PartiallyRefunded: PartiallyRefunded,
	} {
		got, err := fulfilmentStatus(db.Order{Status: status})
		require.NoError(t, err, status)
		require.Equal(t, want, got)
	}
	for status, message := range map[string]string{
		Pending: "the order is not paid", Expired: "the order is not paid", Refunded: "the order was refunded in full",
	} {
		_, err := fulfilmentStatus(db.Order{Status: status})
		require.True(t, problem.Is(err, "conflict"), status)
		require.EqualError(t, err, message)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	err := errCheckoutRefused(&processor.Refusal{Status: 400, Code: "amount_too_small", Message: "Amount must be at least 50 cents."})
	require.EqualError(t, err, "the payment processor refused this checkout: Amount must be at least 50 cents.")
	err = errCheckoutRefused(&processor.Refusal{Status: 403, Code: "account_invalid", Message: "The key sk_x has no access to acct_1."})
	require.EqualError(t, err, "the payment processor refused this checkout")
	require.True(t, problem.Is(err, "checkout_refused"))
}
