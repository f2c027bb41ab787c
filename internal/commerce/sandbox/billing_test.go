package sandbox_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
)

// product creates a product of the platform.
func (r *rig) product(t *testing.T, name string) string {
	t.Helper()
	p, err := r.api.Products.New(&stripe.ProductParams{Name: new(name)})
	require.NoError(t, err)
	return p.ID
}

// plan creates a recurring price of the platform.
func (r *rig) plan(t *testing.T, product string, cents int64, interval string) *stripe.Price {
	t.Helper()
	p, err := r.api.Prices.New(&stripe.PriceParams{
		Product: new(product), Currency: new("usd"), UnitAmount: new(cents), Recurring: &stripe.PriceRecurringParams{Interval: new(interval)},
	})
	require.NoError(t, err)
	return p
}

// customer creates a customer with a card, or without one for "".
func (r *rig) customer(t *testing.T, card string) string {
	t.Helper()
	u, err := r.api.Customers.New(&stripe.CustomerParams{Email: new("ada@example.test"), Name: new("Ada")})
	require.NoError(t, err)
	if card != "" {
		_, err = r.UseCard(u.ID, card)
		require.NoError(t, err)
	}
	return u.ID
}

// subscribe starts a subscription of one unit; change changes its parameters.
func (r *rig) subscribe(t *testing.T, customer, price string, change func(p *stripe.SubscriptionParams)) *stripe.Subscription {
	t.Helper()
	p := &stripe.SubscriptionParams{Customer: new(customer), Items: []*stripe.SubscriptionItemsParams{{Price: new(price)}}}
	if change != nil {
		change(p)
	}
	sub, err := r.api.Subscriptions.New(p)
	require.NoError(t, err)
	return sub
}

// status returns the status of a subscription.
func (r *rig) subscription(t *testing.T, id string) sandbox.Subscription {
	t.Helper()
	sub, known := r.Subscription(id)
	require.True(t, known)
	return sub
}

// latest returns the latest invoice of a subscription.
func (r *rig) latest(t *testing.T, subscription string) sandbox.Invoice {
	t.Helper()
	i, known := r.Invoice(r.subscription(t, subscription).InvoiceID)
	require.True(t, known)
	return i
}

// reports returns the types of the events since the last call of delivered or reports, without those of payments.
func (r *rig) reports(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(r.delivered(t), func(kind string) bool {
		return kind == "charge.succeeded" || kind == "charge.failed" || kind == "payment_intent.succeeded" || kind == "payment_intent.payment_failed" ||
			kind == "invoice.updated" || kind == "invoiceitem.created"
	})
}

const month = 31 * 24 * time.Hour

