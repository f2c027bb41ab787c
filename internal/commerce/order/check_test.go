package order_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// onlyOrder returns the tenant's only order.
func (r *rig) onlyOrder(t *testing.T) db.Order {
	t.Helper()
	rows, err := db.New(r.Pool).ListOrders(t.Context(), db.ListOrdersParams{TenantID: r.owner.TenantID, MaxRows: 2})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	return rows[0]
}

// unavailable makes a checkout whose result is unknown to the caller.
func (r *rig) unavailable(t *testing.T, productID string) db.Order {
	t.Helper()
	r.owner.Call(t, "POST", "/v1/me/commerce/checkout", r.cart(productID, nil)).Problem(t, 503, "processor_unavailable")
	return r.onlyOrder(t)
}

// TestALostAnswerIsFoundAgain: the page was made, but the answer was lost.
func TestALostAnswerIsFoundAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	mug := r.product(t, 5)
	r.Sandbox.LoseAnswers(1, "/v1/checkout/sessions")
	o := r.unavailable(t, mug)
	require.Nil(t, o.CheckoutSessionID)
	r.Clock.Advance(2 * time.Minute)
	require.NoError(t, r.Orders.EnqueueDue(t.Context()))
	require.Equal(t, 1, r.jobs(t, "order_check", o.ID))
	require.NoError(t, r.Orders.CheckOrder(t.Context(), o.ID))
	found := r.order(t, o.ID)
	require.NotEmpty(t, found.CheckoutURL.MustGet())
	require.Equal(t, 1, r.Sandbox.Count("POST", "/v1/checkout/sessions"))
	r.pay(t, found.ProcessorCheckoutSessionID.MustGet())
	require.Equal(t, api.OrderStatus("PAID"), r.order(t, o.ID).Status)
	require.Nil(t, r.row(t, o.ID).CheckAt)
}

// TestAReportBeforeTheAnswer: the report finds the order by its id.
func TestAReportBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	r.Sandbox.LoseAnswers(1, "/v1/checkout/sessions")
	o := r.unavailable(t, mug)
	page := r.Sandbox.Sessions(r.account)[0]
	r.pay(t, page.ID)
	found := r.order(t, o.ID)
	require.Equal(t, api.OrderStatus("PAID"), found.Status)
	require.Equal(t, page.ID, found.ProcessorCheckoutSessionID.MustGet())
}

// TestAPageThatWasNeverMade: the order expires when no page can appear any more.
func TestAPageThatWasNeverMade(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	r.Sandbox.Down(true)
	o := r.unavailable(t, mug)
	r.Sandbox.Down(false)
	at := func() time.Time { return *r.row(t, o.ID).CheckAt }
	for r.row(t, o.ID).Status == order.Pending {
		require.True(t, r.Clock.Now().Before(o.CreatedAt.Add(5*time.Minute)), "nothing is held for a page that isn't there")
		r.has(t, mug, 5, 1)
		require.True(t, at().After(r.Clock.Now()), "the next question is ahead")
		r.Clock.Advance(at().Sub(r.Clock.Now()))
		require.NoError(t, r.Orders.CheckOrder(t.Context(), o.ID))
	}
	require.Equal(t, order.Expired, r.row(t, o.ID).Status)
	require.False(t, r.Clock.Now().Before(o.CreatedAt.Add(5*time.Minute)))
	r.has(t, mug, 5, 0)
	require.Empty(t, r.Sandbox.Sessions(r.account), "none was made afterwards")
}

// TestAClockThatWentBack: a check that was postponed by a clock one hour ahead
// runs at the intended time, not an hour later.
func TestAClockThatWentBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	c := r.checkout(t, r.cart(r.product(t, 5), nil))
	r.Sandbox.Down(true)
	r.Clock.Advance(time.Hour)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID)) // it fails
	r.Clock.Advance(-time.Hour)
	require.NoError(t, r.Orders.EnqueueDue(t.Context()))
	require.Equal(t, 1, r.jobs(t, "order_check", c.OrderID))
}

