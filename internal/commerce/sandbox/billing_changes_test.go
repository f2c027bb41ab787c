package sandbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
)

// changePrice updates the one item of a subscription to another price.
func (r *rig) changePrice(t *testing.T, sub, price string, change func(p *stripe.SubscriptionParams)) (*stripe.Subscription, error) {
	t.Helper()
	p := &stripe.SubscriptionParams{Items: []*stripe.SubscriptionItemsParams{{
		ID: new(r.subscription(t, sub).Items[0].ID), Price: new(price),
	}}}
	if change != nil {
		change(p)
	}
	return r.api.Subscriptions.Update(sub, p)
}

func TestAChangeIsProratedBySeconds(t *testing.T) {
	t.Parallel()
	r := startAt(t, "2027-04-01T00:00:00Z")
	product := r.product(t, "Pro")
	small, large := r.plan(t, product, 3000, "month"), r.plan(t, product, 9000, "month")
	yearly := r.plan(t, product, 60000, "year")
	customer := r.customer(t, sandbox.CardPays)
	sub := r.subscribe(t, customer, small.ID, nil)
	r.advance(10 * 24 * time.Hour) // 20 of 30 days are left
	_, err := r.changePrice(t, sub.ID, large.ID, func(p *stripe.SubscriptionParams) { p.ProrationBehavior = new("always_invoice") })
	require.NoError(t, err)
	i := r.latest(t, sub.ID)
	require.Equal(t, sandbox.Paid, i.Status)
	require.Equal(t, "subscription_update", i.Reason)
	require.Equal(t, []int64{-2000, 6000}, []int64{i.Lines[0].Cents, i.Lines[1].Cents})
	require.True(t, i.Lines[0].Proration)
	require.Equal(t, "Unused time on Pro after 11 Apr 2027", i.Lines[0].Description)
	require.Equal(t, int64(4000), i.PaidCents)
	require.Equal(t, sub.CurrentPeriodEnd, r.subscription(t, sub.ID).PeriodEnd)

	r.advance(10 * 24 * time.Hour) // 10 days are left
	_, err = r.changePrice(t, sub.ID, small.ID, nil)
	require.NoError(t, err)
	require.Equal(t, i.ID, r.latest(t, sub.ID).ID, "the credit waits for the next invoice")
	require.NoError(t, r.AdvanceTo(time.Unix(sub.CurrentPeriodEnd, 0)))
	i = r.latest(t, sub.ID)
	require.Equal(t, int64(1000), i.PaidCents, "3000 for May, minus 3000 for a third of April, plus 1000 for the new price")
	require.Len(t, i.Lines, 3)

	r.advance(31 * 24 * time.Hour / 2) // 1 May to 1 June: half of it is left
	_, err = r.changePrice(t, sub.ID, yearly.ID, nil)
	require.NoError(t, err)
	after, i := r.subscription(t, sub.ID), r.latest(t, sub.ID)
	require.Equal(t, r.Now().Unix(), after.PeriodStart, "another interval begins at once")
	require.Equal(t, r.Now().AddDate(1, 0, 0).Unix(), after.PeriodEnd)
	require.Equal(t, int64(60000-1500), i.PaidCents)

	r.delivered(t)
	_, err = r.changePrice(t, sub.ID, small.ID, func(p *stripe.SubscriptionParams) { p.ProrationBehavior = new("always_invoice") })
	require.NoError(t, err)
	i = r.latest(t, sub.ID)
	require.Equal(t, int64(3000-60000), i.TotalCents)
	require.Equal(t, sandbox.Paid, i.Status)
	u, _ := r.Customer(customer)
	require.Equal(t, int64(3000-60000), u.BalanceCents, "the customer has a credit")
	require.NoError(t, r.Advance(month))
	i = r.latest(t, sub.ID)
	require.Zero(t, i.PaidCents)
	require.Equal(t, int64(3000-60000), i.StartingBalance)
	require.Equal(t, int64(6000-60000), i.EndingBalance)
}

