package auction

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestABidIsInTimeUntilTheEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	const ended, low = "auction has ended", "min bid is 1000 cents"
	for name, c := range map[string]struct {
		status string
		left   time.Duration
		amount int64
		want   string
	}{
		"long before":                 {Live, time.Hour, 1000, ""},
		"a millisecond before":        {Live, time.Millisecond, 1000, ""},
		"a microsecond before":        {Live, time.Microsecond, 1000, ""},
		"at the end":                  {Live, 0, 1000, ended},
		"a millisecond after":         {Live, -time.Millisecond, 1000, ended},
		"it was not settled for long": {Live, -time.Hour, 1000, ended},
		"ended":                       {Ended, time.Hour, 1000, ended},
		"settled":                     {"SETTLED", time.Hour, 1000, ended},
		"cancelled":                   {Cancelled, time.Hour, 1000, ended},
		"too low":                     {Live, time.Millisecond, 999, low},
		"too low and too late":        {Live, 0, 999, ended},
	} {
		a := state{Status: c.status, Now: now, EndsAt: now.Add(c.left), StartingBidCents: 1000, BidIncrementCents: 100}
		err := checkBid(a, c.amount)
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, c.want, name)
	}
}

func TestMinBid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		start, increment int64
		top              *int64
		want             int64
	}{
		{1000, 100, nil, 1000},
		{0, 1, nil, 0},
		{0, 1, new(int64(0)), 1}, // a bid of 0 counts as a bid
		{1000, 100, new(int64(1000)), 1100},
		{1000, 1, new(int64(5000)), 5001},
		{1000, 100, new(int64(99_999_999)), 100_000_099}, // above the maximum of the API
	} {
		require.Equal(t, c.want, minBid(c.start, c.increment, c.top))
	}
}

func TestALateBidMovesTheEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		snipe      int32
		left, want time.Duration
	}{
		"never without":            {0, time.Millisecond, time.Millisecond},
		"before the last seconds":  {10, 10*time.Second + time.Millisecond, 10*time.Second + time.Millisecond},
		"at the last seconds":      {10, 10 * time.Second, 20 * time.Second},
		"in the last seconds":      {10, 3 * time.Second, 13 * time.Second},
		"in the last millisecond":  {10, time.Millisecond, 10*time.Second + time.Millisecond},
		"longer than the auction":  {3600, time.Second, time.Hour + time.Second},
		"the last one of a second": {1, time.Second, 2 * time.Second},
	} {
		a := withTopBid(state{AntiSnipeSec: c.snipe, Now: now, EndsAt: now.Add(c.left)}, "bid_x", 1200)
		require.Equal(t, c.want, a.EndsAt.Sub(now), name)
		require.Equal(t, "bid_x", *a.TopBidID, name)
		require.Equal(t, int64(1200), *a.TopBidCents, name)
		if c.left > 0 && c.want != c.left { // after the move, another bid at the same instant is not late
			require.Equal(t, a.EndsAt, withTopBid(a, "bid_y", 1300).EndsAt, name)
		}
	}
}

func TestTheWinnerOfAnAuction(t *testing.T) {
	t.Parallel()
	cents := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		top, reserve *int64
		want         bool
	}{
		"no bid":                   {nil, nil, false},
		"no bid and a reserve":     {nil, cents(0), false},
		"no reserve":               {cents(0), nil, true},
		"below the reserve":        {cents(2499), cents(2500), false},
		"the reserve exactly":      {cents(2500), cents(2500), true},
		"above the reserve":        {cents(2501), cents(2500), true},
		"a reserve that is no bar": {cents(0), cents(0), true},
	} {
		require.Equal(t, c.want, hasWinner(state{TopBidCents: c.top, ReservePriceCents: c.reserve}), name)
	}
}

func TestMayCancel(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		a    state
		want string
	}{
		"no bid":         {state{Status: Live, EndsAt: now.Add(1)}, ""},
		"a bid":          {state{Status: Live, EndsAt: now.Add(1), TopBidID: new("bid_x")}, "there is a bid already"},
		"at the end":     {state{Status: Live, EndsAt: now}, "the auction is over"},
		"ended":          {state{Status: Ended, EndsAt: now.Add(1)}, "the auction is over"},
		"over with bids": {state{Status: Live, EndsAt: now, TopBidID: new("bid_x")}, "the auction is over"},
	} {
		c.a.Now = now
		err := checkCancel(c.a)
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, c.want, name)
	}
}
