package sandbox_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
)

// TestAYearOfRandomChanges makes random changes to subscriptions during a leap year. After each step the books must be right, and a
// server that is killed there must continue with the same state.
func TestAYearOfRandomChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		walk(t, rand.New(rand.NewPCG(seed, 2028)), seed)
	}
}

// walker is a random walk over the subscriptions of a few customers.
type walker struct {
	*rig

	random    *rand.Rand
	customers []string
	prices    []string
}

func walk(t *testing.T, random *rand.Rand, seed uint64) {
	t.Helper()
	dir := t.TempDir()
	r := start(t, func(c *sandbox.Config) { c.Dir = dir })
	r.mu.Lock()
	r.at = time.Date(2028, 1, 29, 12, 0, 0, 0, time.UTC)
	r.mu.Unlock()
	w := &walker{rig: r, random: random}
	product := r.product(t, "Pro")
	for _, cents := range []int64{0, 30, 1999, 9900} {
		w.prices = append(w.prices, r.plan(t, product, cents, "month").ID)
	}
	w.prices = append(w.prices, r.plan(t, product, 99000, "year").ID)
	for range 3 {
		w.customers = append(w.customers, r.customer(t, sandbox.CardPays))
	}
	for step := range 150 {
		w.step(t)
		w.check(t)
		if step%50 == 49 {
			next := reopen(t, dir, r.now(), "")
			require.Equal(t, r.Subscriptions(), next.Subscriptions(), "seed %d", seed)
			require.Equal(t, r.Invoices(), next.Invoices(), "seed %d", seed)
			require.Equal(t, r.Customers(), next.Customers(), "seed %d", seed)
			require.Equal(t, r.Schedules(), next.Schedules(), "seed %d", seed)
			require.Len(t, next.Events(), len(r.Events()), "seed %d", seed)
		}
	}
}

func pick[T any](w *walker, list []T) T { return list[w.random.IntN(len(list))] }

// step makes a random change; the sandbox may refuse it.
func (w *walker) step(t *testing.T) {
	t.Helper()
	cards := []string{
		sandbox.CardPays, sandbox.CardPays, sandbox.CardPays, sandbox.CardFailsLater, sandbox.CardAuthenticates, sandbox.CardAuthenticatesOnce,
	}
	subs := w.Subscriptions()
	choice := w.random.IntN(16)
	if len(subs) == 0 {
		choice = 0
	}
	switch choice {
	case 0:
		p := &stripe.SubscriptionParams{Customer: new(pick(w, w.customers)), Items: []*stripe.SubscriptionItemsParams{{Price: new(pick(w, w.prices))}}}
		if w.random.IntN(2) == 0 {
			p.TrialPeriodDays = new(int64(1 + w.random.IntN(30)))
			p.TrialSettings = &stripe.SubscriptionTrialSettingsParams{EndBehavior: &stripe.SubscriptionTrialSettingsEndBehaviorParams{
				MissingPaymentMethod: new(pick(w, []string{"create_invoice", "cancel", "pause"})),
			}}
		}
		_, _ = w.api.Subscriptions.New(p)
	case 1, 2:
		sub := pick(w, subs)
		_, _ = w.api.Subscriptions.Update(sub.ID, &stripe.SubscriptionParams{
			Items:             []*stripe.SubscriptionItemsParams{{ID: new(sub.Items[0].ID), Price: new(pick(w, w.prices)), Quantity: new(int64(1 + w.random.IntN(3)))}},
			ProrationBehavior: new(pick(w, []string{"create_prorations", "always_invoice", "none"})),
			PaymentBehavior:   new(pick(w, []string{"allow_incomplete", "pending_if_incomplete", "error_if_incomplete", "default_incomplete"})),
		})
	case 3:
		_, err := w.UseCard(pick(w, w.customers), pick(w, cards))
		require.NoError(t, err)
	case 4:
		_, _ = w.CancelInPortal(pick(w, subs).ID, w.random.IntN(2) == 0)
	case 5:
		_, _ = w.PayInvoice(pick(w, w.Invoices()).ID)
	case 6:
		w.schedule(t, pick(w, subs))
	case 7:
		if w.random.IntN(4) == 0 {
			_, _ = w.api.Subscriptions.Cancel(pick(w, subs).ID, &stripe.SubscriptionCancelParams{Prorate: new(true), InvoiceNow: new(w.random.IntN(2) == 0)})
		}
	case 8:
		w.restart(pick(w, subs))
	case 9:
		w.pause(pick(w, subs))
	case 10:
		if w.random.IntN(3) == 0 {
			require.NoError(t, w.RemoveCards(pick(w, w.customers)))
		}
	default:
		require.NoError(t, w.Advance(time.Duration(w.random.Int64N(int64(6*24*time.Hour)))))
	}
}