func TestAnUpdateWaitsForItsPayment(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	product := r.product(t, "Pro")
	small, large := r.plan(t, product, 3000, "month"), r.plan(t, product, 9000, "month")
	customer := r.customer(t, sandbox.CardPays)
	sub := r.subscribe(t, customer, small.ID, nil)
	_, err := r.UseCard(customer, sandbox.CardFailsLater)
	require.NoError(t, err)
	behave := func(behavior string) func(p *stripe.SubscriptionParams) {
		return func(p *stripe.SubscriptionParams) {
			p.ProrationBehavior, p.PaymentBehavior = new("always_invoice"), new(behavior)
		}
	}
	invoices := len(r.Invoices())
	_, err = r.changePrice(t, sub.ID, large.ID, behave("error_if_incomplete"))
	said := refused(t, err, 402, "card_declined")
	require.Equal(t, stripe.DeclineCode("generic_decline"), said.DeclineCode)
	require.Len(t, r.Invoices(), invoices, "nothing has changed")

	pending := behave("pending_if_incomplete")
	_, err = r.changePrice(t, sub.ID, large.ID, func(p *stripe.SubscriptionParams) {
		pending(p)
		p.Metadata = map[string]string{"a": "b"}
	})
	refused(t, err, 400, "")
	waiting, err := r.changePrice(t, sub.ID, large.ID, pending)
	require.NoError(t, err)
	require.Equal(t, stripe.SubscriptionStatusActive, waiting.Status)
	require.Equal(t, small.ID, waiting.Items.Data[0].Price.ID)
	require.Equal(t, large.ID, waiting.PendingUpdate.SubscriptionItems[0].Price.ID)
	i := r.latest(t, sub.ID)
	require.Equal(t, sandbox.StatusOpen, i.Status)
	r.delivered(t)
	_, err = r.PayInvoice(i.ID)
	require.NoError(t, err)
	require.Contains(t, r.delivered(t), "customer.subscription.pending_update_applied")
	require.Equal(t, large.ID, r.subscription(t, sub.ID).Items[0].PriceID)
	require.Nil(t, r.subscription(t, sub.ID).Pending)

	third := r.plan(t, product, 27000, "month")
	_, err = r.changePrice(t, sub.ID, third.ID, pending)
	require.NoError(t, err)
	require.NoError(t, r.Advance(23*time.Hour))
	require.Contains(t, r.delivered(t), "customer.subscription.pending_update_expired")
	require.Nil(t, r.subscription(t, sub.ID).Pending)
	require.Equal(t, large.ID, r.subscription(t, sub.ID).Items[0].PriceID)
	require.Equal(t, sandbox.Void, r.latest(t, sub.ID).Status)

	_, err = r.UseCard(customer, sandbox.CardAuthenticates)
	require.NoError(t, err)
	r.delivered(t)
	_, err = r.changePrice(t, sub.ID, third.ID, pending)
	require.NoError(t, err)
	require.Contains(t, r.delivered(t), "invoice.payment_action_required")
	_, err = r.changePrice(t, sub.ID, third.ID, behave("allow_incomplete"))
	require.NoError(t, err)
	require.Equal(t, sandbox.PastDue, r.subscription(t, sub.ID).Status)
	require.Equal(t, third.ID, r.subscription(t, sub.ID).Items[0].PriceID)
	_, err = r.PayInvoiceWith(r.latest(t, sub.ID).ID, sandbox.CardAuthenticates)
	require.NoError(t, err)
	require.Equal(t, sandbox.Active, r.subscription(t, sub.ID).Status)
}

func TestAPendingUpdateOutlivesItsPeriod(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	product := r.product(t, "Pro")
	small, large := r.plan(t, product, 3000, "month"), r.plan(t, product, 9000, "month")
	customer := r.customer(t, sandbox.CardPays)
	sub := r.subscribe(t, customer, small.ID, nil)
	require.NoError(t, r.AdvanceTo(time.Unix(sub.CurrentPeriodEnd-3600, 0)))
	_, err := r.UseCard(customer, sandbox.CardAuthenticates)
	require.NoError(t, err)
	_, err = r.changePrice(t, sub.ID, large.ID, func(p *stripe.SubscriptionParams) {
		p.Items[0].Quantity = new(int64(100))
		p.ProrationBehavior, p.PaymentBehavior = new("always_invoice"), new("pending_if_incomplete")
	})
	require.NoError(t, err)
	waiting := r.latest(t, sub.ID)
	_, err = r.UseCard(customer, sandbox.CardPays)
	require.NoError(t, err)
	require.NoError(t, r.Advance(2*time.Hour))
	renewed := r.subscription(t, sub.ID)
	require.Equal(t, sub.CurrentPeriodEnd, renewed.PeriodStart)
	_, err = r.PayInvoice(waiting.ID)
	require.NoError(t, err)
	require.Equal(t, renewed.PeriodEnd, r.subscription(t, sub.ID).PeriodEnd, "the payment doesn't restart the period")
	require.Equal(t, large.ID, r.subscription(t, sub.ID).Items[0].PriceID)

	_, err = r.UseCard(customer, sandbox.CardFailsLater)
	require.NoError(t, err)
	require.NoError(t, r.AdvanceTo(time.Unix(renewed.PeriodEnd, 0)))
	require.Equal(t, sandbox.PastDue, r.subscription(t, sub.ID).Status)
	_, err = r.UseCard(customer, sandbox.CardPays)
	require.NoError(t, err)
	yearly := r.plan(t, product, 9000000, "year")
	_, err = r.changePrice(t, sub.ID, yearly.ID, nil)
	require.NoError(t, err)
	require.Equal(t, sandbox.Active, r.subscription(t, sub.ID).Status, "the latest invoice is paid")
}

