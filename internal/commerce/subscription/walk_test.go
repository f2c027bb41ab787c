package subscription_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// walk is a tenant that does random things with its subscription.
type walk struct {
	s     *apitest.Server
	owner *apitest.Caller
	dice  *rand.Rand
	cards []string
}

const seeds = 4

// TestOurBooksAgreeWithTheProcessors walks through more than a year of random bookings, changes, failing cards and lost answers, with
// reports that arrive late, repeatedly, in any order or never. In the end our copies are equal to the processor's state, and the
// ledger adds up.
func TestOurBooksAgreeWithTheProcessors(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), SignupPlan: []string{"FREE", "STARTER"}[seed%2]})
			w := &walk{s: s, owner: s.Register(t), dice: rand.New(rand.NewPCG(seed, 1)), cards: []string{
				sandbox.CardPays, sandbox.CardPays, sandbox.CardPays, sandbox.CardFailsLater,
			}}
			for range 60 {
				w.step(t)
				w.handleReports(t)
			}
			// The looks find all that was missed.
			w.sync(t)
			w.compare(t)
			before := w.entries(t)
			require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), w.owner.TenantID))
			require.Equal(t, before, w.entries(t), "a second copy of the same state changes nothing")
		})
	}
}

// step does one random thing. Refusals are fine.
func (w *walk) step(t *testing.T) {
	t.Helper()
	if w.dice.IntN(6) == 0 {
		w.s.Sandbox.LoseAnswers(1, "/v1/")
	}
	plan := []string{"STARTER", "PRO"}[w.dice.IntN(2)]
	interval := []string{"MONTH", "YEAR"}[w.dice.IntN(2)]
	switch w.dice.IntN(9) {
	case 0, 1:
		r := w.owner.Call(t, "POST", "/v1/me/billing/checkout", map[string]any{
			"plan": plan, "interval": interval, "successUrl": "https://acme.example/", "cancelUrl": "https://acme.example/",
		})
		if r.Status == 201 {
			var page api.BillingCheckout
			r.Into(t, 201, &page)
			_, err := w.s.Sandbox.CompleteCheckout(page.SessionID, w.cards[w.dice.IntN(3)])
			require.NoError(t, err)
		}
	case 2:
		w.owner.Call(t, "PATCH", "/v1/me/billing/subscription", map[string]any{"plan": plan, "interval": interval})
	case 3:
		w.owner.Call(t, "PATCH", "/v1/me/billing/subscription", map[string]any{"cancelAtPeriodEnd": w.dice.IntN(3) == 0})
	case 4:
		for _, c := range w.s.Sandbox.Customers() {
			_, err := w.s.Sandbox.UseCard(c.ID, w.cards[w.dice.IntN(len(w.cards))])
			require.NoError(t, err)
		}
	case 5:
		for _, i := range w.s.Sandbox.Invoices() {
			if i.Status == "open" {
				_, err := w.s.Sandbox.PayInvoice(i.ID)
				require.NoError(t, err)
			}
		}
	default:
		require.NoError(t, w.s.Sandbox.Advance(time.Duration(w.dice.IntN(20*24))*time.Hour))
	}
}

// handleReports handles the reports in a random order, some never and some twice.
func (w *walk) handleReports(t *testing.T) {
	t.Helper()
	customers := w.s.Sandbox.Customers()
	if len(customers) == 0 {
		return
	}
	for range w.dice.IntN(3) {
		err := w.s.Subscriptions.SyncCustomer(t.Context(), customers[w.dice.IntN(len(customers))].ID)
		if err != nil { // the answer was lost
			require.True(t, problem.Is(err, "processor_unavailable"), err)
		}
	}
	require.NoError(t, w.s.Subscriptions.SyncCustomer(t.Context(), "cus_of_another_platform"))
}

// sync copies the processor's state. It tries again while answers are lost.
func (w *walk) sync(t *testing.T) {
	t.Helper()
	persist(t, func() error { return w.s.Subscriptions.SyncTenant(t.Context(), w.owner.TenantID) })
}

// persist repeats an action until it succeeds, at most 200 times: more than the answers that a walk loses.
func persist(t *testing.T, action func() error) {
	t.Helper()
	err := action()
	for try := 1; err != nil && try < 200; try++ {
		err = action()
	}
	require.NoError(t, err)
}

// compare compares our copies with the processor's state.
func (w *walk) compare(t *testing.T) {
	t.Helper()
	q, tenantID := db.New(w.s.Pool), w.owner.TenantID
	rows, err := q.ListSubscriptionsOfTenant(t.Context(), tenantID)
	require.NoError(t, err)
	copied := map[string]db.Subscription{}
	recurring := int64(0)
	for _, row := range rows {
		if row.ProcessorSubscriptionID != nil {
			copied[*row.ProcessorSubscriptionID] = row
		}
		recurring += row.MonthlyCents
	}
	customer, err := q.GetBillingCustomer(t.Context(), tenantID)
	if err != nil {
		require.ErrorIs(t, err, pgx.ErrNoRows)
		return
	}
	running := 0
	for _, theirs := range w.s.Sandbox.Subscriptions() {
		if customer.ProcessorCustomerID == nil || theirs.CustomerID != *customer.ProcessorCustomerID {
			continue
		}
		ours, ok := copied[theirs.ID]
		require.True(t, ok, "subscription %s is not copied", theirs.ID)
		require.Equal(t, theirs.CancelAtPeriodEnd, ours.CancelAtPeriodEnd)
		price, _ := w.s.Sandbox.Price(theirs.Items[0].PriceID)
		require.Equal(t, []any{shown(theirs), price.UnitCents, theirs.PeriodStart, theirs.PeriodEnd, theirs.TrialEnd, theirs.CanceledAt},
			[]any{ours.Status, ours.PriceCents, ours.PeriodStart.Unix(), ours.PeriodEnd.Unix(), unix(ours.TrialEndsAt), unix(ours.CanceledAt)})
		if ours.Status == subscription.Active || ours.Status == subscription.Trialing || ours.Status == subscription.PastDue {
			running++
		}
	}
	require.LessOrEqual(t, running, 1, "two plans are never booked")
	w.compareInvoices(t, customer)
	revenue, err := w.s.Subscriptions.GetRevenue(t.Context())
	require.NoError(t, err)
	require.Equal(t, recurring, revenue.MonthlyRecurring["USD"])
	require.Equal(t, recurring, w.sum(t, "kind IN ('NEW', 'REACTIVATION', 'EXPANSION', 'CONTRACTION', 'CHURN')"), "the ledger adds up")
	tenant, err := q.GetTenant(t.Context(), tenantID)
	require.NoError(t, err)
	if running == 0 && tenant.Status != "PAST_DUE" {
		require.Equal(t, "FREE", tenant.Plan)
	}
}

