package e2e

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/soak"
)

const (
	// planTime is the least time that the processor's clock moves through for each kill: 100 kills take more than a year.
	planTime = 4 * 24 * time.Hour
	// leastPaid is the least number of invoices that are paid meanwhile.
	leastPaid = 5
	// billingKey is a key of a sandbox, whose clock the server follows.
	billingKey = "sk_sandbox_e2e"
)

// TestAYearOfKills moves tenants' subscriptions through months, and in a soak through more than a year, while the
// server is killed at random instants: within requests, jobs and reports. The processor outlives the kills. It loses answers, and its
// reports are late, repeated, reversed or dropped. Afterwards our rows equal the processor's state, and each change has one event, one
// audit entry, one entry of the ledger and one mail.
func TestAYearOfKills(t *testing.T) {
	t.Parallel()
	seed := crashSeed(t)
	wanted, most := soak.Times(30, 100), soak.Times(90, 300)
	least := time.Duration(wanted) * planTime
	t.Logf("SHOWFLOOR_CRASH_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	pool := dbtest.New(t)
	box, options := openTillAs(t, billingKey)
	s := serve(t, append(options, set("DATABASE_URL", pool.Config().ConnString()), set("SIGNUP_PLAN", "STARTER"),
		set("ADMIN_PASSWORD", "the root's password"), set("MASTER_KEY", base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))),
		set("RATE_LIMIT_CALLER", "off"), set("RATE_LIMIT_TENANT", "off"), set("RATE_LIMIT_AUTH", "off"))...)
	box.SendTo(s.url + "/v1/billing/webhook")
	_, err := pool.Exec(t.Context(), "UPDATE plans SET max_processor_calls = 600")
	require.NoError(t, err)

	began := time.Now()
	p := subscribe(t, s, box, seed)
	t.Cleanup(func() {
		p.disperse()
		t.Logf("the subscribers: %v", p.counts)
	})
	var starting time.Duration
	kills := 0
	// On a busy machine the clock moves slowly between the kills, or the server answers few requests: then there are more, and longer pauses.
	for ; kills < wanted || kills < most && (p.moved() < least || paidInvoices(box) < leastPaid); kills++ {
		if kills >= wanted {
			pause(t, 5*time.Second)
		}
		release := instant(t, r, box)
		s.kill()
		release()
		if oneIn(r, 10) { // this start is killed before the server is ready
			early := begin(t, s.command(t))
			pause(t, time.Duration(r.IntN(500))*time.Millisecond)
			early.kill()
		}
		s.start(t)
		starting += s.took
	}
	pause(t, time.Second)
	p.disperse()
	t.Logf("%d kills in %s, %s of them for starts; the processor's clock has moved by %s", kills, time.Since(began).Round(time.Second),
		starting.Round(time.Second), p.moved().Round(time.Hour))
	require.GreaterOrEqual(t, p.moved(), least)
	require.GreaterOrEqual(t, paidInvoices(box), leastPaid)

	settlePlans(t, s, box, pool)
	t.Logf("all settled after %s", time.Since(began).Round(time.Second))
	b := readPlanBooks(t, pool, box)
	b.requireSubscriptions(t)
	b.requireInvoices(t)
	b.requireTenants(t)
	b.requireLedger(t)
	b.requireChanges(t)
	b.requireMails(t)
	b.requireAnswers(t, p)
	t.Logf("%d subscriptions, %d invoices, %d changes", len(b.theirs), len(b.bills), len(b.changes))
}

// paidInvoices returns how many invoices the processor has that are paid.
func paidInvoices(box *sandbox.Server) int {
	n := 0
	for _, i := range box.Invoices() {
		if i.Status == sandbox.Paid {
			n++
		}
	}
	return n
}