func TestTheFirstPaymentFails(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	price := r.plan(t, r.product(t, "Pro"), 3000, "month")
	_, err := r.api.Subscriptions.New(&stripe.SubscriptionParams{
		Customer: new(r.customer(t, "")), Items: []*stripe.SubscriptionItemsParams{{Price: new(price.ID)}},
	})
	refused(t, err, 400, "resource_missing")
	customer := r.customer(t, sandbox.CardFailsLater)
	require.Empty(t, r.Subscriptions())
	r.delivered(t)
	first, second := r.subscribe(t, customer, price.ID, nil), r.subscribe(t, customer, price.ID, nil)
	require.Equal(t, stripe.SubscriptionStatusIncomplete, first.Status)
	require.Contains(t, r.delivered(t), "invoice.payment_failed")
	_, err = r.api.Invoices.Pay(first.LatestInvoice.ID, &stripe.InvoicePayParams{})
	refused(t, err, 402, "card_declined")
	i, _ := r.Invoice(first.LatestInvoice.ID)
	require.Equal(t, sandbox.StatusOpen, i.Status)
	require.Equal(t, int64(1), i.Attempts, "an attempt by hand isn't counted")
	require.Contains(t, r.delivered(t), "invoice.payment_failed", "the attempt stays")
	_, err = r.UseCard(customer, sandbox.CardPays)
	require.NoError(t, err)
	paid, err := r.api.Invoices.Pay(first.LatestInvoice.ID, &stripe.InvoicePayParams{})
	require.NoError(t, err)
	require.True(t, paid.Paid)
	require.Equal(t, sandbox.Active, r.subscription(t, first.ID).Status)
	require.NoError(t, r.Advance(23*time.Hour))
	require.Equal(t, sandbox.IncompleteExpired, r.subscription(t, second.ID).Status)
	require.Equal(t, sandbox.Void, r.latest(t, second.ID).Status)
}

func TestTrialsEnd(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	product := r.product(t, "Pro")
	price, yearly := r.plan(t, product, 3000, "month"), r.plan(t, product, 30000, "year")
	customer := r.customer(t, "")
	trial := func(missing string) *stripe.Subscription {
		return r.subscribe(t, customer, price.ID, func(p *stripe.SubscriptionParams) {
			p.TrialPeriodDays = new(int64(7))
			p.TrialSettings = &stripe.SubscriptionTrialSettingsParams{
				EndBehavior: &stripe.SubscriptionTrialSettingsEndBehaviorParams{MissingPaymentMethod: new(missing)},
			}
		})
	}
	canceled, paused, billed := trial("cancel"), trial("pause"), trial("create_invoice")
	early := trial("cancel")
	changed, err := r.changePrice(t, early.ID, yearly.ID, func(p *stripe.SubscriptionParams) { p.ProrationBehavior = new("always_invoice") })
	require.NoError(t, err)
	require.Equal(t, stripe.SubscriptionStatusTrialing, changed.Status)
	require.Equal(t, early.TrialEnd, changed.CurrentPeriodEnd)
	require.NoError(t, r.Advance(7*24*time.Hour))
	require.Equal(t, sandbox.Canceled, r.subscription(t, canceled.ID).Status)
	require.Equal(t, sandbox.Paused, r.subscription(t, paused.ID).Status)
	require.Equal(t, sandbox.PastDue, r.subscription(t, billed.ID).Status)
	require.Contains(t, r.delivered(t), "customer.subscription.paused")
	require.NoError(t, r.Advance(40*24*time.Hour))
	require.Equal(t, sandbox.Paused, r.subscription(t, paused.ID).Status)
	_, err = r.UseCard(customer, sandbox.CardPays)
	require.NoError(t, err)
	again, err := r.api.Subscriptions.Resume(paused.ID, &stripe.SubscriptionResumeParams{BillingCycleAnchor: new("now")})
	require.NoError(t, err)
	require.Equal(t, stripe.SubscriptionStatusActive, again.Status)
	require.Equal(t, r.Now().Unix(), again.CurrentPeriodStart)
	require.Contains(t, r.delivered(t), "customer.subscription.resumed")

	now := trial("cancel")
	ended, err := r.api.Subscriptions.Update(now.ID, &stripe.SubscriptionParams{TrialEndNow: new(true)})
	require.NoError(t, err)
	require.Equal(t, stripe.SubscriptionStatusActive, ended.Status)
	require.Equal(t, int64(3000), r.latest(t, now.ID).PaidCents)
	extended, err := r.api.Subscriptions.Update(trial("cancel").ID, &stripe.SubscriptionParams{TrialEnd: new(r.Now().Unix() + 30*24*3600)})
	require.NoError(t, err)
	require.Equal(t, extended.TrialEnd, extended.CurrentPeriodEnd)
}

