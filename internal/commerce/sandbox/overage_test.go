package sandbox_test

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/processor"
	"showfloor/internal/commerce/sandbox"
)

// usage has what the tests of overage need: the platform's client, a customer with a running plan, and a price of a meter.
type usage struct {
	*rig

	client                                *processor.Client
	customer, planID, meter, price, extra string
}

// startUsage opens a sandbox at a time with a customer who has a plan, charged to a card.
func startUsage(t *testing.T, r *rig, card string) usage {
	t.Helper()
	u := usage{rig: r, client: processor.New(processor.Config{Key: key, URL: sandbox.APIURL(r.url)}), customer: r.customer(t, sandbox.CardPays)}
	u.planID = r.subscribe(t, u.customer, r.plan(t, r.product(t, "Pro"), 1000, "month").ID, nil).ID
	if card != sandbox.CardPays {
		_, err := r.UseCard(u.customer, card)
		require.NoError(t, err)
	}
	var err error
	u.meter, err = u.client.EnsureMeter(t.Context(), "EGRESS_BYTES")
	require.NoError(t, err)
	u.price, err = u.client.EnsureOveragePrice(t.Context(), "EGRESS_BYTES", u.meter, "usd")
	require.NoError(t, err)
	stored, err := u.client.EnsureMeter(t.Context(), "STORAGE_BYTES")
	require.NoError(t, err)
	u.extra, err = u.client.EnsureOveragePrice(t.Context(), "STORAGE_BYTES", stored, "usd")
	require.NoError(t, err)
	return u
}

// create creates the customer's overage subscription; change changes what is asked for.
func (u usage) create(t *testing.T, end time.Time, change func(n *processor.NewOverage)) processor.OverageSubscription {
	t.Helper()
	n := processor.NewOverage{
		Key: "overage-1", CustomerID: u.customer, TenantID: "ten_1", PriceIDs: []string{u.price}, FirstPeriodEnd: end,
	}
	if change != nil {
		change(&n)
	}
	id, err := u.client.CreateOverageSubscription(t.Context(), n)
	require.NoError(t, err)
	again, err := u.client.CreateOverageSubscription(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, id, again, "a repeated call creates no second subscription")
	got := u.read(t)
	require.Equal(t, id, got.ID)
	return got
}

// read returns the customer's newest overage subscription.
func (u usage) read(t *testing.T) processor.OverageSubscription {
	t.Helper()
	state, err := u.client.ReadCustomer(t.Context(), u.customer)
	require.NoError(t, err)
	require.NotEmpty(t, state.Overage)
	for _, i := range state.Invoices {
		require.Equal(t, i.SubscriptionID != u.planID, i.Overage)
	}
	require.Equal(t, u.planID, state.Subscriptions[0].ID)
	require.Len(t, state.Subscriptions, 1)
	return state.Overage[0]
}

// report reports overage of egress now or at another time.
func (u usage) report(t *testing.T, id string, cents int64, at time.Time) {
	t.Helper()
	require.NoError(t, u.send(t, id, "EGRESS_BYTES", cents, at))
}

func (u usage) send(t *testing.T, id, meter string, cents int64, at time.Time) error {
	t.Helper()
	return u.client.ReportOverage(t.Context(), processor.OverageReport{
		ID: id, Meter: meter, CustomerID: u.customer, Cents: cents, At: at,
	})
}

// sum returns the customer's overage of egress in a period.
func (u usage) sum(t *testing.T, from, until time.Time) int64 {
	t.Helper()
	cents, err := u.client.SumOverage(t.Context(), u.meter, u.customer, from, until)
	require.NoError(t, err)
	return cents
}

