package subscription

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/tenancy"
)

var now = time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC)

func TestGrantedPlanAndStatus(t *testing.T) {
	t.Parallel()
	grace := 7 * 24 * time.Hour
	for _, c := range []struct {
		status string
		unpaid *time.Time
		plan   string
		tenant string
		cents  int64
	}{
		{Trialing, nil, "PRO", tenancy.Trial, 0},
		{Active, nil, "PRO", tenancy.Active, 9900},
		{PastDue, nil, "PRO", tenancy.PastDue, 9900},
		{Paused, nil, "FREE", tenancy.Active, 0},
		{Canceled, nil, "FREE", tenancy.Active, 0},
		{Incomplete, nil, "FREE", tenancy.Active, 0},
		{Unpaid, new(now.Add(-grace + time.Second)), "PRO", tenancy.PastDue, 0},
		{Unpaid, new(now.Add(-grace)), "FREE", tenancy.PastDue, 0},
	} {
		s := db.Subscription{Plan: "PRO", Status: c.status, UnpaidAt: c.unpaid, BillingInterval: Month, PriceCents: 9900}
		require.Equal(t, c.plan, grantedPlan(s, grace, now), c.status)
		require.Equal(t, c.tenant, tenantStatus(s), c.status)
		require.Equal(t, c.cents, monthlyCents(s, nil, now), c.status)
	}
}

func TestRecurringRevenueIsAfterDiscounts(t *testing.T) {
	t.Parallel()
	later := now.Add(time.Second)
	for name, c := range map[string]struct {
		interval string
		price    int64
		discount *processor.Discount
		want     int64
	}{
		"none":                    {Month, 9900, nil, 9900},
		"a year":                  {Year, 99000, nil, 8250},
		"a twelfth is rounded":    {Year, 100, nil, 8},
		"percent":                 {Month, 9900, &processor.Discount{Percent: 25}, 7425},
		"percent is rounded":      {Month, 999, &processor.Discount{Percent: 12.5}, 874},
		"percent of a year":       {Year, 99000, &processor.Discount{Percent: 50}, 4125},
		"amount":                  {Month, 9900, &processor.Discount{AmountCents: 900, Currency: "usd"}, 9000},
		"amount of a year":        {Year, 99000, &processor.Discount{AmountCents: 9000, Currency: "usd"}, 7500},
		"more than the price":     {Month, 9900, &processor.Discount{AmountCents: 10000, Currency: "usd"}, 0},
		"amount in another money": {Month, 9900, &processor.Discount{AmountCents: 900, Currency: "eur"}, 9900},
		"once":                    {Month, 9900, &processor.Discount{Percent: 25, Once: true}, 9900},
		"still":                   {Month, 9900, &processor.Discount{Percent: 25, End: later}, 7425},
		"ended":                   {Month, 9900, &processor.Discount{Percent: 25, End: now}, 9900},
	} {
		s := db.Subscription{Status: Active, BillingInterval: c.interval, PriceCents: c.price, Currency: "USD"}
		require.Equal(t, c.want, monthlyCents(s, c.discount, now), name)
		s.Status = Trialing
		require.Zero(t, monthlyCents(s, c.discount, now), name)
	}
}

func TestTheCurrentSubscription(t *testing.T) {
	t.Parallel()
	list := func(statuses ...string) (all []db.Subscription) {
		for i, status := range statuses {
			all = append(all, db.Subscription{ID: string(rune('a' + i)), Status: status})
		}
		return all
	}
	require.Nil(t, current(nil))
	for want, statuses := range map[string][]string{
		"a": {Trialing, Active},
		"b": {Canceled, Active, Paused},
		"c": {Canceled, Incomplete, Paused, Canceled},
	} {
		require.Equal(t, want, current(list(statuses...)).ID, statuses)
	}
	require.Equal(t, "a", current(list(Canceled, Canceled)).ID, "the newest of those that have ended")
}

func TestUpgradesTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		plan, interval string
		toPlan, to     string
		atOnce         bool
	}{
		{"STARTER", Month, "PRO", Month, true},
		{"STARTER", Year, "PRO", Month, true},
		{"PRO", Month, "PRO", Year, true},
		{"PRO", Year, "PRO", Month, false},
		{"PRO", Month, "STARTER", Month, false},
		{"PRO", Month, "STARTER", Year, false},
	} {
		require.Equal(t, c.atOnce, takesEffectAtOnce(db.Subscription{Plan: c.plan, BillingInterval: c.interval}, c.toPlan, c.to), c)
	}
}

