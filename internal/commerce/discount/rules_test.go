package discount

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

func TestUsable(t *testing.T) {
	t.Parallel()
	now := time.Now()
	here, there := "str_here", "str_there"
	for name, c := range map[string]struct {
		d    db.Discount
		at   *string
		want Refusal
	}{
		"nothing in the way":        {db.Discount{}, &here, none},
		"from its first instant":    {db.Discount{StartsAt: &now}, &here, none},
		"before it":                 {db.Discount{StartsAt: new(now.Add(1))}, &here, NotStarted},
		"to its last instant":       {db.Discount{EndsAt: new(now.Add(1))}, &here, none},
		"not at its end":            {db.Discount{EndsAt: &now}, &here, Expired},
		"in its stream":             {db.Discount{StreamID: &here}, &here, none},
		"in another":                {db.Discount{StreamID: &here}, &there, OtherStream},
		"in none":                   {db.Discount{StreamID: &here}, new(outside), inStreamOnly},
		"for all, in none":          {db.Discount{}, new(outside), none},
		"wherever":                  {db.Discount{StreamID: &here}, nil, none},
		"one left":                  {db.Discount{MaxRedemptions: new(int32(3)), Redemptions: 1, Held: 1}, nil, none},
		"none left but held ones":   {db.Discount{MaxRedemptions: new(int32(3)), Redemptions: 1, Held: 2}, nil, UsedUp},
		"more than may be":          {db.Discount{MaxRedemptions: new(int32(3)), Redemptions: 4}, nil, UsedUp},
		"counts don't run over":     {db.Discount{MaxRedemptions: new(int32(math.MaxInt32)), Redemptions: math.MaxInt32, Held: math.MaxInt32}, nil, UsedUp},
		"without a limit":           {db.Discount{Redemptions: math.MaxInt32, Held: math.MaxInt32}, nil, none},
		"switched off before all":   {db.Discount{EndsAt: &now, StreamID: &here}, &there, Inactive},
		"over before used up there": {db.Discount{EndsAt: &now, StreamID: &here, MaxRedemptions: new(int32(1)), Held: 1}, &there, Expired},
	} {
		c.d.Active = c.want != Inactive
		require.Equal(t, c.want, usable(c.d, now, c.at), name)
	}
	require.Equal(t, none, usableBy(db.Discount{}, math.MaxInt64))
	require.Equal(t, none, usableBy(db.Discount{MaxPerCustomer: new(int32(2))}, 1))
	require.Equal(t, UsedUpByCustomer, usableBy(db.Discount{MaxPerCustomer: new(int32(2))}, 2))
}

func TestOff(t *testing.T) {
	t.Parallel()
	percent := func(n int32) db.Discount { return db.Discount{PercentOff: &n} }
	amount := func(n int64) db.Discount { return db.Discount{AmountOffCents: &n} }
	for _, c := range []struct {
		d              db.Discount
		subtotal, want int64
	}{
		{percent(20), 0, 0},
		{percent(20), 1999, 400}, // 399.8
		{percent(10), 1004, 100}, // 100.4
		{percent(10), 1005, 101}, // 100.5
		{percent(1), 49, 0},
		{percent(1), 50, 1},
		{percent(50), 1, 1},
		{percent(100), 1, 1},
		{percent(100), math.MaxInt64, math.MaxInt64},
		{percent(99), math.MaxInt64, math.MaxInt64/100*99 + 7},
		{amount(500), 1999, 500},
		{amount(500), 500, 500},
		{amount(500), 499, 499},
		{amount(500), 0, 0},
	} {
		require.Equal(t, c.want, off(c.d, c.subtotal), "%v of %d", c.d, c.subtotal)
	}
	for p := range int32(101) {
		for _, subtotal := range []int64{1, 2, 99, 100, 101, 12345} {
			got := off(percent(p), subtotal)
			require.LessOrEqual(t, got, subtotal)
			require.Equal(t, (subtotal*int64(p)*2+100)/200, got)
		}
	}
}

func TestEveryRefusalHasASentence(t *testing.T) {
	t.Parallel()
	require.NoError(t, none.problem())
	said := map[string]bool{}
	for _, r := range []Refusal{Unknown, Inactive, NotStarted, Expired, OtherStream, UsedUp, UsedUpByCustomer} {
		p, ok := problem.As(r.problem())
		require.True(t, ok)
		require.Equal(t, "discount_invalid", p.Code)
		require.NotEmpty(t, p.Message, r)
		require.False(t, said[p.Message], r)
		said[p.Message] = true
	}
}