func TestOverageIsBilledByTheMonth(t *testing.T) {
	t.Parallel()
	u := startUsage(t, startAt(t, "2027-03-10T08:00:00Z"), sandbox.CardPays)
	end := u.Now().AddDate(0, 0, 10)
	sub := u.create(t, end, nil)
	require.Equal(t, "active", sub.Status)
	require.Equal(t, []string{u.price}, sub.PriceIDs)
	require.Equal(t, end.UTC(), sub.PeriodEnd)
	first := u.latest(t, sub.ID)
	require.Equal(t, sandbox.Paid, first.Status)
	require.Zero(t, first.TotalCents)

	u.report(t, "a", 100, u.Now())
	u.report(t, "a", 100, u.Now())
	require.NoError(t, u.AdvanceTo(end))
	draft := u.latest(t, sub.ID)
	require.Equal(t, sandbox.Draft, draft.Status)
	u.report(t, "late", 20, end.Add(-time.Second))
	u.report(t, "next", 7, end)
	require.Equal(t, int64(120), u.sum(t, end.AddDate(0, 0, -10), end))
	require.NoError(t, u.Advance(time.Hour))
	paid, known := u.Invoice(draft.ID)
	require.True(t, known)
	require.Equal(t, sandbox.Paid, paid.Status)
	require.Equal(t, int64(120), paid.PaidCents)
	require.Contains(t, paid.Lines[0].Description, "Egress above the included usage")

	sub = u.read(t)
	require.Equal(t, monthsLater(end, 1), sub.PeriodEnd)
	u.report(t, "a", 100, u.Now()) // the identifier is free again after a day
	require.NoError(t, u.AdvanceTo(sub.PeriodEnd.Add(time.Hour)))
	require.Equal(t, int64(107), u.latest(t, sub.ID).PaidCents)
}

func TestAnAnchorIsAtMostAMonthAhead(t *testing.T) {
	t.Parallel()
	u := startUsage(t, startAt(t, "2027-02-28T12:00:00Z"), sandbox.CardPays)
	var refusal *processor.Refusal
	n := processor.NewOverage{Key: "far", CustomerID: u.customer, TenantID: "ten_1", PriceIDs: []string{u.price}}
	for key, end := range map[string]time.Time{
		"far": time.Date(2027, 3, 31, 11, 0, 0, 0, time.UTC), "now": u.Now(), "unsent": u.Now().Add(-time.Hour),
	} {
		n.Key, n.FirstPeriodEnd = key, end
		_, err := u.client.CreateOverageSubscription(t.Context(), n)
		require.ErrorAs(t, err, &refusal, key)
	}
	sub := u.create(t, time.Date(2027, 3, 31, 11, 0, 0, 0, time.UTC), func(n *processor.NewOverage) { n.AnchorDay = 31 })
	require.Equal(t, time.Date(2027, 3, 31, 11, 0, 0, 0, time.UTC), sub.PeriodEnd)
	for _, day := range []int{30, 31, 30} { // April, May, June
		require.NoError(t, u.AdvanceTo(sub.PeriodEnd))
		sub = u.read(t)
		require.Equal(t, day, sub.PeriodEnd.Day())
		require.Equal(t, 11, sub.PeriodEnd.Hour())
	}
}

func TestAnAnchorBillsLicensedPricesWithItsPeriod(t *testing.T) {
	t.Parallel()
	r := startAt(t, "2027-03-10T08:00:00Z")
	price := r.plan(t, r.product(t, "Pro"), 2000, "month")
	asked := &stripe.SubscriptionParams{
		Customer: new(r.customer(t, sandbox.CardPays)), Items: []*stripe.SubscriptionItemsParams{{Price: new(price.ID)}},
		BillingCycleAnchor: new(r.Now().AddDate(0, 0, 5).Unix()),
	}
	_, err := r.api.Subscriptions.New(asked)
	refused(t, err, 400, "")
	asked.ProrationBehavior = new("none")
	sub, err := r.api.Subscriptions.New(asked)
	require.NoError(t, err)
	require.Zero(t, r.latest(t, sub.ID).TotalCents)
	require.NoError(t, r.AdvanceTo(time.Unix(sub.CurrentPeriodEnd, 0)))
	require.Equal(t, int64(2000), r.latest(t, sub.ID).PaidCents)
}