// TestMonthsOfAPeriod: months begin on the day of the period's end, or on the last day of a shorter month. The paid period of a monthly
// subscription is not divided, but a long trial is.
func TestMonthsOfAPeriod(t *testing.T) {
	t.Parallel()
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		require.NoError(t, err)
		return at
	}
	for _, c := range [][5]string{ // start, end, at, from, to
		{"2027-08-31", "2028-08-31", "2027-08-31", "2027-08-31", "2027-09-30"},
		{"2027-08-31", "2028-08-31", "2027-09-30", "2027-09-30", "2027-10-31"},
		{"2027-08-31", "2028-08-31", "2028-02-15", "2028-01-31", "2028-02-29"},
		{"2027-08-31", "2028-08-31", "2028-02-29", "2028-02-29", "2028-03-31"},
		{"2027-08-31", "2028-08-31", "2028-08-30", "2028-07-31", "2028-08-31"},
		{"2027-08-31", "2028-08-31", "2028-09-30", "2028-09-30", "2028-10-31"},
		{"2028-02-29", "2029-02-28", "2028-02-29", "2028-02-29", "2028-03-29"},
		{"2028-02-29", "2029-02-28", "2029-02-27", "2029-01-29", "2029-02-28"},
		{"2028-02-29", "2029-02-28", "2029-02-28", "2029-02-28", "2029-03-29"},
		{"2031-02-28", "2032-02-29", "2031-03-28", "2031-02-28", "2031-03-29"},
		{"2031-02-28", "2032-02-29", "2032-02-28", "2032-01-29", "2032-02-29"},
		{"2027-01-20", "2027-02-03", "2027-01-25", "2027-01-20", "2027-02-03"}, // a trial
		{"2027-01-10", "2028-01-10", "2026-05-01", "2027-01-10", "2027-02-10"},
		{"2027-01-10", "2027-02-10", "2027-01-31", "2027-01-10", "2027-02-10"},
		{"2027-01-10", "2027-02-10", "2027-05-01", "2027-04-10", "2027-05-10"},
		{"2027-01-10", "2027-02-10", "2026-05-01", "2027-01-10", "2027-02-10"},
		{"2027-01-31", "2027-02-28", "2027-02-27", "2027-01-31", "2027-02-28"},
		{"2027-01-31", "2027-02-28", "2027-03-29", "2027-02-28", "2027-03-31"},
		{"2027-02-28", "2027-03-31", "2027-03-27", "2027-02-28", "2027-03-31"},
		{"2027-02-28", "2027-03-31", "2027-03-29", "2027-02-28", "2027-03-31"},
		{"2027-02-28", "2027-03-31", "2027-03-31", "2027-03-31", "2027-04-30"},
		{"2028-02-29", "2028-03-30", "2028-03-29", "2028-02-29", "2028-03-30"},
		{"2027-02-28", "2027-03-29", "2027-03-28", "2027-02-28", "2027-03-29"},
		{"2027-04-30", "2027-05-31", "2027-05-30", "2027-04-30", "2027-05-31"},
		{"2027-01-10", "2027-04-20", "2027-01-15", "2027-01-10", "2027-01-20"},
		{"2027-01-10", "2027-04-20", "2027-03-25", "2027-03-20", "2027-04-20"},
	} {
		from, to := monthOf(day(c[0]), day(c[1]), day(c[2]))
		require.Equal(t, [2]time.Time{day(c[3]), day(c[4])}, [2]time.Time{from, to}, c)
	}
}

func TestStatusesOfTheProcessor(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{
		"trialing": Trialing, "active": Active, "past_due": PastDue, "paused": Paused, "canceled": Canceled,
		"incomplete": Incomplete, "incomplete_expired": Canceled, "unpaid": Unpaid, "invented_later": Incomplete,
	} {
		require.Equal(t, want, statusOf(processor.Subscription{Status: status}), status)
	}
	require.Equal(t, Paused, statusOf(processor.Subscription{Status: "active", CollectionPaused: true}))
	require.Equal(t, Canceled, statusOf(processor.Subscription{Status: "canceled", CollectionPaused: true}))
}

// TestARowIsCopiedOnce: a copy of the same state is the same row, also after it was read from the database.
func TestARowIsCopiedOnce(t *testing.T) {
	t.Parallel()
	p := processor.Subscription{
		ID: "sub_1", Status: "active", Price: processor.Price{ProductID: "prod_1", UnitCents: 100, Currency: "usd"},
		CreatedAt: now, PeriodStart: now, PeriodEnd: now.AddDate(0, 1, 0),
		Next: &processor.ScheduledChange{Plan: "STARTER", At: now.AddDate(0, 1, 0)},
	}
	first := copySubscription(nil, "ten_1", "PRO", p, now)
	read := first
	read.PeriodStart, read.PendingAt = first.PeriodStart.In(time.FixedZone("y", -3600)), new(first.PendingAt.In(time.FixedZone("x", 3600)))
	require.True(t, sameSubscription(read, copySubscription(&read, "ten_1", "PRO", p, now.Add(time.Hour))))
	p.Status = "past_due"
	require.False(t, sameSubscription(read, copySubscription(&read, "ten_1", "PRO", p, now)))
}

func TestPercent(t *testing.T) {
	t.Parallel()
	require.Zero(t, percent(0, 0))
	require.InDelta(t, 100, percent(1, 0), 0)
	require.InDelta(t, 33.3, percent(1, 3), 0.001)
	require.InDelta(t, 100, percent(5, 3), 0)
}