func TestCancellationsAndPauses(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	price := r.plan(t, r.product(t, "Pro"), 3000, "month")
	customer := r.customer(t, sandbox.CardPays)
	first, second, third := r.subscribe(t, customer, price.ID, nil), r.subscribe(t, customer, price.ID, nil), r.subscribe(t, customer, price.ID, nil)
	_, err := r.api.Subscriptions.Update(first.ID, &stripe.SubscriptionParams{
		CancelAtPeriodEnd:   new(true),
		CancellationDetails: &stripe.SubscriptionCancellationDetailsParams{Comment: new("bye"), Feedback: new("too_expensive")},
	})
	require.NoError(t, err)
	_, err = r.CancelInPortal(first.ID, false)
	require.NoError(t, err)
	back, err := r.CancelInPortal(first.ID, true)
	require.NoError(t, err)
	require.True(t, back.CancelAtPeriodEnd)
	_, err = r.api.Subscriptions.Update(second.ID, &stripe.SubscriptionParams{PauseCollection: &stripe.SubscriptionPauseCollectionParams{
		Behavior: new("void"), ResumesAt: new(r.Now().Unix() + 45*24*3600),
	}})
	require.NoError(t, err)
	gone, err := r.api.Subscriptions.Cancel(third.ID, &stripe.SubscriptionCancelParams{Prorate: new(true), InvoiceNow: new(true)})
	require.NoError(t, err)
	require.Equal(t, stripe.SubscriptionStatusCanceled, gone.Status)
	require.Equal(t, int64(-3000), r.latest(t, third.ID).TotalCents)
	_, err = r.api.Subscriptions.Cancel(third.ID, nil)
	refused(t, err, 404, "resource_missing")
	r.delivered(t)
	require.NoError(t, r.Advance(month))
	require.Equal(t, sandbox.Canceled, r.subscription(t, first.ID).Status)
	require.Equal(t, "too_expensive", r.subscription(t, first.ID).CancelFeedback)
	require.Contains(t, r.delivered(t), "customer.subscription.deleted")
	require.NotEqual(t, sandbox.StatusOpen, r.latest(t, second.ID).Status)
	require.NoError(t, r.Advance(month))
	require.Empty(t, r.subscription(t, second.ID).Pause)
	noted, err := r.api.Subscriptions.Update(third.ID, &stripe.SubscriptionParams{Metadata: map[string]string{"reason": "price"}})
	require.NoError(t, err, "the metadata of an ended subscription can change")
	require.Equal(t, stripe.SubscriptionStatusCanceled, noted.Status)
	_, err = r.changePrice(t, third.ID, price.ID, func(p *stripe.SubscriptionParams) { p.Items[0].Quantity = new(int64(2)) })
	refused(t, err, 400, "")
	require.Equal(t, sandbox.Paid, r.latest(t, second.ID).Status)

	list := func(status string) int {
		p := &stripe.SubscriptionListParams{Customer: new(customer)}
		if status != "" {
			p.Status = new(status)
		}
		p.AddExpand("data.latest_invoice")
		p.AddExpand("data.default_payment_method")
		p.AddExpand("data.schedule")
		n := 0
		for all := r.api.Subscriptions.List(p); all.Next(); n++ {
			require.NotEmpty(t, all.Subscription().LatestInvoice.Number)
		}
		return n
	}
	require.Equal(t, []int{1, 3, 2}, []int{list(""), list("all"), list("ended")})
	deleted, err := r.api.Customers.Del(customer, nil)
	require.NoError(t, err)
	require.True(t, deleted.Deleted)
	require.Equal(t, sandbox.Canceled, r.subscription(t, second.ID).Status)
	deleted, err = r.api.Customers.Get(customer, nil)
	require.NoError(t, err)
	require.True(t, deleted.Deleted)
}