// restart moves the anchor or the trial of a subscription.
func (w *walker) restart(sub sandbox.Subscription) {
	p := &stripe.SubscriptionParams{ProrationBehavior: new(pick(w, []string{"create_prorations", "always_invoice", "none"}))}
	switch w.random.IntN(3) {
	case 0:
		p.BillingCycleAnchorNow = new(true)
	case 1:
		p.TrialEndNow = new(true)
	default:
		p.TrialEnd = new(w.Now().Unix() + 3600*w.random.Int64N(1000) + 60)
	}
	_, _ = w.api.Subscriptions.Update(sub.ID, p)
}

// pause stops the collection of a subscription's invoices, or continues it; and resumes a paused subscription.
func (w *walker) pause(sub sandbox.Subscription) {
	if sub.Status == sandbox.Paused {
		_, _ = w.api.Subscriptions.Resume(sub.ID, &stripe.SubscriptionResumeParams{BillingCycleAnchor: new(pick(w, []string{"now", "unchanged"}))})
		return
	}
	p := &stripe.SubscriptionParams{}
	if sub.Pause != "" {
		p.AddExtra("pause_collection", "")
	} else {
		p.PauseCollection = &stripe.SubscriptionPauseCollectionParams{
			Behavior: new(pick(w, []string{"void", "keep_as_draft", "mark_uncollectible"})), ResumesAt: new(w.Now().Unix() + 40*24*3600),
		}
	}
	_, _ = w.api.Subscriptions.Update(sub.ID, p)
}

// schedule plans another price for a subscription's next period.
func (w *walker) schedule(t *testing.T, sub sandbox.Subscription) {
	t.Helper()
	made, err := w.api.SubscriptionSchedules.New(&stripe.SubscriptionScheduleParams{FromSubscription: new(sub.ID)})
	if err != nil {
		return
	}
	items := func(price string, quantity int64) []*stripe.SubscriptionSchedulePhaseItemParams {
		return []*stripe.SubscriptionSchedulePhaseItemParams{{Price: new(price), Quantity: new(quantity)}}
	}
	first := made.Phases[0]
	_, err = w.api.SubscriptionSchedules.Update(made.ID, &stripe.SubscriptionScheduleParams{Phases: []*stripe.SubscriptionSchedulePhaseParams{
		{Items: items(first.Items[0].Price.ID, first.Items[0].Quantity), StartDate: new(first.StartDate), EndDate: new(first.EndDate)},
		{Items: items(pick(w, w.prices), 1), Iterations: new(int64(1))},
	}})
	require.NoError(t, err)
}

// check checks the books.
func (w *walker) check(t *testing.T) {
	t.Helper()
	balances, now := map[string]int64{}, w.Now().Unix()
	list := w.Invoices()
	slices.SortFunc(list, func(a, b sandbox.Invoice) int { return int(a.FinalizedAt - b.FinalizedAt) })
	for _, i := range list {
		lines := int64(0)
		for _, l := range i.Lines {
			lines += l.Cents
		}
		require.Equal(t, lines, i.SubtotalCents)
		require.Equal(t, i.SubtotalCents-i.DiscountCents+i.TaxCents-i.InclusiveTaxCents, i.TotalCents)
		require.GreaterOrEqual(t, i.DueCents, int64(0))
		require.Equal(t, i.Status == sandbox.Paid, i.PaidAt > 0)
		if i.Status == sandbox.Paid {
			require.Equal(t, i.DueCents, i.PaidCents)
		}
		if i.FinalizedAt > 0 {
			require.Equal(t, i.TotalCents+i.StartingBalance, i.DueCents+i.EndingBalance)
		}
		if i.FinalizedAt > 0 && i.Status != sandbox.Void {
			balances[i.CustomerID] += i.EndingBalance - i.StartingBalance
		}
		require.False(t, i.NextAttempt > 0 && i.NextAttempt <= now, "nothing is left undone")
	}
	for _, u := range w.Customers() {
		require.Equal(t, balances[u.ID], u.BalanceCents)
	}
	for _, sub := range w.Subscriptions() {
		if sub.Status == sandbox.Canceled || sub.Status == sandbox.IncompleteExpired || sub.Status == sandbox.Paused {
			continue
		}
		require.Greater(t, sub.PeriodEnd, now)
		require.LessOrEqual(t, sub.PeriodStart, now)
		require.Equal(t, sub.Status == sandbox.Trialing, sub.TrialEnd > now, "%s until %d", sub.Status, sub.TrialEnd-now)
	}
	last := int64(0)
	for _, e := range w.Events() {
		require.GreaterOrEqual(t, e.Created, last)
		last = e.Created
	}
}
