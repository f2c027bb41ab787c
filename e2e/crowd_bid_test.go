package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
)

// auction starts an auction of 2 to 5 seconds; another client handles its winner.
// An auction whose start wasn't answered may run or not.
func (c *crowd) auction(r *rand.Rand, key string) {
	in := api.AuctionInput{
		ProductID: c.shop.prize.ID, StreamID: c.shop.stream, StartingBidCents: 1000, BidIncrementCents: 100,
		DurationSec: 2 + r.IntN(4), AntiSnipeSec: new(r.IntN(2)),
	}
	if oneIn(r, 2) {
		in.ReservePriceCents = nullable.NewNullableWithValue[int64](1000 + r.Int64N(8000))
	}
	if oneIn(r, 2) {
		key = ""
	}
	answer, err := c.shop.CreateAuctionWithResponse(context.Background(), in, keyed(key))
	if c.outcome("auction", answer, err, inProgress, keyLost) == "" {
		a := *answer.JSON201
		c.mu.Lock()
		c.auctions[a.ID] = true
		if !oneIn(r, 8) { // the others get no bids
			c.live = append(c.live, a)
		}
		c.mu.Unlock()
		choices := rand.New(rand.NewPCG(c.seed, r.Uint64()))
		c.busy.Go(func() { c.win(choices, a.ID) })
		if oneIn(r, 8) {
			called, err := c.shop.CancelAuctionWithResponse(context.Background(), a.ID)
			c.outcome("cancel", called, err, "conflict")
		}
	}
	c.rest(time.Duration(300+r.IntN(700)) * time.Millisecond)
}

// bid bids in one of the running auctions.
func (c *crowd) bid(r *rand.Rand, bidder string, n int) {
	defer c.rest(time.Duration(10+r.IntN(60)) * time.Millisecond)
	c.mu.Lock()
	c.live = slices.DeleteFunc(c.live, func(a api.Auction) bool { return time.Since(a.EndsAt.Time) > 3*time.Second })
	running := slices.Clone(c.live)
	c.mu.Unlock()
	if len(running) == 0 {
		return
	}
	seen, err := c.shop.GetAuctionWithResponse(context.Background(), pick(r, running).ID)
	if c.outcome("get auction", seen, err) != "" {
		return
	}
	a := *seen.JSON200
	in := api.BidInput{AmountCents: a.StartingBidCents, BidderExternalID: bidder, BidderName: bidder}
	if len(a.Bids) > 0 {
		in.AmountCents = a.Bids[0].AmountCents + a.BidIncrementCents + r.Int64N(50)
	}
	key := ""
	if oneIn(r, 2) {
		key = fmt.Sprint("bid-", bidder, "-", n)
	}
	for !c.over() {
		placed, err := c.shop.PlaceBidWithResponse(context.Background(), a.ID, in, keyed(key))
		code := c.outcome("bid", placed, err, inProgress, keyLost, "bid_too_low", "auction_ended")
		if code == "" {
			b := placed.JSON201.Bid
			c.mu.Lock()
			c.bids[b.ID] = b
			c.mu.Unlock()
		}
		if key == "" || code != lost && code != inProgress {
			return
		}
		c.rest(50 * time.Millisecond)
	}
}

// win waits for an auction's end and opens the winner's page.
func (c *crowd) win(r *rand.Rand, auctionID string) {
	for !c.over() {
		answer, err := c.shop.GetAuctionWithResponse(context.Background(), auctionID)
		if c.outcome("get auction", answer, err) == "" && answer.JSON200.Status != api.AuctionStatusLIVE {
			orderID, err := answer.JSON200.OrderID.Get()
			if err != nil {
				return // there is no winner
			}
			if _, sessionID, ok := c.page(orderID); ok {
				c.endPage(r, sessionID)
			}
			return
		}
		c.rest(200 * time.Millisecond)
	}
}
