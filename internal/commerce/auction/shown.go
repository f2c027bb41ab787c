package auction

import (
	"strings"

	"showfloor/gen/db"
	"showfloor/internal/base/timestamp"
)

// Shown is an auction as viewers see it: the API's ShowAuction.
type Shown struct {
	ID        string         `json:"id"`
	ProductID string         `json:"productId"`
	Currency  string         `json:"currency"`
	Status    string         `json:"status"`
	EndsAt    timestamp.Time `json:"endsAt"`
	// AntiSnipeSec is in seconds.
	AntiSnipeSec int32 `json:"antiSnipeSec"`
	// MinimumBidCents is the smallest bid that is accepted next.
	MinimumBidCents   int64 `json:"minimumBidCents"`
	BidIncrementCents int64 `json:"bidIncrementCents"`
	// The top bid; nil if there is none. The name is a short one.
	TopBidCents   *int64  `json:"topBidCents"`
	TopBidderName *string `json:"topBidderName"`
	TopBidID      *string `json:"topBidId"`
	// WinningBidID is nil without a winner.
	WinningBidID *string `json:"winningBidId"`
}

// ShownOf returns what viewers see of an auction.
func ShownOf(v View) Shown {
	a := Shown{
		ID: v.ID, ProductID: v.ProductID, Currency: strings.ToLower(v.Currency), Status: v.Status, EndsAt: timestamp.From(v.EndsAt),
		AntiSnipeSec: v.AntiSnipeSec, BidIncrementCents: v.BidIncrementCents,
		WinningBidID:    v.WinningBidID,
		MinimumBidCents: minBid(v.StartingBidCents, v.BidIncrementCents, v.TopBidCents),
	}
	if v.Top != nil {
		name := ShortName(v.Top.BidderName)
		a.TopBidCents, a.TopBidderName, a.TopBidID = &v.Top.AmountCents, &name, &v.Top.ID
	}
	return a
}

// viewOf is a locked auction after its end.
func viewOf(a state, e ending) View {
	v := View{Auction: db.Auction{
		ID: a.ID, TenantID: a.TenantID, ProductID: a.ProductID, StreamID: a.StreamID, StartingBidCents: a.StartingBidCents,
		BidIncrementCents: a.BidIncrementCents, TopBidCents: a.TopBidCents, Currency: a.Currency,
		AntiSnipeSec: a.AntiSnipeSec, EndsAt: a.EndsAt, Status: e.status,
	}, Top: e.top}
	if e.orderID != nil {
		v.WinningBidID = &e.top.ID
	}
	return v
}