// TestALongSearchGoesOnLater: the search continues where it stopped. It proves
// that there is no page only if it began after the last moment at which one could
// be made.
func TestALongSearchGoesOnLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	r.Sandbox.Fail(1, "/v1/checkout/sessions", http.StatusInternalServerError)
	o := r.unavailable(t, mug)
	for i := range 250 {
		_, err := r.Sandbox.Client.CreatePage(t.Context(), processor.NewPaymentPage{
			AccountID: r.account, OrderID: "other-" + strconv.Itoa(i), TenantID: r.owner.TenantID, Currency: "usd",
			Lines:      []processor.Line{{Name: "Mug", UnitCents: 50, Quantity: 1}},
			SuccessURL: "https://shop.example/", CancelURL: "https://shop.example/", ExpiresAt: r.Clock.Now().Add(time.Hour),
		})
		require.NoError(t, err)
	}
	lists := func() (after []string) {
		for _, request := range r.Sandbox.Requests() {
			if request.Method == http.MethodGet && request.Path == "/v1/checkout/sessions" {
				after = append(after, request.Params.Get("starting_after"))
			}
		}
		return after
	}
	check := func() {
		t.Helper()
		require.NoError(t, r.Orders.CheckOrder(t.Context(), o.ID))
	}
	pages := r.Sandbox.Sessions(r.account)
	r.Clock.Advance(4 * time.Minute)
	r.Sandbox.FailBehind("/v1/checkout/sessions", 1, http.StatusInternalServerError)
	check()
	require.Equal(t, []string{"", pages[99].ID}, lists(), "the second list failed")
	require.Equal(t, r.Clock.Now().Add(time.Minute), *r.row(t, o.ID).CheckAt)
	r.Clock.Advance(time.Minute)
	check()
	require.Equal(t, []string{"", pages[99].ID, pages[99].ID, pages[199].ID}, lists())
	require.Equal(t, order.Pending, r.row(t, o.ID).Status, "it began too early")
	check()
	require.Len(t, lists(), 7)
	require.Equal(t, order.Expired, r.row(t, o.ID).Status)
	r.has(t, mug, 5, 0)
}

// TestLostReportsAreReplacedByQueries: checks replace lost reports.
func TestLostReportsAreReplacedByQueries(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	paid, open := r.checkout(t, r.cart(mug, nil)), r.checkout(t, r.cart(mug, nil))
	_, err := r.Sandbox.Pay(paid.SessionID, "")
	require.NoError(t, err)
	r.Clock.Advance(2 * time.Minute)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), paid.OrderID))
	require.NoError(t, r.Orders.CheckOrder(t.Context(), open.OrderID))
	require.Equal(t, order.Paid, r.row(t, paid.OrderID).Status)
	o := r.row(t, open.OrderID)
	require.Equal(t, order.Pending, o.Status)
	require.Equal(t, r.Clock.Now().Add(time.Minute), *o.CheckAt)
	r.has(t, mug, 4, 1)

	r.Clock.Advance(30 * time.Minute)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), open.OrderID))
	require.Equal(t, order.Expired, r.row(t, open.OrderID).Status)
	page, _ := r.Sandbox.Session(open.SessionID)
	require.Equal(t, "expired", page.Status, "it can't be paid any more")
	r.has(t, mug, 4, 0)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), open.OrderID), "nothing is left to ask")
}

// TestAnUnreachableProcessorIsAskedLessAndLess: and the order keeps its units
// meanwhile.
func TestAnUnreachableProcessorIsAskedLessAndLess(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	c := r.checkout(t, r.cart(mug, nil))
	r.Clock.Advance(2 * time.Hour)
	r.Sandbox.Down(true)
	for _, minutes := range []int{1, 2, 4, 8, 15, 15} {
		pause := time.Duration(minutes) * time.Minute
		require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
		require.Equal(t, r.Clock.Now().Add(pause), *r.row(t, c.OrderID).CheckAt)
		r.Clock.Advance(pause)
	}
	r.has(t, mug, 5, 1)
	r.Sandbox.Down(false)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
	require.Equal(t, order.Expired, r.row(t, c.OrderID).Status)
	r.has(t, mug, 5, 0)
}

// TestAnAccountThatWasCutOff: the checks never stop, with growing pauses. The
// units are freed once the account is connected again.
func TestAnAccountThatWasCutOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	c := r.checkout(t, r.cart(mug, nil))
	connect := func(accountID string) {
		_, err := r.Pool.Exec(t.Context(), "UPDATE orders SET processor_account_id = $1 WHERE id = $2", accountID, c.OrderID)
		require.NoError(t, err)
	}
	connect("acct_gone")
	r.Clock.Advance(2 * time.Hour)
	for _, minutes := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360} {
		pause := time.Duration(minutes) * time.Minute
		require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
		require.Equal(t, r.Clock.Now().Add(pause), *r.row(t, c.OrderID).CheckAt)
		r.Clock.Advance(pause)
	}
	r.has(t, mug, 5, 1)
	connect(r.account)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
	require.Equal(t, order.Expired, r.row(t, c.OrderID).Status)
	r.has(t, mug, 5, 0)
}

