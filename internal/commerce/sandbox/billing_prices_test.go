package sandbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
)

func TestLookupKeysMove(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	product := r.product(t, "Pro")
	add := func(cents int64, transfer bool) (*stripe.Price, error) {
		return r.api.Prices.New(&stripe.PriceParams{
			Product: new(product), Currency: new("eur"), UnitAmount: new(cents), LookupKey: new("pro_month"), TransferLookupKey: new(transfer),
			Recurring: &stripe.PriceRecurringParams{Interval: new("month")},
		})
	}
	first, err := add(1000, false)
	require.NoError(t, err)
	_, err = add(1200, false)
	refused(t, err, 400, "")
	second, err := add(1200, true)
	require.NoError(t, err)
	list := r.api.Prices.List(&stripe.PriceListParams{LookupKeys: []*string{new("pro_month")}})
	require.True(t, list.Next())
	require.Equal(t, second.ID, list.Price().ID)
	require.False(t, list.Next())
	_, err = r.api.Prices.Update(first.ID, &stripe.PriceParams{Active: new(false)})
	require.NoError(t, err)
	_, err = r.api.Subscriptions.New(&stripe.SubscriptionParams{
		Customer: new(r.customer(t, sandbox.CardPays)), Items: []*stripe.SubscriptionItemsParams{{Price: new(first.ID)}},
	})
	refused(t, err, 400, "")
	_, err = r.api.Prices.New(&stripe.PriceParams{
		Product: new(product), Currency: new("eur"), UnitAmount: new(int64(1)), Recurring: &stripe.PriceRecurringParams{Interval: new("fortnight")},
	})
	refused(t, err, 400, "")
}

func TestPackagesAndDecimals(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	product := r.product(t, "Minutes")
	packages, err := r.api.Prices.New(&stripe.PriceParams{
		Product: new(product), Currency: new("usd"), UnitAmount: new(int64(500)), Recurring: &stripe.PriceRecurringParams{Interval: new("month")},
		TransformQuantity: &stripe.PriceTransformQuantityParams{DivideBy: new(int64(100)), Round: new("up")},
	})
	require.NoError(t, err)
	decimal, err := r.api.Prices.New(&stripe.PriceParams{
		Product: new(product), Currency: new("usd"), UnitAmountDecimal: new(0.25), Recurring: &stripe.PriceRecurringParams{Interval: new("month")},
	})
	require.NoError(t, err)
	require.InDelta(t, 0.25, decimal.UnitAmountDecimal, 0)
	sub := r.subscribe(t, r.customer(t, sandbox.CardPays), packages.ID, func(p *stripe.SubscriptionParams) {
		p.Items[0].Quantity = new(int64(101))
		p.Items = append(p.Items, &stripe.SubscriptionItemsParams{Price: new(decimal.ID), Quantity: new(int64(450))})
	})
	require.Equal(t, int64(1000+113), r.latest(t, sub.ID).PaidCents)
}

func TestTaxAndDiscounts(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	price := r.plan(t, r.product(t, "Pro"), 10000, "month")
	customer := r.customer(t, sandbox.CardPays)
	taxed := func() (*stripe.Subscription, error) {
		return r.api.Subscriptions.New(&stripe.SubscriptionParams{
			Customer: new(customer), Items: []*stripe.SubscriptionItemsParams{{Price: new(price.ID)}},
			AutomaticTax: &stripe.SubscriptionAutomaticTaxParams{Enabled: new(true)},
		})
	}
	_, err := taxed()
	refused(t, err, 400, "customer_tax_location_invalid")
	_, err = r.api.Customers.Update(customer, &stripe.CustomerParams{Address: &stripe.AddressParams{Country: new("DE")}})
	require.NoError(t, err)
	sub, err := taxed()
	require.NoError(t, err)
	i, err := r.api.Invoices.Get(sub.LatestInvoice.ID, nil)
	require.NoError(t, err)
	require.Equal(t, int64(1900), i.Tax)
	require.Equal(t, int64(11900), i.Total)
	require.Equal(t, int64(1900), i.TotalTaxAmounts[0].Amount)

	coupon, err := r.api.Coupons.New(&stripe.CouponParams{PercentOff: new(50.0), Duration: new("repeating"), DurationInMonths: new(int64(2))})
	require.NoError(t, err)
	code, err := r.api.PromotionCodes.New(&stripe.PromotionCodeParams{Coupon: new(coupon.ID), Code: new("HALF")})
	require.NoError(t, err)
	sub = r.subscribe(t, customer, price.ID, func(p *stripe.SubscriptionParams) { p.PromotionCode = new(code.ID) })
	var paid []int64
	for range 3 {
		paid = append(paid, r.latest(t, sub.ID).PaidCents)
		require.NoError(t, r.AdvanceTo(time.Unix(r.subscription(t, sub.ID).PeriodEnd, 0)))
	}
	require.Equal(t, []int64{5000, 5000, 10000}, paid)
}