// startAt opens a sandbox whose clock shows a time.
func startAt(t *testing.T, at string) *rig {
	t.Helper()
	r := start(t, nil)
	begin, err := time.Parse(time.RFC3339, at)
	require.NoError(t, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = begin
	return r
}

func TestASubscriptionRenews(t *testing.T) {
	t.Parallel()
	r := startAt(t, "2027-01-31T10:00:00Z")
	price := r.plan(t, r.product(t, "Pro"), 2000, "month")
	customer := r.customer(t, sandbox.CardPays)
	r.delivered(t)
	sub := r.subscribe(t, customer, price.ID, func(p *stripe.SubscriptionParams) { p.AddExpand("latest_invoice.payment_intent") })
	require.Equal(t, stripe.SubscriptionStatusActive, sub.Status)
	require.Equal(t, stripe.InvoiceStatusPaid, sub.LatestInvoice.Status)
	require.Equal(t, int64(2000), sub.LatestInvoice.AmountPaid)
	require.Equal(t, stripe.InvoiceBillingReasonSubscriptionCreate, sub.LatestInvoice.BillingReason)
	require.Equal(t, "SB-0001-0001", sub.LatestInvoice.Number)
	require.Equal(t, stripe.PaymentIntentStatusSucceeded, sub.LatestInvoice.PaymentIntent.Status)
	require.Equal(t, []string{
		"customer.subscription.created", "invoice.created", "invoice.finalized", "invoice.paid", "invoice.payment_succeeded",
		"customer.subscription.updated",
	}, r.reports(t))

	for _, end := range []string{"2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"} {
		now := r.subscription(t, sub.ID)
		require.Equal(t, end, time.Unix(now.PeriodEnd, 0).UTC().Format(time.DateOnly))
		require.NoError(t, r.AdvanceTo(time.Unix(now.PeriodEnd, 0)))
		i := r.latest(t, sub.ID)
		require.Equal(t, sandbox.Paid, i.Status)
		require.Equal(t, now.PeriodEnd, i.Created)
		require.Equal(t, now.PeriodStart, i.PeriodStart)
		require.Equal(t, now.PeriodEnd, i.PeriodEnd)
		require.Equal(t, now.PeriodEnd, i.Lines[0].Start)
		require.Equal(t, []string{
			"customer.subscription.updated", "invoice.created", "customer.subscription.updated", "invoice.finalized", "invoice.paid",
			"invoice.payment_succeeded",
		}, r.reports(t))
	}
	require.Len(t, r.Invoices(), 5)
}

func TestAYearWithALeapDay(t *testing.T) {
	t.Parallel()
	r := startAt(t, "2028-01-30T23:30:00Z")
	product := r.product(t, "Pro")
	customer := r.customer(t, sandbox.CardPays)
	monthly := r.subscribe(t, customer, r.plan(t, product, 1000, "month").ID, nil)
	r.advance(30 * 24 * time.Hour) // 29 February, 23:30
	yearly := r.subscribe(t, customer, r.plan(t, product, 9000, "year").ID, nil)
	require.NoError(t, r.AdvanceTo(time.Date(2029, 2, 28, 23, 30, 0, 0, time.UTC)))
	var ends []string
	sum := int64(0)
	for _, i := range r.Invoices() {
		require.Equal(t, sandbox.Paid, i.Status)
		sum += i.PaidCents
		if i.SubscriptionID == monthly.ID {
			ends = append(ends, time.Unix(i.Lines[0].End, 0).UTC().Format("01-02"))
		}
	}
	slices.Reverse(ends)
	require.Equal(t, []string{
		"02-29", "03-30", "04-30", "05-30", "06-30", "07-30", "08-30", "09-30", "10-30", "11-30", "12-30", "01-30", "02-28", "03-30",
	}, ends)
	require.Equal(t, int64(14*1000+2*9000), sum)
	require.Equal(t, "2030-02-28", time.Unix(r.subscription(t, yearly.ID).PeriodEnd, 0).UTC().Format(time.DateOnly))
	last := int64(0)
	for _, e := range r.Events() {
		require.GreaterOrEqual(t, e.Created, last, "events come in the order of their times")
		last = e.Created
	}
}

func TestFailedChargesAreRepeated(t *testing.T) {
	t.Parallel()
	for end, want := range map[string]string{"": sandbox.Unpaid, sandbox.Canceled: sandbox.Canceled} {
		r := start(t, nil)
		if end != "" {
			require.NoError(t, r.EndDunning(end))
		}
		price := r.plan(t, r.product(t, "Pro"), 2000, "month")
		customer := r.customer(t, sandbox.CardPays)
		sub := r.subscribe(t, customer, price.ID, nil)
		_, err := r.UseCard(customer, sandbox.CardFailsLater)
		require.NoError(t, err)
		r.delivered(t)
		require.NoError(t, r.AdvanceTo(time.Unix(sub.CurrentPeriodEnd, 0)))
		i := r.latest(t, sub.ID)
		require.Equal(t, sandbox.PastDue, r.subscription(t, sub.ID).Status)
		require.Equal(t, sandbox.StatusOpen, i.Status)
		require.Equal(t, i.Created+3*24*3600, i.NextAttempt)
		require.Contains(t, r.delivered(t), "invoice.payment_failed")
		require.NoError(t, r.Advance(3*24*time.Hour))
		require.NoError(t, r.Advance(5*24*time.Hour))
		i = r.latest(t, sub.ID)
		require.Equal(t, int64(3), i.Attempts)
		require.NoError(t, r.Advance(7*24*time.Hour))
		i = r.latest(t, sub.ID)
		require.Equal(t, int64(4), i.Attempts)
		require.Zero(t, i.NextAttempt)
		require.Equal(t, want, r.subscription(t, sub.ID).Status)
		if want == sandbox.Canceled {
			continue
		}
		require.NoError(t, r.Advance(month))
		require.Equal(t, sandbox.Draft, r.latest(t, sub.ID).Status, "an unpaid subscription's invoices stay drafts")
		_, err = r.PayInvoice(i.ID)
		require.NoError(t, err)
		require.Equal(t, sandbox.Active, r.subscription(t, sub.ID).Status)
	}
}

func TestTheCardsOfACheckoutPage(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	price := r.plan(t, r.product(t, "Pro"), 2000, "month")
	open := func(change func(p *stripe.CheckoutSessionParams)) *stripe.CheckoutSession {
		p := &stripe.CheckoutSessionParams{
			Mode: new("subscription"), SuccessURL: new("https://shop.example/thanks?s={CHECKOUT_SESSION_ID}"), ClientReferenceID: new("ten_1"),
			LineItems: []*stripe.CheckoutSessionLineItemParams{{Price: new(price.ID), Quantity: new(int64(3))}},
		}
		if change != nil {
			change(p)
		}
		x, err := r.api.CheckoutSessions.New(p)
		require.NoError(t, err)
		return x
	}
	x := open(nil)
	require.Equal(t, stripe.CheckoutSessionModeSubscription, x.Mode)
	require.Equal(t, int64(6000), x.AmountTotal)
	for _, card := range []string{sandbox.CardDeclined, sandbox.CardFailsLater, sandbox.CardWithoutFunds} {
		_, err := r.CompleteCheckout(x.ID, card)
		require.ErrorContains(t, err, "card")
		require.Empty(t, r.Subscriptions())
		require.Empty(t, r.Customers())
	}
	require.Empty(t, r.delivered(t))
	_, err := r.CompleteCheckout(x.ID, sandbox.CardAuthenticatesOnce)
	require.NoError(t, err)
	events := r.delivered(t)
	for _, kind := range []string{"customer.created", "payment_method.attached", "customer.subscription.created", "invoice.paid", "checkout.session.completed"} {
		require.Contains(t, events, kind)
	}
	get := &stripe.CheckoutSessionParams{}
	get.AddExpand("subscription.default_payment_method")
	get.AddExpand("customer")
	get.AddExpand("invoice")
	done, err := r.api.CheckoutSessions.Get(x.ID, get)
	require.NoError(t, err)
	require.Equal(t, stripe.CheckoutSessionPaymentStatusPaid, done.PaymentStatus)
	require.Equal(t, stripe.SubscriptionStatusActive, done.Subscription.Status)
	require.Equal(t, "3155", done.Subscription.DefaultPaymentMethod.Card.Last4)
	require.Equal(t, "buyer@example.test", done.Customer.Email)
	require.Equal(t, int64(6000), done.Invoice.AmountPaid)
	require.NoError(t, r.Advance(month))
	require.Equal(t, sandbox.Paid, r.latest(t, done.Subscription.ID).Status, "the buyer has confirmed the card once")

	customer := r.customer(t, "")
	trial := open(func(p *stripe.CheckoutSessionParams) {
		p.Customer = new(customer)
		p.SubscriptionData = &stripe.CheckoutSessionSubscriptionDataParams{
			TrialPeriodDays: new(int64(14)), Metadata: map[string]string{"tenant": "ten_1"},
		}
	})
	require.Zero(t, trial.AmountTotal)
	done2, err := r.CompleteCheckout(trial.ID, sandbox.CardFailsLater)
	require.NoError(t, err)
	sub := r.subscription(t, done2.Plan.SubscriptionID)
	require.Equal(t, sandbox.Trialing, sub.Status)
	require.Equal(t, "ten_1", sub.Metadata["tenant"])
	require.Equal(t, sandbox.Paid, r.latest(t, sub.ID).Status)
	require.Zero(t, r.latest(t, sub.ID).PaidCents)
	r.delivered(t)
	require.NoError(t, r.Advance(11*24*time.Hour))
	require.Contains(t, r.delivered(t), "customer.subscription.trial_will_end")
	require.NoError(t, r.Advance(3*24*time.Hour))
	require.Equal(t, sandbox.PastDue, r.subscription(t, sub.ID).Status)
	_, err = r.UseCard(customer, sandbox.CardPays)
	require.NoError(t, err)
	require.NoError(t, r.Advance(3*24*time.Hour))
	require.Equal(t, sandbox.Active, r.subscription(t, sub.ID).Status)
}

func TestAJournalContinuesInTheMiddleOfAYear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, func(c *sandbox.Config) { c.Dir = dir })
	price := r.plan(t, r.product(t, "Pro"), 2000, "month")
	sub := r.subscribe(t, r.customer(t, sandbox.CardPays), price.ID, nil)
	require.NoError(t, r.Advance(5*month))
	next := reopen(t, dir, r.now(), `[{"clock":{"off`)
	require.Equal(t, r.Subscriptions(), next.Subscriptions())
	require.Equal(t, r.Invoices(), next.Invoices())
	require.Equal(t, r.Customers(), next.Customers())
	require.Equal(t, r.Now(), next.Now())
	for _, server := range []*rig{r, next} {
		require.NoError(t, server.Advance(5*month))
	}
	require.Equal(t, r.subscription(t, sub.ID).PeriodEnd, next.subscription(t, sub.ID).PeriodEnd)
	require.Len(t, next.Invoices(), len(r.Invoices()))
	content, err := json.Marshal(next.subscription(t, sub.ID))
	require.NoError(t, err)
	require.NotContains(t, string(content), "null,")
}