// shown is our name for the status of the processor's subscription.
func shown(theirs sandbox.Subscription) string {
	if theirs.Status == sandbox.IncompleteExpired {
		return subscription.Canceled
	}
	return strings.ToUpper(theirs.Status)
}

// unix returns a time as the processor has it.
func unix(at *time.Time) int64 {
	if at == nil {
		return 0
	}
	return at.Unix()
}

func (w *walk) compareInvoices(t *testing.T, customer db.BillingCustomer) {
	t.Helper()
	paid := int64(0)
	for _, theirs := range w.s.Sandbox.Invoices() {
		if customer.ProcessorCustomerID == nil || theirs.CustomerID != *customer.ProcessorCustomerID {
			continue
		}
		rows, err := db.New(w.s.Pool).ListInvoicesOfProcessor(t.Context(), db.ListInvoicesOfProcessorParams{
			TenantID: w.owner.TenantID, ProcessorInvoiceIds: []string{theirs.ID},
		})
		require.NoError(t, err)
		require.Len(t, rows, 1, "invoice %s is copied once", theirs.ID)
		paid += rows[0].PaidCents
		require.Equal(t, []any{strings.ToUpper(theirs.Status), theirs.TotalCents, theirs.PaidCents},
			[]any{rows[0].Status, rows[0].TotalCents, rows[0].PaidCents})
	}
	require.Equal(t, paid, w.sum(t, "kind = 'PAYMENT'"), "each payment is in the ledger once")
}

func (w *walk) sum(t *testing.T, where string) (cents int64) {
	t.Helper()
	require.NoError(t, w.s.Pool.QueryRow(t.Context(), `SELECT coalesce(sum(amount_cents), 0)::bigint FROM revenue_entries WHERE `+where).Scan(&cents))
	return cents
}

func (w *walk) entries(t *testing.T) (n int) {
	t.Helper()
	err := w.s.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM revenue_entries) + (SELECT count(*) FROM events) + (SELECT count(*) FROM mails)
		+ (SELECT count(*) FROM audit_entries)`).Scan(&n)
	require.NoError(t, err)
	return n
}

// TestTwoReadingsAtOnce: of two readings of the processor's state, the later one counts, also if the earlier one is applied last.
func TestTwoReadingsAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	var page api.BillingCheckout
	owner.Call(t, "POST", "/v1/me/billing/checkout", map[string]any{
		"plan": "PRO", "successUrl": "https://acme.example/", "cancelUrl": "https://acme.example/",
	}).Into(t, 201, &page)
	_, err := s.Sandbox.CompleteCheckout(page.SessionID, sandbox.CardPays)
	require.NoError(t, err)
	arrived, resume := s.Sandbox.Block("/v1/invoices") // the first reading has read the subscriptions
	first := make(chan error, 1)
	go func() { first <- s.Subscriptions.SyncTenant(context.WithoutCancel(t.Context()), owner.TenantID) }()
	<-arrived
	_, err = s.Sandbox.CancelInPortal(s.Sandbox.Subscriptions()[0].ID, true)
	require.NoError(t, err)
	second := make(chan error, 1)
	go func() { second <- s.Subscriptions.SyncTenant(context.WithoutCancel(t.Context()), owner.TenantID) }()
	resume()
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	require.NoError(t, s.Subscriptions.SyncTenant(t.Context(), owner.TenantID))
	rows, err := db.New(s.Pool).ListSubscriptionsOfTenant(t.Context(), owner.TenantID)
	require.NoError(t, err)
	require.True(t, rows[0].CancelAtPeriodEnd)
}

// TestTwoPagesBookOnePlan: an earlier checkout page closes when another one opens.
func TestTwoPagesBookOnePlan(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	open := func(plan string) (page api.BillingCheckout) {
		owner.Call(t, "POST", "/v1/me/billing/checkout", map[string]any{
			"plan": plan, "successUrl": "https://acme.example/", "cancelUrl": "https://acme.example/",
		}).Into(t, 201, &page)
		return page
	}
	first, second := open("STARTER"), open("PRO")
	_, err := s.Sandbox.CompleteCheckout(first.SessionID, sandbox.CardPays)
	require.Error(t, err, "it has closed")
	_, err = s.Sandbox.CompleteCheckout(second.SessionID, sandbox.CardPays)
	require.NoError(t, err)
	require.Len(t, s.Sandbox.Subscriptions(), 1)
}