// TestAnAddedPriceBillsLaterUsage: the processor documents that an item that is added within a period bills only the usage after that.
func TestAnAddedPriceBillsLaterUsage(t *testing.T) {
	t.Parallel()
	u := startUsage(t, startAt(t, "2027-03-10T08:00:00Z"), sandbox.CardPays)
	end := u.Now().AddDate(0, 0, 10)
	sub := u.create(t, end, nil)
	require.NoError(t, u.send(t, "before", "STORAGE_BYTES", 1000, u.Now()))
	require.NoError(t, u.Advance(time.Hour))
	require.NoError(t, u.client.AddOveragePrice(t.Context(), sub, u.extra))
	require.NoError(t, u.client.AddOveragePrice(t.Context(), sub, u.extra), "the state is an old one")
	sub = u.read(t)
	require.Equal(t, []string{u.price, u.extra}, sub.PriceIDs)
	require.NoError(t, u.client.AddOveragePrice(t.Context(), sub, u.extra))
	require.NoError(t, u.send(t, "after", "STORAGE_BYTES", 200, u.Now()))
	u.report(t, "egress", 70, u.Now())
	require.NoError(t, u.AdvanceTo(end.Add(time.Hour)))
	require.Equal(t, int64(270), u.latest(t, sub.ID).PaidCents)
	require.NoError(t, u.send(t, "next", "STORAGE_BYTES", 60, end))
	require.NoError(t, u.AdvanceTo(end.AddDate(0, 1, 0).Add(time.Hour)))
	require.Equal(t, int64(60), u.latest(t, sub.ID).PaidCents)
}

func TestOverageThatIsNotPaid(t *testing.T) {
	t.Parallel()
	u := startUsage(t, startAt(t, "2027-03-10T08:00:00Z"), "4000000000000341")
	end := u.Now().AddDate(0, 0, 10)
	sub := u.create(t, end, nil)
	require.Equal(t, "active", sub.Status, "the first invoice is of 0")
	u.report(t, "a", 500, u.Now())
	require.NoError(t, u.AdvanceTo(end.Add(time.Hour)))
	sub = u.read(t)
	require.Equal(t, "past_due", sub.Status)
	require.NotEmpty(t, sub.PaymentURL)
	require.NoError(t, u.Advance(16*24*time.Hour))
	require.Equal(t, "unpaid", u.read(t).Status)
	_, err := u.PayInvoice(u.latest(t, sub.ID).ID)
	require.NoError(t, err)
	require.Equal(t, "active", u.read(t).Status)
}

func TestOverageFollowsThePaymentOfThePlan(t *testing.T) {
	t.Parallel()
	u := startUsage(t, startAt(t, "2027-03-10T08:00:00Z"), sandbox.CardPays)
	card, err := u.UseCard(u.customer, sandbox.CardPays)
	require.NoError(t, err)
	end := u.Now().AddDate(0, 0, 10)
	sub := u.create(t, end, func(n *processor.NewOverage) { n.PaymentMethodID = card.ID })
	require.Equal(t, card.ID, sub.PaymentMethodID)
	require.NoError(t, u.client.FollowPayment(t.Context(), sub.ID, processor.Subscription{ByInvoice: true, DaysUntilDue: 14}))
	sub = u.read(t)
	require.True(t, sub.ByInvoice)
	require.Equal(t, 14, sub.DaysUntilDue)
	require.Empty(t, sub.PaymentMethodID)
	u.report(t, "a", 500, u.Now())
	require.NoError(t, u.AdvanceTo(end.Add(time.Hour)))
	i := u.latest(t, sub.ID)
	require.Equal(t, sandbox.StatusOpen, i.Status)
	require.Equal(t, i.FinalizedAt+14*24*3600, i.DueDate)
	require.NoError(t, u.client.FollowPayment(t.Context(), sub.ID, processor.Subscription{PaymentMethodID: card.ID}))
	sub = u.read(t)
	require.False(t, sub.ByInvoice)
	require.Zero(t, sub.DaysUntilDue)
	require.Equal(t, card.ID, sub.PaymentMethodID)
}

