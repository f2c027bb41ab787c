package auction

import (
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// The states of an auction. Its order sets it to SETTLED when it is paid.
const (
	Live      = "LIVE"
	Ended     = "ENDED"
	Cancelled = "CANCELLED"
)

// state is a locked auction's row with the database's clock (Now), read under the
// lock.
type state = db.LockAuctionRow

// over reports whether the auction accepts no more bids, even if it isn't settled
// yet. A bid at EndsAt is too late.
func over(a state) bool { return a.Status != Live || !a.Now.Before(a.EndsAt) }

// minBid is the minimum of the next bid in cents; topCents is nil without a bid.
func minBid(startingCents, incrementCents int64, topCents *int64) int64 {
	if topCents == nil {
		return startingCents
	}
	return *topCents + incrementCents
}

// checkBid refuses a bid that is too late or too low; too late takes precedence.
func checkBid(a state, amountCents int64) error {
	if over(a) {
		return problem.New(problem.Invalid, "auction_ended", "auction has ended")
	}
	if least := minBid(a.StartingBidCents, a.BidIncrementCents, a.TopBidCents); amountCents < least {
		return problem.New(problem.Invalid, "bid_too_low", "min bid is %d cents", least)
	}
	return nil
}

// withTopBid is the auction with a new top bid. A bid in the last antiSnipeSec seconds
// moves the end by antiSnipeSec seconds.
func withTopBid(a state, bidID string, amountCents int64) state {
	a.TopBidID, a.TopBidCents = &bidID, &amountCents
	if snipe := time.Duration(a.AntiSnipeSec) * time.Second; a.EndsAt.Sub(a.Now) <= snipe {
		a.EndsAt = a.EndsAt.Add(snipe)
	}
	return a
}

// hasWinner reports whether the auction has a winner: there is a bid, and it reaches the
// reserve price.
func hasWinner(a state) bool {
	return a.TopBidCents != nil && (a.ReservePriceCents == nil || *a.TopBidCents >= *a.ReservePriceCents)
}

// checkCancel refuses to cancel an auction that has a bid or is over. The caller
// handles an auction that is cancelled already.
func checkCancel(a state) error {
	switch {
	case over(a):
		return problem.Conflicting("the auction is over")
	case a.TopBidID != nil:
		return problem.Conflicting("there is a bid already")
	}
	return nil
}
