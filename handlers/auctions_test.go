package handlers_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

const auctionsPath = "/v1/me/commerce/auctions"

// endAuction moves the auction's end to now.
func endAuction(t *testing.T, s *apitest.Server, auctionID string) {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), "UPDATE auctions SET ends_at = clock_timestamp() WHERE id = $1", auctionID)
	require.NoError(t, err)
}

// databaseTime is the database's clock, truncated to milliseconds as in the API.
func databaseTime(t *testing.T, s *apitest.Server) (now time.Time) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT date_trunc('milliseconds', clock_timestamp())").Scan(&now))
	return now
}

func TestCreateAuction(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st, product := owner.Stream(t, nil), owner.Product(t, map[string]any{"stock": 2}).ID
	before := databaseTime(t, s)
	a := owner.Auction(t, map[string]any{
		"productId": product, "streamId": st.ID, "startingBidCents": 1500, "reservePriceCents": 2500, "bidIncrementCents": 50,
		"durationSec": 300, "antiSnipeSec": 10,
	})
	require.Equal(t, api.AuctionStatusLIVE, a.Status)
	require.Equal(t, []any{product, st.ID, int64(1500), int64(2500), int64(50), "usd", 10},
		[]any{a.ProductID, a.StreamID, a.StartingBidCents, *a.ReservePriceCents, a.BidIncrementCents, a.Currency, a.AntiSnipeSec})
	require.Equal(t, 300*time.Second, a.EndsAt.Sub(a.CreatedAt.Time))
	require.False(t, a.CreatedAt.Before(before), "the database's clock counts, not the server's")
	require.False(t, a.CreatedAt.After(databaseTime(t, s)))
	require.True(t, a.WinningBidID.IsNull() && a.OrderID.IsNull())
	require.Empty(t, a.Bids)

	var got api.Auction
	owner.Call(t, "GET", auctionsPath+"/"+a.ID, nil).Into(t, 200, &got)
	require.Equal(t, a, got)

	plain := owner.Auction(t, map[string]any{"productId": product, "streamId": st.ID, "reservePriceCents": nil})
	require.Nil(t, plain.ReservePriceCents)
	require.Zero(t, plain.AntiSnipeSec)

	p := owner.Call(t, "POST", auctionsPath, auctionBody(product, st.ID)).Problem(t, 400, "insufficient_stock")
	require.Equal(t, "only 0 of 1 remaining", p.Message, "both units are held")
	owner.Auction(t, map[string]any{"productId": owner.Product(t, map[string]any{"stock": -1}).ID, "streamId": st.ID})
	require.Equal(t, []string{"auction.create", "auction.create", "auction.create"}, auditActions(t, s, owner.TenantID, "auction."))
}

func auctionBody(productID, streamID string) map[string]any {
	return map[string]any{"productId": productID, "streamId": streamID, "startingBidCents": 1000, "bidIncrementCents": 100, "durationSec": 60}
}

func TestCreateAuctionOfAMissingProduct(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	st, product := owner.Stream(t, nil), owner.Product(t, map[string]any{"stock": 1}).ID
	for message, body := range map[string]map[string]any{
		"product not found": auctionBody("prod_none", st.ID),
		"stream not found":  auctionBody(product, "str_none"),
	} {
		require.Equal(t, message, owner.Call(t, "POST", auctionsPath, body).Problem(t, 404, "not_found").Message)
	}
	p := owner.Call(t, "POST", auctionsPath, auctionBody(other.Product(t, map[string]any{"stock": 1}).ID, st.ID)).Problem(t, 404, "not_found")
	require.Equal(t, "product not found", p.Message)
	p = owner.Call(t, "POST", auctionsPath, auctionBody(product, other.Stream(t, nil).ID)).Problem(t, 404, "not_found")
	require.Equal(t, "stream not found", p.Message)
	_, err := s.Pool.Exec(t.Context(), "UPDATE products SET active = false WHERE id = $1", product)
	require.NoError(t, err)
	owner.Call(t, "POST", auctionsPath, auctionBody(product, st.ID)).Problem(t, 409, "conflict")
	p = owner.Call(t, "POST", auctionsPath, auctionBody(owner.Product(t, map[string]any{"stock": 0}).ID, st.ID)).Problem(t, 400, "insufficient_stock")
	require.Equal(t, "only 0 of 1 remaining", p.Message)
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", auctionsPath, nil).Is(t, 200).Body))
}

