package subscription_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// Secrets of test servers' processor.
const (
	platformSecret = "whsec_platform"
	connectSecret  = "whsec_connect"
)

// TestReportsInRandomOrder walks through more than a year. The processor's reports arrive by the webhook route with real signatures: in
// random order, some repeatedly and some never, among forged ones, reports of other accounts, and reports of unknown versions and types.
// After one look our copies are equal to the processor's state, with one event and one mail for each change.
func TestReportsInRandomOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), SignupPlan: []string{"FREE", "STARTER"}[seed%2]})
			w := &walk{s: s, owner: s.Register(t), dice: rand.New(rand.NewPCG(seed, 7)), cards: []string{
				sandbox.CardPays, sandbox.CardPays, sandbox.CardPays, sandbox.CardFailsLater,
			}}
			for n := range 60 {
				w.step(t)
				if n%6 == 5 {
					w.deliver(t)
				}
			}
			w.handle(t)
			w.sync(t) // the look; lost answers are left from the walk
			w.compare(t)
			w.requireOneEach(t)
			before := w.entries(t)
			for _, e := range s.Sandbox.Events() { // all of them once more, the newest first
				w.report(t, e.Payload, platformSecret, time.Now()).Is(t, http.StatusCreated)
			}
			w.handle(t)
			require.Equal(t, before, w.entries(t), "reports of what is known change nothing")
		})
	}
}

// deliver sends a random part of all reports so far, in random order and some of them several times, among others that have no effect.
func (w *walk) deliver(t *testing.T) {
	t.Helper()
	list := w.s.Sandbox.Events()
	w.dice.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, e := range list[:len(list)*2/3] {
		switch w.dice.IntN(8) {
		case 0:
			w.forge(t, e)
		case 1: // of another account, which is no seller here
			w.report(t, edited(t, e, "account", "acct_of_another_platform"), connectSecret, time.Now()).Is(t, http.StatusCreated)
		case 2:
			w.report(t, edited(t, e, "api_version", "2031-04-01.future"), platformSecret, time.Now()).Is(t, http.StatusCreated)
		case 3:
			kind := []string{"made.up", "invoice.made_up", "customer.subscription.made_up"}[w.dice.IntN(3)]
			w.report(t, edited(t, e, "type", kind), platformSecret, time.Now()).Is(t, http.StatusCreated)
		default:
			for range 1 + w.dice.IntN(2) {
				w.report(t, e.Payload, platformSecret, time.Now()).Is(t, http.StatusCreated)
			}
		}
		if w.dice.IntN(5) == 0 {
			w.handle(t)
		}
	}
	w.handle(t)
}

// forge sends a report that the processor hasn't signed. It is refused and leaves nothing.
func (w *walk) forge(t *testing.T, e sandbox.Event) {
	t.Helper()
	before := w.received(t)
	w.report(t, e.Payload, "whsec_guessed", time.Now()).Problem(t, http.StatusBadRequest, "invalid_signature")
	w.report(t, e.Payload, platformSecret, time.Now().Add(-6*time.Minute)).Problem(t, http.StatusBadRequest, "invalid_signature")
	signed := sandbox.Sign(e.Payload, platformSecret, time.Now())
	w.send(t, edited(t, e, "type", "invoice.paid"), signed).Problem(t, http.StatusBadRequest, "invalid_signature")
	require.Equal(t, before, w.received(t))
}

// edited returns a report with another id and another value of a field.
func edited(t *testing.T, e sandbox.Event, field, value string) []byte {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal(e.Payload, &fields))
	fields["id"] = fmt.Sprintf("%s_%s_%s", e.ID, field, value)
	fields[field] = value
	body, err := json.Marshal(fields)
	require.NoError(t, err)
	return body
}

// report sends a report that was signed at that time.
func (w *walk) report(t *testing.T, body []byte, secret string, at time.Time) apitest.Response {
	t.Helper()
	return w.send(t, body, sandbox.Sign(body, secret, at))
}

func (w *walk) send(t *testing.T, body []byte, signature string) apitest.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.s.URL+"/v1/billing/webhook", bytes.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("Stripe-Signature", signature)
	return w.s.With(t, "").Do(t, r)
}

// handle processes the received reports in random order, until none is left.
func (w *walk) handle(t *testing.T) {
	t.Helper()
	persist(t, func() error {
		waiting := w.waiting(t)
		if len(waiting) == 0 {
			return nil
		}
		last := fmt.Errorf("reports are left: %q", waiting)
		w.dice.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
		for _, id := range waiting {
			if _, err := w.s.Billing.HandleProcessorEvent(t.Context(), id); err != nil { // the answer was lost: its job tries again
				require.True(t, problem.Is(err, "processor_unavailable"), err)
				last = err
			}
		}
		return last
	})
}

func (w *walk) waiting(t *testing.T) []string {
	t.Helper()
	return w.column(t, "SELECT id FROM processor_events WHERE processed_at IS NULL ORDER BY id")
}

func (w *walk) received(t *testing.T) []string {
	t.Helper()
	return w.column(t, "SELECT id FROM processor_events ORDER BY id")
}

// column returns a query's only column.
func (w *walk) column(t *testing.T, query string) []string {
	t.Helper()
	rows, err := w.s.Pool.Query(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	list := []string{}
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		list = append(list, text)
	}
	require.NoError(t, rows.Err())
	return list
}

// requireOneEach requires one event, one audit entry and at most one mail for each change.
func (w *walk) requireOneEach(t *testing.T) {
	t.Helper()
	require.Empty(t, w.column(t, `SELECT i.id || ' ' || i.status FROM invoices i
		WHERE (SELECT count(*) FROM events e WHERE e.subject = i.id AND e.event = 'invoice.paid') <> (i.status = 'PAID')::int`), "invoice.paid is sent once")
	require.Empty(t, w.column(t, `SELECT i.id FROM invoices i
		WHERE (SELECT count(*) FROM events e WHERE e.subject = i.id AND e.event = 'invoice.payment_failed') > i.failed_attempts`))
	require.Empty(t, w.column(t, `SELECT 'failed: ' || n FROM (SELECT (SELECT count(*) FROM mails WHERE kind = 'billing_payment_failed')
			- (SELECT count(*) FROM events WHERE event = 'invoice.payment_failed' AND payload->'data'->>'status' <> 'PAID') AS n) x WHERE n <> 0`))
	// Without its page's URL, an event differs from the one before, except at the end of a grace period, which has a mail.
	require.Empty(t, w.column(t, `WITH shown AS (
			SELECT subject, payload->'data'->>'status' AS status, payload->>'data' AS data, sequence,
				lag(payload->>'data') OVER (PARTITION BY subject ORDER BY sequence) AS before
			FROM events WHERE event = 'subscription.updated')
		SELECT subject || ' ' || sequence FROM shown WHERE data = before AND status <> 'UNPAID'`), "no change is announced twice")
	require.Empty(t, w.column(t, `SELECT s.id FROM subscriptions s
		WHERE (SELECT count(*) FROM events e WHERE e.subject = s.id AND e.event = 'subscription.updated')
			NOT BETWEEN (SELECT count(*) FROM audit_entries a WHERE a.entity_id = s.id AND a.action IN ('subscription.create', 'subscription.update'))
				AND (SELECT count(*) FROM audit_entries a WHERE a.entity_id = s.id AND a.action IN ('subscription.create', 'subscription.update'))
					+ (SELECT count(*) FROM mails WHERE kind = 'billing_limits_ended')`), "each change has an audit entry and an event")
}