func TestInvoicesThatAreSent(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	price := r.plan(t, r.product(t, "Enterprise"), 500000, "month")
	sub := r.subscribe(t, r.customer(t, ""), price.ID, func(p *stripe.SubscriptionParams) {
		p.CollectionMethod, p.DaysUntilDue = new("send_invoice"), new(int64(14))
	})
	require.Equal(t, stripe.SubscriptionStatusActive, sub.Status)
	i := r.latest(t, sub.ID)
	require.Equal(t, sandbox.StatusOpen, i.Status)
	require.Equal(t, i.Created+14*24*3600, i.DueDate)
	r.delivered(t)
	require.NoError(t, r.Advance(14*24*time.Hour))
	require.Equal(t, sandbox.PastDue, r.subscription(t, sub.ID).Status)
	require.Contains(t, r.delivered(t), "invoice.overdue")
	paid, err := r.api.Invoices.Pay(i.ID, &stripe.InvoicePayParams{PaidOutOfBand: new(true)})
	require.NoError(t, err)
	require.True(t, paid.PaidOutOfBand)
	require.Equal(t, sandbox.Active, r.subscription(t, sub.ID).Status)
	require.NoError(t, r.Advance(month))
	i = r.latest(t, sub.ID)
	void, err := r.api.Invoices.VoidInvoice(i.ID, nil)
	require.NoError(t, err)
	require.Equal(t, stripe.InvoiceStatusVoid, void.Status)
	_, err = r.api.Invoices.Pay(i.ID, nil)
	refused(t, err, 400, "")

	item, err := r.api.InvoiceItems.New(&stripe.InvoiceItemParams{
		Customer: new(sub.Customer.ID), Amount: new(int64(700)), Currency: new("usd"), Description: new("Setup"),
	})
	require.NoError(t, err)
	made, err := r.api.Invoices.New(&stripe.InvoiceParams{
		Customer: new(sub.Customer.ID), PendingInvoiceItemsBehavior: new("include"), CollectionMethod: new("send_invoice"), DaysUntilDue: new(int64(7)),
	})
	require.NoError(t, err)
	require.Equal(t, item.Amount, made.AmountDue)
	final, err := r.api.Invoices.FinalizeInvoice(made.ID, nil)
	require.NoError(t, err)
	require.Equal(t, stripe.InvoiceStatusOpen, final.Status)
	require.NotEmpty(t, final.HostedInvoiceURL)
	lost, err := r.api.Invoices.MarkUncollectible(made.ID, nil)
	require.NoError(t, err)
	require.Equal(t, stripe.InvoiceStatusUncollectible, lost.Status)
}

func TestASchedulesPhases(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	product := r.product(t, "Pro")
	large, small := r.plan(t, product, 9000, "month"), r.plan(t, product, 3000, "month")
	sub := r.subscribe(t, r.customer(t, sandbox.CardPays), large.ID, nil)
	sched, err := r.api.SubscriptionSchedules.New(&stripe.SubscriptionScheduleParams{FromSubscription: new(sub.ID)})
	require.NoError(t, err)
	require.Equal(t, sub.CurrentPeriodEnd, sched.Phases[0].EndDate)
	phase := func(price string, start, end int64) *stripe.SubscriptionSchedulePhaseParams {
		p := &stripe.SubscriptionSchedulePhaseParams{
			Items: []*stripe.SubscriptionSchedulePhaseItemParams{{Price: new(price), Quantity: new(int64(1))}}, StartDate: new(start),
		}
		if end > 0 {
			p.EndDate = new(end)
		}
		return p
	}
	_, err = r.api.SubscriptionSchedules.Update(sched.ID, &stripe.SubscriptionScheduleParams{
		EndBehavior: new("release"), ProrationBehavior: new("none"), Metadata: map[string]string{"reason": "downgrade"},
		Phases: []*stripe.SubscriptionSchedulePhaseParams{
			phase(large.ID, sched.Phases[0].StartDate, sched.Phases[0].EndDate), phase(small.ID, sched.Phases[0].EndDate, 0),
		},
	})
	require.NoError(t, err)
	got, err := r.api.Subscriptions.Get(sub.ID, nil)
	require.NoError(t, err)
	require.Equal(t, sched.ID, got.Schedule.ID)
	_, err = r.api.Subscriptions.Update(sub.ID, &stripe.SubscriptionParams{CancelAtPeriodEnd: new(true)})
	refused(t, err, 400, "")
	require.NoError(t, r.AdvanceTo(time.Unix(sub.CurrentPeriodEnd, 0)))
	i := r.latest(t, sub.ID)
	require.Len(t, i.Lines, 1)
	require.Equal(t, int64(3000), i.PaidCents, "the renewal bills the new phase, without proration")
	require.NoError(t, r.Advance(month))
	require.Equal(t, sandbox.Released, r.Schedules()[0].Status)
	require.Empty(t, r.subscription(t, sub.ID).ScheduleID)
	require.Contains(t, r.delivered(t), "subscription_schedule.released")
	require.Equal(t, small.ID, r.subscription(t, sub.ID).Items[0].PriceID)

	again, err := r.api.SubscriptionSchedules.New(&stripe.SubscriptionScheduleParams{FromSubscription: new(sub.ID)})
	require.NoError(t, err)
	_, err = r.api.SubscriptionSchedules.Release(again.ID, nil)
	require.NoError(t, err)
	_, err = r.api.SubscriptionSchedules.Release(again.ID, nil)
	refused(t, err, 400, "")
}