func TestTheEndOfOverageBillsItsUsage(t *testing.T) {
	t.Parallel()
	u := startUsage(t, startAt(t, "2027-03-10T08:00:00Z"), sandbox.CardPays)
	sub := u.create(t, u.Now().AddDate(0, 0, 10), nil)
	u.report(t, "a", 500, u.Now().Add(-time.Hour)) // before the subscription
	u.report(t, "b", 70, u.Now())
	u.LoseAnswers(1, "/v1/subscriptions/")
	require.Error(t, u.client.EndOverageSubscription(t.Context(), sub.ID))
	require.NoError(t, u.client.EndOverageSubscription(t.Context(), sub.ID))
	require.Equal(t, int64(70), u.latest(t, sub.ID).PaidCents)
	sub = u.read(t)
	require.Equal(t, "canceled", sub.Status)
	require.Equal(t, u.Now().UTC(), sub.EndedAt)
	var refusal *processor.Refusal
	require.ErrorAs(t, u.client.EndOverageSubscription(t.Context(), "sub_unknown"), &refusal)
}

// TestUsageIsProcessedLater: a report is answered before it is in sums and invoices.
func TestUsageIsProcessedLater(t *testing.T) {
	t.Parallel()
	u := startUsage(t, startAt(t, "2027-03-10T08:00:00Z"), sandbox.CardPays)
	from, end := u.Now(), u.Now().AddDate(0, 0, 10)
	sub := u.create(t, end, nil)
	u.DelayUsage(10 * time.Minute)
	u.report(t, "a", 100, u.Now())
	require.Zero(t, u.sum(t, from, end))
	u.advance(5 * time.Minute)
	require.NoError(t, u.Advance(5*time.Minute))
	require.Equal(t, int64(100), u.sum(t, from, end))
	u.report(t, "b", 7, u.Now())
	u.DelayUsage(0)
	require.NoError(t, u.client.EndOverageSubscription(t.Context(), sub.ID))
	require.Equal(t, int64(100), u.latest(t, sub.ID).PaidCents, "the invoice lacks what isn't processed yet")
}

// TestTheProcessorRefusesUsage requires the documented codes.
func TestTheProcessorRefusesUsage(t *testing.T) {
	t.Parallel()
	u := startUsage(t, startAt(t, "2027-03-10T08:00:00Z"), sandbox.CardPays)
	var refusal *processor.Refusal
	require.ErrorAs(t, u.send(t, "old", "EGRESS_BYTES", 1, u.Now().AddDate(0, 0, -36)), &refusal)
	require.Equal(t, "timestamp_too_far_in_past", refusal.Code)
	require.ErrorAs(t, u.send(t, "early", "EGRESS_BYTES", 1, u.Now().Add(6*time.Minute)), &refusal)
	require.Equal(t, "timestamp_in_future", refusal.Code)
	require.ErrorAs(t, u.send(t, "unmetered", "INGRESS_BYTES", 1, u.Now()), &refusal)
	elsewhere := u
	elsewhere.customer = "cus_elsewhere"
	require.ErrorAs(t, elsewhere.send(t, "foreign", "EGRESS_BYTES", 1, u.Now()), &refusal)
	require.Equal(t, "meter_event_customer_not_found", refusal.Code)
	_, err := u.client.SumOverage(t.Context(), u.meter, "cus_elsewhere", u.Now(), u.Now().Add(time.Hour))
	require.ErrorAs(t, err, &refusal)
}

// TestAnotherAccountsCustomer is refused, and isn't a customer without subscriptions.
func TestAnotherAccountsCustomer(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	client := processor.New(processor.Config{Key: key, URL: sandbox.APIURL(r.url)})
	state, err := client.ReadCustomer(t.Context(), "cus_elsewhere")
	var refusal *processor.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "resource_missing", refusal.Code)
	require.Empty(t, state)
	for _, path := range []string{"cus_elsewhere", ""} {
		list := r.api.Invoices.List(&stripe.InvoiceListParams{Customer: new(path)})
		require.False(t, list.Next())
		var said *stripe.Error
		require.ErrorAs(t, list.Err(), &said)
		require.Equal(t, "customer", said.Param)
	}
	state, err = client.ReadCustomer(t.Context(), r.customer(t, ""))
	require.NoError(t, err)
	require.True(t, state.Complete)
	require.Empty(t, state.Subscriptions)
}

