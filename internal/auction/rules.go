package auction

import (
	"time"

	"showfloor/gen/db"
	"showfloor/internal/problem"
)

// The states of an auction. An order makes it SETTLED when it is paid.
const (
	Live      = "LIVE"
	Ended     = "ENDED"
	Cancelled = "CANCELLED"
)

// state is an auction's row, locked, and the database's clock (Now) since then.
type state = db.LockAuctionRow

// over tells whether no bid is taken any more, be it that nobody has settled the
// auction yet. The end itself is too late.
func over(a state) bool { return a.Status != Live || !a.Now.Before(a.EndsAt) }

// minBid is the least that the next bid may be, in cents.
func minBid(a state) int64 {
	if a.TopBidCents == nil {
		return a.StartingBidCents
	}
	return *a.TopBidCents + a.BidIncrementCents
}

// checkBid refuses what comes too late or is too low; the first counts more.
func checkBid(a state, amountCents int64) error {
	if over(a) {
		return problem.New(problem.Invalid, "auction_ended", "auction has ended")
	}
	if least := minBid(a); amountCents < least {
		return problem.New(problem.Invalid, "bid_too_low", "min bid is %d cents", least)
	}
	return nil
}

// raised is the auction with another bid on top. A bid in the last antiSnipeSec
// seconds moves the end by as many.
func raised(a state, bidID string, amountCents int64) state {
	a.TopBidID, a.TopBidCents = &bidID, &amountCents
	if snipe := time.Duration(a.AntiSnipeSec) * time.Second; a.EndsAt.Sub(a.Now) <= snipe {
		a.EndsAt = a.EndsAt.Add(snipe)
	}
	return a
}

// won tells whether the top bid wins: there is one, and it reaches the reserve.
func won(a state) bool {
	return a.TopBidCents != nil && (a.ReservePriceCents == nil || *a.TopBidCents >= *a.ReservePriceCents)
}

// mayCancel refuses to call off what somebody has bid for or what is over. To
// cancel again is no fault, but isn't for this rule to tell.
func mayCancel(a state) error {
	switch {
	case over(a):
		return problem.Conflicting("the auction is over")
	case a.TopBidID != nil:
		return problem.Conflicting("there is a bid already")
	}
	return nil
}