func TestBalancesAndEvents(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	customer := r.customer(t, sandbox.CardPays)
	_, err := r.api.CustomerBalanceTransactions.New(&stripe.CustomerBalanceTransactionParams{
		Customer: new(customer), Amount: new(int64(-500)), Currency: new("usd"),
	})
	require.NoError(t, err)
	sub := r.subscribe(t, customer, r.plan(t, r.product(t, "Pro"), 2000, "month").ID, nil)
	require.Equal(t, int64(1500), r.latest(t, sub.ID).PaidCents)
	_, err = r.api.Refunds.New(&stripe.RefundParams{PaymentIntent: new(r.latest(t, sub.ID).PaymentID), Amount: new(int64(100))})
	require.NoError(t, err)
	_, err = r.api.Subscriptions.Update(sub.ID, &stripe.SubscriptionParams{Metadata: map[string]string{"seats": "3"}})
	require.NoError(t, err)
	list := r.api.Events.List(&stripe.EventListParams{Type: new("customer.subscription.*")})
	require.True(t, list.Next())
	require.Equal(t, stripe.EventTypeCustomerSubscriptionUpdated, list.Event().Type)
	require.Equal(t, map[string]any{"metadata": map[string]any{}}, list.Event().Data.PreviousAttributes)
	e, err := r.api.Events.Get(list.Event().ID, nil)
	require.NoError(t, err)
	require.Equal(t, list.Event().Data.Raw, e.Data.Raw)
	invoices := &stripe.InvoiceListParams{Subscription: new(sub.ID), Status: new("paid")}
	invoices.AddExpand("data.payment_intent")
	invoices.AddExpand("data.charge")
	all := r.api.Invoices.List(invoices)
	require.True(t, all.Next())
	require.Equal(t, int64(1500), all.Invoice().PaymentIntent.Amount)
	require.Equal(t, int64(100), all.Invoice().Charge.AmountRefunded)
	unknown := &stripe.InvoiceListParams{Subscription: new(sub.ID)}
	unknown.AddExpand("data.colour")
	all = r.api.Invoices.List(unknown)
	require.False(t, all.Next())
	refused(t, all.Err(), 400, "")
	_, err = r.api.Prices.New(&stripe.PriceParams{
		Product: new(r.product(t, "Euro")), Currency: new("eur"), UnitAmount: new(int64(100)), LookupKey: new("euro"),
		Recurring: &stripe.PriceRecurringParams{Interval: new("month")},
	})
	require.NoError(t, err)
	prices := r.api.Prices.List(&stripe.PriceListParams{LookupKeys: []*string{new("euro")}})
	require.True(t, prices.Next())
	_, err = r.api.Subscriptions.New(&stripe.SubscriptionParams{
		Customer: new(customer), Items: []*stripe.SubscriptionItemsParams{{Price: new(prices.Price().ID)}},
	})
	require.ErrorContains(t, err, "combine currencies")
	_, err = r.api.Customers.Get(customer, &stripe.CustomerParams{Params: on(r.seller(t), "")})
	refused(t, err, 400, "")
}
