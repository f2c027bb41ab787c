package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/postgres/embedded"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/testkit/soak"
)

// shopTime is the time after which the least number of kills is enough.
const shopTime = 3 * time.Minute

// crashSeed is the seed of the choices of tests that kill servers at random instants: SHOWFLOOR_CRASH_SEED, or a constant. The seed
// doesn't determine how the kernel schedules the processes.
func crashSeed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("SHOWFLOOR_CRASH_SEED")
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return seed
}

// TestKillWhileSelling kills a server and its database repeatedly while a crowd
// buys, bids, pays and requests refunds. The processor loses answers and sends its
// webhooks late, twice and in any order. Afterwards the processor's records, the
// shop's rows and the received webhooks must agree.
func TestKillWhileSelling(t *testing.T) {
	t.Parallel()
	seed := crashSeed(t)
	t.Logf("SHOWFLOOR_CRASH_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	box, options := openTill(t)
	s := serve(t, append(options, set("RATE_LIMIT_CALLER", "off"), set("RATE_LIMIT_TENANT", "off"))...)
	sh := openShop(t, s, box)
	hooks := newSink(t, sh.tenant, nil, api.EventNamePurchaseCompleted, api.EventNamePurchaseRefunded,
		api.EventNameAuctionWon, api.EventNameAuctionReserveNotMet, api.EventNameInventoryDepleted)

	began := time.Now()
	c := gather(t, sh, seed)
	t.Cleanup(func() {
		c.disperse()
		t.Logf("the crowd: %v", c.counts)
	})
	wanted, least, most := soak.Times(50, 150), soak.Times(15, 50), soak.Times(100, 300)
	kills := 0
	enough := func() bool { return kills >= wanted || kills >= least && time.Since(began) > shopTime }
	// On a busy machine, little happens between the kills: then there are more, and longer pauses.
	for ; !enough() || kills < most && (!c.hasTraded() || !sh.allRedeemed()); kills++ {
		pause(t, time.Duration(50+r.IntN(850))*time.Millisecond)
		if enough() {
			pause(t, 2*time.Second)
		}
		s.kill()
		if pid := s.postgres(); pid != 0 && oneIn(r, 2) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails if the process has just ended
		}
		if oneIn(r, 10) { // this start is killed before the server is ready
			early := begin(t, s.command(t))
			pause(t, time.Duration(r.IntN(500))*time.Millisecond)
			early.kill()
		}
		s.start(t)
	}
	require.True(t, c.hasTraded(), "pages were paid, bids placed and refunds requested")
	pause(t, time.Second)
	c.disperse()
	t.Logf("%d kills in %s", kills, time.Since(began).Round(time.Second))

	pool := s.database(t)
	closeShop(t, sh, pool)
	t.Logf("all settled after %s", time.Since(began).Round(time.Second))
	b := readBooks(t, pool)
	b.requirePromises(t, c)
	b.requirePayments(t, box)
	b.requireRefunds(t, box)
	b.requireStock(t, box, append(sh.products, sh.prize))
	b.requireCodes(t)
	b.requireAuctions(t)
	b.requireEvents(t, pool, hooks)
	t.Logf("%d orders, %d of them paid, %d auctions, %d of them with bids", len(b.orders), b.paid(), len(b.auctions), len(b.bids))
}

// disperse stops all clients and waits until they have ended.
func (c *crowd) disperse() {
	c.halt()
	c.busy.Wait()
}

// database connects to the server's built-in database.
func (s *server) database(t testing.TB) *pgxpool.Pool {
	t.Helper()
	url, err := embedded.Running(s.dir)
	require.NoError(t, err)
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// closeShop ends every page at the processor, advances the time for which the
// server waits on uncertain outcomes, and waits until nothing is pending.
func closeShop(t testing.TB, sh *shop, pool *pgxpool.Pool) {
	t.Helper()
	require.NoError(t, sh.box.ReleaseEvents())
	none(t, pool, "auctions", "SELECT id, status FROM auctions WHERE status = 'LIVE'")
	none(t, pool, "winners without a page", `SELECT id, status FROM orders
		WHERE status = 'PENDING' AND auction_id IS NOT NULL AND checkout_session_id IS NULL`)
	for _, page := range sh.box.Sessions("") {
		switch {
		case page.Status == sandbox.StatusOpen:
			_, err := sh.box.Expire(page.ID)
			require.NoError(t, err)
		case page.Status == sandbox.StatusComplete && page.PaymentStatus == sandbox.Unpaid:
			if payment, _ := sh.box.Payment(page.PaymentID); payment.Status == sandbox.Processing {
				_, err := sh.box.Settle(page.ID, false)
				require.NoError(t, err)
			}
		}
	}
	attempts, err := sh.box.Deliver(t.Context())
	require.NoError(t, err)
	for _, a := range attempts {
		require.True(t, a.OK(), "%s was answered with %d %s", a.Type, a.Status, a.Error)
	}
	none(t, pool, "orders", "SELECT id, status FROM orders WHERE status = 'PENDING'")
	none(t, pool, "refunds", "SELECT id, status FROM refunds WHERE status = 'PENDING'")
	none(t, pool, "reports", "SELECT id, type AS status FROM processor_events WHERE processed_at IS NULL")
	none(t, pool, "events", "SELECT id, event AS status FROM events WHERE fanned_at IS NULL")
	none(t, pool, "deliveries", "SELECT id, status FROM webhook_deliveries WHERE status <> 'delivered'")
}

// none waits until the query returns no rows. Meanwhile it moves the due times of
// orders and jobs ten minutes at a time.
func none(t testing.TB, pool *pgxpool.Pool, what, query string) {
	t.Helper()
	type open struct{ ID, Status string }
	var left []open
	t.Cleanup(func() {
		if len(left) > 0 {
			t.Logf("%s that are left: %v", what, left)
			t.Logf("jobs that have not completed: %s", openJobs(pool))
		}
	})
	until(t, "no "+what+" are left", func() bool {
		if left = read[open](t, pool, query); len(left) == 0 {
			return true
		}
		_, err := pool.Exec(t.Context(), `UPDATE orders SET created_at = created_at - interval '10 minutes', check_at = check_at - interval '10 minutes'
			WHERE status = 'PENDING' AND check_at > now()`)
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), `UPDATE river_job SET scheduled_at = now(), state = 'available'
			WHERE state IN ('scheduled', 'retryable') AND kind IN ('order_check', 'order_finish_refund', 'billing_processor_event')`)
		require.NoError(t, err)
		return false
	})
}

// openJobs describes the payment jobs that have not completed.
func openJobs(pool *pgxpool.Pool) (text string) {
	err := pool.QueryRow(context.Background(), `
		SELECT coalesce(json_agg(json_build_object('id', id, 'kind', kind, 'args', args, 'state', state, 'attempt', attempt,
			'attemptedAt', attempted_at, 'scheduledAt', scheduled_at, 'lastError', errors[cardinality(errors)])), '[]')::text
		FROM river_job WHERE state <> 'completed' AND kind IN ('order_check', 'order_finish_refund', 'billing_processor_event')`).Scan(&text)
	if err != nil {
		return err.Error()
	}
	return text
}