func TestMetersBillTheClosedPeriod(t *testing.T) {
	t.Parallel()
	r := startAt(t, "2027-03-01T00:00:00Z")
	meter, err := r.api.BillingMeters.New(&stripe.BillingMeterParams{
		DisplayName: new("Minutes"), EventName: new("minutes"),
		DefaultAggregation: &stripe.BillingMeterDefaultAggregationParams{Formula: new("sum")},
	})
	require.NoError(t, err)
	product := r.product(t, "Minutes")
	usage, err := r.api.Prices.New(&stripe.PriceParams{
		Product: new(product), Currency: new("usd"), UnitAmount: new(int64(2)),
		Recurring: &stripe.PriceRecurringParams{Interval: new("month"), UsageType: new("metered"), Meter: new(meter.ID)},
	})
	require.NoError(t, err)
	customer := r.customer(t, sandbox.CardPays)
	sub := r.subscribe(t, customer, r.plan(t, r.product(t, "Pro"), 1000, "month").ID, func(p *stripe.SubscriptionParams) {
		p.Items = append(p.Items, &stripe.SubscriptionItemsParams{Price: new(usage.ID)})
	})
	require.Equal(t, int64(1000), r.latest(t, sub.ID).PaidCents)
	use := func(id, value string, at time.Time) error {
		_, err := r.api.BillingMeterEvents.New(&stripe.BillingMeterEventParams{
			EventName: new("minutes"), Identifier: new(id), Timestamp: new(at.Unix()),
			Payload: map[string]string{"stripe_customer_id": customer, "value": value},
		})
		return err
	}
	require.NoError(t, use("a", "100", r.Now()))
	require.Contains(t, refused(t, use("a", "100", r.Now()), 400, "").Msg, "An event already exists with identifier a")
	refused(t, use("b", "1", r.Now().Add(6*time.Minute)), 400, "timestamp_in_future")
	refused(t, use("b", "1", r.Now().Add(-36*24*time.Hour)), 400, "timestamp_too_far_in_past")
	refused(t, use("b", "much", r.Now()), 400, "meter_event_invalid_value")
	end := time.Unix(sub.CurrentPeriodEnd, 0)
	require.NoError(t, r.AdvanceTo(end))
	require.Equal(t, sandbox.Draft, r.latest(t, sub.ID).Status)
	require.NoError(t, use("b", "50", end.Add(-time.Second)), "until the draft is finalized, the old period counts")
	require.NoError(t, use("c", "7", end))
	require.NoError(t, r.Advance(time.Hour))
	i := r.latest(t, sub.ID)
	require.Equal(t, sandbox.Paid, i.Status)
	require.Equal(t, int64(150), i.Lines[0].Quantity)
	require.Equal(t, int64(1000+300), i.PaidCents)
	dearer, err := r.api.Prices.New(&stripe.PriceParams{
		Product: new(product), Currency: new("usd"), UnitAmount: new(int64(5)),
		Recurring: &stripe.PriceRecurringParams{Interval: new("month"), UsageType: new("metered"), Meter: new(meter.ID)},
	})
	require.NoError(t, err)
	sched, err := r.api.SubscriptionSchedules.New(&stripe.SubscriptionScheduleParams{FromSubscription: new(sub.ID)})
	require.NoError(t, err)
	first := sched.Phases[0]
	phase := func(usage string, end int64) *stripe.SubscriptionSchedulePhaseParams {
		p := &stripe.SubscriptionSchedulePhaseParams{Items: []*stripe.SubscriptionSchedulePhaseItemParams{
			{Price: new(first.Items[0].Price.ID), Quantity: new(int64(1))}, {Price: new(usage)},
		}}
		if end > 0 {
			p.StartDate, p.EndDate = new(first.StartDate), new(end)
		}
		return p
	}
	_, err = r.api.SubscriptionSchedules.Update(sched.ID, &stripe.SubscriptionScheduleParams{
		Phases: []*stripe.SubscriptionSchedulePhaseParams{phase(usage.ID, first.EndDate), phase(dearer.ID, 0)},
	})
	require.NoError(t, err)
	require.NoError(t, r.AdvanceTo(time.Unix(first.EndDate+3600, 0)))
	require.Equal(t, int64(1000+2*7), r.latest(t, sub.ID).PaidCents, "the closed period has the price of its own phase")
	require.Equal(t, dearer.ID, r.subscription(t, sub.ID).Items[1].PriceID)
	list := r.api.BillingMeterEventSummaries.List(&stripe.BillingMeterEventSummaryListParams{
		ID: new(meter.ID), Customer: new(customer), StartTime: new(sub.CurrentPeriodStart), EndTime: new(end.Unix() + 24*3600), ValueGroupingWindow: new("day"),
	})
	var sums []float64
	for list.Next() {
		sums = append(sums, list.BillingMeterEventSummary().AggregatedValue)
	}
	require.Equal(t, []float64{7, 50, 100}, sums)
}