// TestMetersAndPricesAreMadeOnce also after a lost answer and for an archived price.
func TestMetersAndPricesAreMadeOnce(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	client := processor.New(processor.Config{Key: key, URL: sandbox.APIURL(r.url)})
	r.LoseAnswerBehind("/v1/billing/meters", 1)
	_, err := client.EnsureMeter(t.Context(), "EGRESS_BYTES")
	require.Error(t, err)
	meter, err := client.EnsureMeter(t.Context(), "EGRESS_BYTES")
	require.NoError(t, err)
	again, err := client.EnsureMeter(t.Context(), "EGRESS_BYTES")
	require.NoError(t, err)
	require.Equal(t, meter, again)
	r.LoseAnswerBehind("/v1/prices", 1)
	_, err = client.EnsureOveragePrice(t.Context(), "EGRESS_BYTES", meter, "usd")
	require.Error(t, err)
	prices := map[string]bool{}
	for range 2 {
		price, err := client.EnsureOveragePrice(t.Context(), "EGRESS_BYTES", meter, "usd")
		require.NoError(t, err)
		prices[price] = true
	}
	require.Len(t, prices, 1)
	for price := range prices {
		_, err = r.api.Prices.Update(price, &stripe.PriceParams{Active: new(false)})
		require.NoError(t, err)
		next, err := client.EnsureOveragePrice(t.Context(), "EGRESS_BYTES", meter, "usd")
		require.NoError(t, err)
		require.NotEqual(t, price, next)
	}
	other, err := client.EnsureOveragePrice(t.Context(), "EGRESS_BYTES", meter, "eur")
	require.NoError(t, err)
	require.NotContains(t, prices, other)
}

// TestMetersAndPricesAreMadeOnceByMany lets processes create them at the same time.
func TestMetersAndPricesAreMadeOnceByMany(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	const many = 8
	meters, prices := make([]string, many), make([]string, many)
	var work sync.WaitGroup
	for n := range many {
		work.Go(func() {
			client := processor.New(processor.Config{Key: key, URL: sandbox.APIURL(r.url)})
			var err error
			if meters[n], err = client.EnsureMeter(t.Context(), "EGRESS_BYTES"); err == nil {
				prices[n], err = client.EnsureOveragePrice(t.Context(), "EGRESS_BYTES", meters[n], "usd")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	require.Len(t, slices.Compact(meters), 1)
	require.Len(t, slices.Compact(prices), 1)
}

// TestOverageAfterARestart reads usage, its delay and added items from the journal.
func TestOverageAfterARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sandbox")
	u := startUsage(t, start(t, func(c *sandbox.Config) { c.Dir = dir }), sandbox.CardPays)
	end := u.Now().AddDate(0, 0, 10)
	sub := u.create(t, end, nil)
	require.NoError(t, u.send(t, "before", "STORAGE_BYTES", 1000, u.Now()))
	require.NoError(t, u.Advance(time.Minute))
	require.NoError(t, u.client.AddOveragePrice(t.Context(), sub, u.extra))
	u.DelayUsage(time.Hour)
	u.report(t, "a", 100, u.Now())

	u.rig = reopen(t, dir, u.now(), "")
	u.client = processor.New(processor.Config{Key: key, URL: sandbox.APIURL(u.url)})
	require.Equal(t, []string{u.price, u.extra}, u.read(t).PriceIDs)
	require.Zero(t, u.sum(t, sub.PeriodStart, end))
	u.report(t, "a", 100, u.Now())
	require.NoError(t, u.AdvanceTo(end.Add(time.Hour)))
	require.Equal(t, int64(100), u.sum(t, sub.PeriodStart, end))
	require.Equal(t, int64(100), u.latest(t, sub.ID).PaidCents)
}
