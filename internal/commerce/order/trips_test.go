package order_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// trips counts round trips to the database: statements, including BEGIN and
// COMMIT, batches as one, and prepared statements.
type trips struct{ n atomic.Int64 }

func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (*trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (*trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (c *trips) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (*trips) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

// TestACheckoutTakesFewRoundTrips: with a code, a limit per customer and several
// products: BEGIN, a batch that locks, a batch that writes, COMMIT, and the page.
// One more if the platform's fee isn't cached.
func TestACheckoutTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	counter := &trips{}
	config := dbtest.New(t).Config()
	config.MaxConns = 1 // so that statements are prepared once
	config.ConnConfig.Tracer = counter
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	r := newRig(t, apitest.Options{Pool: pool})
	mug, plate := r.product(t, 100), r.product(t, 100)
	r.code(t, "LAUNCH", 100, 100)
	checkout := func() int64 {
		before := counter.n.Load()
		_, err := r.Orders.CreateCheckout(t.Context(), r.caller, order.Cart{
			Lines:    []catalog.Line{{ProductID: plate, Quantity: 1}, {ProductID: mug, Quantity: 2}},
			StreamID: &r.stream, CustomerEmail: "bo@buyer.example", CustomerExternalID: "user-1", DiscountCode: "launch",
			SuccessURL: "https://shop.example/", CancelURL: "https://shop.example/",
		})
		require.NoError(t, err)
		return counter.n.Load() - before
	}
	for range 2 {
		checkout()
	}
	require.LessOrEqual(t, checkout(), int64(5))
	r.Clock.Advance(6e9)
	require.LessOrEqual(t, checkout(), int64(6), "the fee is read again")
}