// TestAKillWhileTheClockAdvances: the journal ends after each of its lines in turn. Each time the server does the rest.
func TestAKillWhileTheClockAdvances(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, func(c *sandbox.Config) { c.Dir = dir })
	price := r.plan(t, r.product(t, "Pro"), 2000, "month")
	sub := r.subscribe(t, r.customer(t, sandbox.CardPays), price.ID, nil)
	require.NoError(t, r.Advance(4*month))
	content, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	require.NoError(t, err)
	lines := bytes.SplitAfter(content, []byte("\n"))
	advance := slices.IndexFunc(lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"clock":{"offset":1`)) })
	require.Positive(t, advance)
	for end := advance + 1; end < len(lines); end++ {
		copied := t.TempDir()
		part := append(bytes.Join(lines[:end], nil), lines[end][:len(lines[end])/2]...)
		require.NoError(t, os.WriteFile(filepath.Join(copied, "journal.jsonl"), part, 0o600))
		next := start(t, func(c *sandbox.Config) { c.Dir, c.Now = copied, r.now })
		require.Equal(t, r.subscription(t, sub.ID).PeriodEnd, next.subscription(t, sub.ID).PeriodEnd)
		require.Len(t, next.Invoices(), len(r.Invoices()))
		require.Equal(t, r.Now(), next.Now())
		for n, i := range next.Invoices() {
			require.Equal(t, sandbox.Paid, i.Status)
			require.Equal(t, r.Invoices()[n].Number, i.Number)
			require.Equal(t, r.Invoices()[n].Created, i.Created)
		}
	}
}