// TestAPageInTheOrdersName: a page that the seller made, for another total, holds
// no units.
func TestAPageInTheOrdersName(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	r.Sandbox.Fail(1, "/v1/checkout/sessions", http.StatusInternalServerError)
	_, err := r.buy(t, "user-1", "", catalog.Line{ProductID: mug, Quantity: 1})
	require.True(t, problem.Is(err, "processor_unavailable"), "%v", err)
	r.has(t, mug, 5, 1)
	var orderID string
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT id FROM orders WHERE tenant_id = $1", r.owner.TenantID).Scan(&orderID))
	_, err = r.Sandbox.Client.CreatePage(t.Context(), processor.NewPaymentPage{
		AccountID: r.account, OrderID: orderID, TenantID: r.owner.TenantID, Currency: "usd",
		Lines:      []processor.Line{{Name: "Nothing much", UnitCents: 50, Quantity: 1}},
		SuccessURL: "https://shop.example/", CancelURL: "https://shop.example/", ExpiresAt: r.Clock.Now().Add(time.Hour),
	})
	require.NoError(t, err)
	r.Clock.Advance(37 * time.Minute)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), orderID))
	require.Equal(t, order.Expired, r.row(t, orderID).Status)
	r.has(t, mug, 5, 0)
}

// TestAPageThatTheProcessorForgot: it can't be paid, but the order expires only
// after its time and margin.
func TestAPageThatTheProcessorForgot(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	c := r.checkout(t, r.cart(mug, nil))
	_, err := r.Pool.Exec(t.Context(), "UPDATE orders SET checkout_session_id = 'cs_gone_' || id WHERE id = $1", c.OrderID)
	require.NoError(t, err)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
	require.Equal(t, order.Pending, r.row(t, c.OrderID).Status)
	r.Clock.Advance(37 * time.Minute)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), c.OrderID))
	require.Equal(t, order.Expired, r.row(t, c.OrderID).Status)
	r.has(t, mug, 5, 0)
}

// TestAWinnersPageAndLostAnswers: every answer of the processor is lost once, and
// there is one page in the end.
func TestAWinnersPageAndLostAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	_, orderID := r.won(t, mug)
	r.Sandbox.LoseAnswers(1, "/v1/checkout/sessions")
	require.NoError(t, r.Orders.CheckOrder(t.Context(), orderID))
	require.Nil(t, r.row(t, orderID).CheckoutSessionID)
	require.Equal(t, r.Clock.Now().Add(time.Minute), *r.row(t, orderID).CheckAt)
	r.Sandbox.Fail(1, "/v1/checkout/sessions", http.StatusInternalServerError)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), orderID))
	require.Nil(t, r.row(t, orderID).CheckoutSessionID)
	r.Clock.Advance(3 * time.Minute)
	require.NoError(t, r.Orders.CheckOrder(t.Context(), orderID))
	o := r.row(t, orderID)
	require.Equal(t, r.Sandbox.Sessions(r.account)[0].ID, *o.CheckoutSessionID)
	require.Equal(t, 1, r.Sandbox.Count("POST", "/v1/checkout/sessions"))
	r.pay(t, *o.CheckoutSessionID)
	require.Equal(t, order.Paid, r.row(t, orderID).Status)
}

func TestAWinnersPageThatIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	mug := r.product(t, 5)
	auctionID, orderID := r.won(t, mug)
	require.NoError(t, r.Sandbox.SetCharges(r.account, false))
	require.NoError(t, r.Orders.CheckOrder(t.Context(), orderID))
	require.Equal(t, order.Expired, r.row(t, orderID).Status)
	require.Equal(t, "ENDED", r.auction(t, auctionID))
	r.has(t, mug, 5, 0)
}

// TestAThousandDueOrders: each gets one job, also if EnqueueDue runs concurrently.
func TestAThousandDueOrders(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	mug := r.product(t, -1)
	const n = 1001
	now := r.Clock.Now()
	require.NoError(t, postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		for i := range n {
			err := q.CreateOrder(t.Context(), db.CreateOrderParams{
				ID: id.New(id.Order), TenantID: r.owner.TenantID, StreamID: &r.stream, CustomerExternalID: strconv.Itoa(i), Currency: "USD", Metadata: []byte("{}"),
				ExpiresAt: now.Add(time.Hour), CheckAt: now, Now: now,
				ProductIds: []string{mug}, Names: []string{"Mug"}, PricesCents: []int64{0}, Quantities: []int32{1},
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	done := make(chan error)
	for range 4 {
		go func() { done <- r.Orders.EnqueueDue(context.WithoutCancel(t.Context())) }()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	var jobs, orders int
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT o.id) FROM river_job j JOIN orders o ON o.id = j.args->>'orderId'
		WHERE j.kind = 'order_check' AND o.tenant_id = $1`, r.owner.TenantID).Scan(&jobs, &orders))
	require.Equal(t, []int{n, n}, []int{jobs, orders})
	require.NoError(t, r.Orders.EnqueueDue(t.Context()))
	r.Clock.Advance(6 * time.Minute)
	require.NoError(t, r.Orders.EnqueueDue(t.Context()), "lost jobs would be made up for")
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job j JOIN orders o ON o.id = j.args->>'orderId'
		WHERE j.kind = 'order_check' AND o.tenant_id = $1`, r.owner.TenantID).Scan(&jobs))
	require.Equal(t, n, jobs, "but those that wait have theirs")
}