func TestAuctionInput(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	a := owner.Auction(t, nil)
	base := `"productId":"prod_x","streamId":"str_x","startingBidCents":0,"bidIncrementCents":1,"durationSec":1`
	for body, field := range map[string]string{
		`{}`: "productId",
		`{` + strings.Replace(base, `"startingBidCents":0`, `"startingBidCents":-1`, 1) + `}`:        "startingBidCents",
		`{` + strings.Replace(base, `"startingBidCents":0`, `"startingBidCents":100000000`, 1) + `}`: "startingBidCents",
		`{` + strings.Replace(base, `"bidIncrementCents":1`, `"bidIncrementCents":0`, 1) + `}`:       "bidIncrementCents",
		`{` + strings.Replace(base, `"bidIncrementCents":1`, `"bidIncrementCents":1.5`, 1) + `}`:     "bidIncrementCents",
		`{` + strings.Replace(base, `"durationSec":1`, `"durationSec":0`, 1) + `}`:                   "durationSec",
		`{` + strings.Replace(base, `"durationSec":1`, `"durationSec":604801`, 1) + `}`:              "durationSec",
		`{` + base + `,"antiSnipeSec":3601}`:                                                         "antiSnipeSec",
		`{` + base + `,"antiSnipeSec":-1}`:                                                           "antiSnipeSec",
		`{` + base + `,"reservePriceCents":-1}`:                                                      "reservePriceCents",
		`{` + base + `,"reservePriceCents":"1"}`:                                                     "reservePriceCents",
		`{` + base + `,"productId":"prod_\u0000"}`:                                                   "productId",
	} {
		p := owner.Call(t, "POST", auctionsPath, body).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field, body)
	}
	for body, field := range map[string]string{
		`{"bidderExternalId":"u","bidderName":"Bo"}`:                                                  "amountCents",
		`{"amountCents":100000000,"bidderExternalId":"u","bidderName":"Bo"}`:                          "amountCents",
		`{"amountCents":-1,"bidderExternalId":"u","bidderName":"Bo"}`:                                 "amountCents",
		`{"amountCents":1000.5,"bidderExternalId":"u","bidderName":"Bo"}`:                             "amountCents",
		`{"amountCents":1000,"bidderExternalId":"","bidderName":"Bo"}`:                                "bidderExternalId",
		`{"amountCents":1000,"bidderExternalId":"u","bidderName":" "}`:                                "bidderName",
		`{"amountCents":1000,"bidderExternalId":"u","bidderName":"B\u0000"}`:                          "bidderName",
		`{"amountCents":1000,"bidderExternalId":"u","bidderName":"` + strings.Repeat("B", 121) + `"}`: "bidderName",
	} {
		p := owner.Call(t, "POST", auctionsPath+"/"+a.ID+"/bid", body).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field, body)
	}
	owner.Call(t, "GET", auctionsPath+"?status=OVER", nil).Problem(t, 400, "invalid_input")
	owner.Call(t, "GET", auctionsPath+"?cursor=prod_x", nil).Problem(t, 400, "invalid_input")
}

func TestPlaceBid(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	a := owner.Auction(t, nil)
	refused := func(cents int64, code, message string) {
		t.Helper()
		require.Equal(t, message, owner.Bid(t, a.ID, cents).Problem(t, 400, code).Message)
	}
	refused(999, "bid_too_low", "min bid is 1000 cents")
	var first, second api.PlacedBid
	owner.Bid(t, a.ID, 1000).Into(t, 201, &first)
	require.Equal(t, a.EndsAt, first.NewEndsAt)
	require.Equal(t, []any{a.ID, int64(1000), "user-4711", "Bo"},
		[]any{first.Bid.AuctionID, first.Bid.AmountCents, first.Bid.BidderExternalID, first.Bid.BidderName})
	refused(1000, "bid_too_low", "min bid is 1100 cents")
	refused(1099, "bid_too_low", "min bid is 1100 cents")
	owner.Bid(t, a.ID, 99_999_999).Into(t, 201, &second)
	refused(99_999_999, "bid_too_low", "min bid is 100000099 cents")

	var got api.Auction
	owner.Call(t, "GET", auctionsPath+"/"+a.ID, nil).Into(t, 200, &got)
	require.Equal(t, []api.Bid{second.Bid}, got.Bids, "the top bid alone")
	require.Equal(t, a.EndsAt, got.EndsAt)
	require.Equal(t, []string{"auction.bid", "auction.bid"}, auctionEvents(t, s, owner.TenantID, a.ID))
	require.Equal(t, []string{"auction.create"}, auditActions(t, s, owner.TenantID, "auction."), "bids are a record of their own")

	endAuction(t, s, a.ID)
	refused(99_999_999, "auction_ended", "auction has ended")
	refused(1, "auction_ended", "auction has ended")
	require.Equal(t, "auction not found", owner.Bid(t, "auc_none", 1000).Problem(t, 404, "not_found").Message)
}

// auctionEvents returns the names of an auction's events in order.
func auctionEvents(t *testing.T, s *apitest.Server, tenantID, auctionID string) []string {
	t.Helper()
	names, _ := eventsOf(t, s, tenantID, auctionID)
	return names
}

