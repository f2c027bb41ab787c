package order_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/testkit/apitest"
)

// together runs f n times concurrently and waits for all.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

func (r *rig) buy(t *testing.T, customer, code string, lines ...catalog.Line) (order.Checkout, error) {
	t.Helper()
	return r.Orders.CreateCheckout(t.Context(), r.caller, order.Cart{
		Lines: lines, StreamID: &r.stream, CustomerEmail: "bo@buyer.example", CustomerExternalID: customer, DiscountCode: code,
		SuccessURL: "https://shop.example/", CancelURL: "https://shop.example/",
	})
}

// end pays or closes a page, and applies its reports repeatedly and in random
// order.
func (r *rig) end(t *testing.T, c order.Checkout) (paid bool) {
	t.Helper()
	open, err := r.Sandbox.Client.GetPage(t.Context(), r.account, c.SessionID)
	if err != nil {
		t.Error(err)
		return false
	}
	if paid = rand.N(2) == 0; paid {
		_, err = r.Sandbox.Pay(c.SessionID, "")
	} else {
		_, err = r.Sandbox.Expire(c.SessionID)
	}
	if err != nil {
		t.Error(err)
		return false
	}
	closed, err := r.Sandbox.Client.GetPage(t.Context(), r.account, c.SessionID)
	if err != nil {
		t.Error(err)
		return false
	}
	together(4, func(i int) {
		report := closed
		if i == 0 {
			report = open
		}
		if err := r.Orders.ApplyPaymentPage(t.Context(), r.account, report); err != nil {
			t.Error(err)
		}
	})
	return paid
}

// TestNothingIsSoldTwice: many buyers want the last units of two products. Their
// carts name the products in either order, and they pay or cancel at random.
func TestNothingIsSoldTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	const units, buyers = 7, 60
	mug, plate := r.product(t, units), r.product(t, units+20)
	var mu sync.Mutex
	sold := map[string]int64{}
	together(buyers, func(i int) {
		lines := []catalog.Line{{ProductID: mug, Quantity: 1}, {ProductID: plate, Quantity: int64(1 + i%2)}}
		if i%3 == 0 {
			lines[0], lines[1] = lines[1], lines[0]
		}
		c, err := r.buy(t, fmt.Sprint("user-", i), "", lines...)
		if problem.Is(err, "insufficient_stock") {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		if r.end(t, c) {
			mu.Lock()
			defer mu.Unlock()
			for _, l := range lines {
				sold[l.ProductID] += l.Quantity
			}
		}
	})
	require.LessOrEqual(t, sold[mug], int64(units))
	r.has(t, mug, units-sold[mug], 0)
	r.has(t, plate, units+20-sold[plate], 0)
	require.Len(t, r.events(t, "purchase.completed"), int(sold[mug]))
	for left := units - sold[mug]; left > 0; left-- {
		_, err := r.buy(t, "last", "", catalog.Line{ProductID: mug, Quantity: 1})
		require.NoError(t, err)
	}
	_, err := r.buy(t, "last", "", catalog.Line{ProductID: mug, Quantity: 1})
	require.EqualError(t, err, "only 0 of 1 remaining")
}

// TestCodesAreExactAtTheirLimits: with concurrent checkouts, payments and
// expiries.
func TestCodesAreExactAtTheirLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	const most, perCustomer, customers = 9, 2, 8
	// Different products, so that buyers share only the code's lock.
	var mugs []string
	for range 5 {
		mugs = append(mugs, r.product(t, -1))
	}
	codeID := r.code(t, "Crowd", most, perCustomer)
	var mu sync.Mutex
	running, paid := map[string]int{}, map[string]int{}
	together(40, func(i int) {
		customer := fmt.Sprint("user-", i%customers)
		c, err := r.buy(t, customer, "cROWD", catalog.Line{ProductID: mugs[i%len(mugs)], Quantity: 1})
		if problem.Is(err, "discount_invalid") {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		var ended, isPaid bool
		if i%4 != 0 {
			ended, isPaid = true, r.end(t, c)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case isPaid:
			paid[customer]++
		case !ended:
			running[customer]++
		}
	})
	var redeemed, held int
	for i := range customers {
		customer := fmt.Sprint("user-", i)
		redeemed, held = redeemed+paid[customer], held+running[customer]
		require.LessOrEqual(t, paid[customer]+running[customer], perCustomer)
	}
	gotRedeemed, gotHeld := r.uses(t, codeID)
	require.Equal(t, []int32{int32(redeemed), int32(held)}, []int32{gotRedeemed, gotHeld})
	require.LessOrEqual(t, redeemed+held, most)
	for i := redeemed + held; i < most; i++ {
		_, err := r.buy(t, fmt.Sprint("late-", i), "CROWD", catalog.Line{ProductID: mugs[0], Quantity: 1})
		require.NoError(t, err, "up to the limit")
	}
	_, err := r.buy(t, "too-late", "CROWD", catalog.Line{ProductID: mugs[0], Quantity: 1})
	require.EqualError(t, err, "this discount code is used up")
}

// TestOneCustomerAtOnce: concurrent checkouts can't exceed the limit per customer
// either.
func TestOneCustomerAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	codeID := r.code(t, "MINE", 0, 3)
	var mugs []string
	for range 20 {
		mugs = append(mugs, r.product(t, -1))
	}
	together(len(mugs), func(i int) {
		_, err := r.buy(t, "user-1", "MINE", catalog.Line{ProductID: mugs[i], Quantity: 1})
		if err != nil && !problem.Is(err, "discount_invalid") {
			t.Error(err)
		}
	})
	_, held := r.uses(t, codeID)
	require.Equal(t, int32(3), held)
}

// TestTheSameReportManyTimes: concurrent and old reports of one payment make one
// sale.
func TestTheSameReportManyTimes(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	codeID := r.code(t, "MINE", 1, 1)
	c, err := r.buy(t, "user-1", "MINE", catalog.Line{ProductID: mug, Quantity: 5})
	require.NoError(t, err)
	page := func() processor.PaymentPage {
		p, err := r.Sandbox.Client.GetPage(t.Context(), r.account, c.SessionID)
		require.NoError(t, err)
		return p
	}
	open := page()
	_, err = r.Sandbox.Pay(c.SessionID, "")
	require.NoError(t, err)
	paid, expired := page(), open
	expired.Status = processor.Expired
	together(60, func(i int) {
		report := []processor.PaymentPage{open, paid, expired}[i%3]
		if err := r.Orders.ApplyPaymentPage(t.Context(), r.account, report); err != nil {
			t.Error(err)
		}
	})
	require.Equal(t, order.Paid, r.row(t, c.OrderID).Status)
	require.Len(t, r.events(t, "purchase.completed"), 1)
	require.Len(t, r.events(t, "inventory.depleted"), 1)
	r.has(t, mug, 0, 0)
	redemptions, held := r.uses(t, codeID)
	require.Equal(t, []int32{1, 0}, []int32{redemptions, held})
}