// instant waits for the moment of a kill: a random one, or one at which the processor has received a request of the server and hasn't
// executed it yet. release lets it execute the request, whose answer is lost.
func instant(t testing.TB, r *rand.Rand, box *sandbox.Server) (release func()) {
	t.Helper()
	if oneIn(r, 2) {
		pause(t, time.Duration(r.IntN(900))*time.Millisecond)
		return func() {}
	}
	arrived, resume := box.Block(pick(r, []string{
		"/v1/", "/v1/customers", "/v1/checkout/sessions", "/v1/subscriptions", "/v1/subscriptions/", "/v1/subscription_schedules", "/v1/invoices",
	}))
	select {
	case <-arrived:
	case <-time.After(900 * time.Millisecond):
	}
	return resume
}

// settlePlans delivers the reports that are left, moves the clock behind the next hourly look, and waits until it has no effect any more.
func settlePlans(t testing.TB, s *server, box *sandbox.Server, pool *pgxpool.Pool) {
	t.Helper()
	box.ClearFaults()
	require.NoError(t, box.ReleaseEvents())
	restartAsLost(t, s, pool)
	until(t, "all reports are delivered", func() bool { // right after its start a server may answer too late
		attempts, err := box.Deliver(t.Context())
		if err != nil {
			t.Logf("deliver the reports: %s", err)
			return false
		}
		failed := slices.DeleteFunc(attempts, sandbox.Attempt.OK)
		for _, a := range failed {
			t.Logf("%s was answered with %d %s", a.Type, a.Status, a.Error)
		}
		return len(failed) == 0
	})
	awaitBilling(t, pool, "true")
	require.NoError(t, box.DropEvents("")) // the looks must find what no report says
	require.NoError(t, box.HoldEvents())
	require.NoError(t, box.Advance(61*time.Minute))
	restartAsLost(t, s, pool) // the first upkeep looks at once
	looked := box.Now().Add(-time.Minute).UTC().Format("'" + time.RFC3339 + "'")
	awaitBilling(t, pool, `NOT EXISTS (SELECT FROM billing_customers c WHERE c.processor_customer_id IS NOT NULL AND c.read_at < `+looked+`
		AND EXISTS (SELECT FROM subscriptions s WHERE s.tenant_id = c.tenant_id AND s.status <> 'CANCELED'))`)
}

// restartAsLost kills the server and starts it. The jobs that were running count as lost at once, instead of after 2 minutes.
func restartAsLost(t testing.TB, s *server, pool *pgxpool.Pool) {
	t.Helper()
	s.kill()
	_, err := pool.Exec(t.Context(), "UPDATE river_job SET attempted_at = attempted_at - interval '3 minutes' WHERE state = 'running'")
	require.NoError(t, err)
	s.start(t)
}

// awaitBilling waits until no report or job about a subscription is left, and the condition is true. It moves due times of jobs ahead.
func awaitBilling(t testing.TB, pool *pgxpool.Pool, condition string) {
	t.Helper()
	var left []string
	t.Cleanup(func() {
		if len(left) > 0 {
			t.Logf("left: %v", left)
		}
	})
	const ours = "kind IN ('billing_sync', 'billing_cancel_duplicate', 'billing_processor_event')"
	until(t, "the subscriptions are settled", func() bool {
		left = column(t, pool, `SELECT 'report ' || id || ' ' || type FROM processor_events WHERE processed_at IS NULL
			UNION ALL SELECT 'job ' || kind || ' ' || state || ' ' || args FROM river_job
				WHERE `+ours+` AND state NOT IN ('completed', 'discarded', 'cancelled')
			UNION ALL SELECT 'condition' WHERE NOT (`+condition+`)`)
		if len(left) == 0 {
			return true
		}
		// Their state is left to River's scheduler: a waiting job and an available one may have the same unique key.
		_, err := pool.Exec(t.Context(),
			"UPDATE river_job SET scheduled_at = now() WHERE state IN ('scheduled', 'retryable') AND scheduled_at > now() AND "+ours)
		require.NoError(t, err)
		return false
	})
}