func TestALateBidMovesTheAuctionsEnd(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	a := owner.Auction(t, map[string]any{"durationSec": 600, "antiSnipeSec": 3600})
	var placed api.PlacedBid
	owner.Bid(t, a.ID, 1000).Into(t, 201, &placed)
	require.Equal(t, a.EndsAt.Add(time.Hour), placed.NewEndsAt.Time)
	owner.Bid(t, a.ID, 1100).Into(t, 201, &placed)
	require.Equal(t, a.EndsAt.Add(time.Hour), placed.NewEndsAt.Time, "that one isn't late any more")
	var got api.Auction
	owner.Call(t, "GET", auctionsPath+"/"+a.ID, nil).Into(t, 200, &got)
	require.Equal(t, placed.NewEndsAt, got.EndsAt)
}

// TestABidThatIsSentTwiceIsPlacedOnce sends bids with an Idempotency-Key. The
// second request gets the answer of the first, also while that one is in
// progress; another key is another bid.
func TestABidThatIsSentTwiceIsPlacedOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	a := owner.Auction(t, nil)
	bid := func(key string) apitest.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+auctionsPath+"/"+a.ID+"/bid",
			strings.NewReader(`{"amountCents":1000,"bidderExternalId":"user-1","bidderName":"Bo"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		return owner.Do(t, r)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { bid("one") })
	}
	wg.Wait()
	var first, again api.PlacedBid
	bid("one").Into(t, 201, &first)
	bid("one").Into(t, 201, &again)
	require.Equal(t, first, again)
	require.Equal(t, "min bid is 1100 cents", bid("two").Problem(t, 400, "bid_too_low").Message)
	var n int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM bids WHERE auction_id = $1", a.ID).Scan(&n))
	require.Equal(t, 1, n)
}

func TestCancelAuction(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st, product := owner.Stream(t, nil), owner.Product(t, map[string]any{"stock": 1}).ID
	a := owner.Auction(t, map[string]any{"productId": product, "streamId": st.ID})
	for range 2 {
		var got api.Auction
		owner.Call(t, "POST", auctionsPath+"/"+a.ID+"/cancel", nil).Into(t, 201, &got)
		require.Equal(t, api.AuctionStatusCANCELLED, got.Status)
	}
	require.Equal(t, []string{"auction.create", "auction.cancel"}, auditActions(t, s, owner.TenantID, "auction."))
	owner.Bid(t, a.ID, 1000).Problem(t, 400, "auction_ended")
	require.Empty(t, auctionEvents(t, s, owner.TenantID, a.ID))

	a = owner.Auction(t, map[string]any{"productId": product, "streamId": st.ID}) // the held unit is available again
	owner.Bid(t, a.ID, 1000).Is(t, 201)
	owner.Call(t, "POST", auctionsPath+"/"+a.ID+"/cancel", nil).Problem(t, 409, "conflict")
	b := owner.Auction(t, nil)
	endAuction(t, s, b.ID)
	owner.Call(t, "POST", auctionsPath+"/"+b.ID+"/cancel", nil).Problem(t, 409, "conflict")
	_, err := s.Auctions.SettleAuction(t.Context(), owner.TenantID, b.ID)
	require.NoError(t, err)
	owner.Call(t, "POST", auctionsPath+"/"+b.ID+"/cancel", nil).Problem(t, 409, "conflict")
	owner.Call(t, "POST", auctionsPath+"/auc_none/cancel", nil).Problem(t, 404, "not_found")
}

func TestListAuctionsByStatus(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	live, off, ended := owner.Auction(t, nil), owner.Auction(t, nil), owner.Auction(t, nil)
	owner.Bid(t, live.ID, 1000).Is(t, 201)
	owner.Call(t, "POST", auctionsPath+"/"+off.ID+"/cancel", nil).Is(t, 201)
	endAuction(t, s, ended.ID)
	_, err := s.Auctions.SettleAuction(t.Context(), owner.TenantID, ended.ID)
	require.NoError(t, err)
	for query, want := range map[string][]string{
		"": {ended.ID, off.ID, live.ID}, "?status=LIVE": {live.ID}, "?status=CANCELLED": {off.ID}, "?status=ENDED": {ended.ID}, "?status=SETTLED": nil,
	} {
		var list []api.Auction
		owner.Call(t, "GET", auctionsPath+query, nil).Into(t, 200, &list)
		var ids []string
		for _, a := range list {
			ids = append(ids, a.ID)
			if a.ID == live.ID {
				require.Len(t, a.Bids, 1)
				require.Equal(t, int64(1000), a.Bids[0].AmountCents)
			}
		}
		require.Equal(t, want, ids, query)
	}
}
