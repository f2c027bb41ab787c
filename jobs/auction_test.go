package jobs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// untilAuction waits until the auction has the status.
func untilAuction(t *testing.T, c *apitest.Caller, auctionID string, status api.AuctionStatus) (a api.Auction) {
	t.Helper()
	apitest.Until(t, fmt.Sprintf("the auction to be %s", status), func() bool {
		c.Call(t, "GET", "/v1/me/commerce/auctions/"+auctionID, nil).Into(t, 200, &a)
		return a.Status == status
	})
	return a
}

func TestAnAuctionEndsByItself(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true})
	owner, sink := s.Register(t), apitest.NewSink(t, nil)
	owner.Webhook(t, sink.URL, "auction.bid", "auction.reserve_not_met")
	a := owner.Auction(t, map[string]any{"durationSec": 1, "antiSnipeSec": 1, "reservePriceCents": 5000})
	owner.Bid(t, a.ID, 1000).Is(t, 201) // postpones the end
	got := untilAuction(t, owner, a.ID, api.AuctionStatusENDED)
	require.True(t, got.WinningBidID.IsNull())
	require.True(t, got.EndsAt.After(a.EndsAt.Time))
	received := sink.Wait(t, 2)
	require.Contains(t, string(received[0].Body), "auction.bid")
	require.Contains(t, string(received[1].Body), "auction.reserve_not_met")
}

// TestAnAuctionEndsAfterARestart checks an auction whose end time passes while no
// server runs.
func TestAnAuctionEndsAfterARestart(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	owner := apitest.New(t, apitest.Options{Pool: pool}).Register(t)
	withJob, without := owner.Auction(t, nil), owner.Auction(t, nil)
	_, err := pool.Exec(t.Context(), "UPDATE auctions SET ends_at = clock_timestamp()")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `UPDATE river_job SET scheduled_at = now() WHERE args->>'auctionId' = $1`, withJob.ID)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `DELETE FROM river_job WHERE args->>'auctionId' = $1`, without.ID)
	require.NoError(t, err)

	apitest.New(t, apitest.Options{Pool: pool, Jobs: true})
	untilAuction(t, owner, withJob.ID, api.AuctionStatusENDED)
	untilAuction(t, owner, without.ID, api.AuctionStatusENDED)
	var events int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE event = 'auction.reserve_not_met'").Scan(&events))
	require.Equal(t, 2, events)
}

// TestAnAuctionWhoseEndWasMovedWaitsOn checks that a job which runs before the new
// end snoozes until then.
func TestAnAuctionWhoseEndWasMovedWaitsOn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true})
	owner := s.Register(t)
	a := owner.Auction(t, map[string]any{"durationSec": 2})
	_, err := s.Pool.Exec(t.Context(), "UPDATE auctions SET ends_at = ends_at + interval '1 hour' WHERE id = $1", a.ID)
	require.NoError(t, err)
	apitest.Until(t, "the job to be put off", func() (off bool) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT scheduled_at BETWEEN $2::timestamptz + interval '59 minutes' AND
			$2::timestamptz + interval '61 minutes' FROM river_job WHERE args->>'auctionId' = $1`, a.ID, a.EndsAt.Time).Scan(&off))
		return off
	})
	untilAuction(t, owner, a.ID, api.AuctionStatusLIVE)
}

// TestAWinnerPays checks that an ended auction gets an order and a payment page without
// further requests, and that after the payment it is SETTLED and the unit is sold.
func TestAWinnerPays(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true})
	owner := s.Register(t)
	owner.Seller(t)
	p := owner.Product(t, map[string]any{"stock": 3})
	a := owner.Auction(t, map[string]any{"productId": p.ID, "durationSec": 1, "antiSnipeSec": 1, "reservePriceCents": 1500})
	owner.Bid(t, a.ID, 1500).Is(t, 201)
	ended := untilAuction(t, owner, a.ID, api.AuctionStatusENDED)
	require.Equal(t, ended.Bids[0].ID, ended.WinningBidID.MustGet())

	var o api.Order
	apitest.Until(t, "the payment page", func() bool {
		owner.Call(t, "GET", "/v1/me/commerce/orders/"+ended.OrderID.MustGet(), nil).Into(t, 200, &o)
		return !o.CheckoutURL.IsNull()
	})
	require.Equal(t, api.OrderStatusPENDING, o.Status)
	require.Equal(t, []any{int64(1500), "user-4711", a.StreamID}, []any{o.TotalCents, o.CustomerExternalID, o.StreamID.MustGet()})
	_, err := s.Sandbox.Pay(o.ProcessorCheckoutSessionID.MustGet(), "bo@buyer.example")
	require.NoError(t, err)
	s.Sandbox.Deliver(t)
	untilAuction(t, owner, a.ID, api.AuctionStatusSETTLED)
	var stock, held int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT stock, held FROM products WHERE id = $1", p.ID).Scan(&stock, &held))
	require.Equal(t, []int{2, 0}, []int{stock, held})
	owner.Bid(t, a.ID, 9000).Problem(t, 400, "auction_ended")
}
