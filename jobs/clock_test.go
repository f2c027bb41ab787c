package jobs_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestJobsGoByTheDatabasesClock checks that jobs run when they are due by the database's
// clock, however wrong this machine's clock is.
func TestJobsGoByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{
		"10 s ahead": 10 * time.Second, "1 h ahead": time.Hour, "1 h behind": -time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.NewSkewed(t, -ahead)
			// The second retry is later than the queue's scheduler looks ahead.
			s := apitest.New(t, apitest.Options{
				Jobs: true, Pool: pool, RingTimeout: time.Second, Schedule: []time.Duration{time.Second, 6 * time.Second},
			})
			latest := watchLatest(t, pool)
			owner := s.Register(t)
			sink := apitest.NewSink(t, func(w http.ResponseWriter, r apitest.Received) {
				if r.Attempt < 3 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})
			hook := owner.Webhook(t, sink.URL, "stream.started")
			emit(t, s, owner.TenantID, "stream.started", "str_1", 1)
			soon, later := owner.Auction(t, map[string]any{"durationSec": 1}), owner.Auction(t, map[string]any{"durationSec": 7})
			ring := owner.Ring(t, nil)
			const email = "ada@acme.example"
			for _, path := range []string{"/v1/auth/send-code", "/v1/auth/resend-code"} {
				s.With(t, "").Call(t, "POST", path, map[string]any{
					"tenantName": "Acme", "name": "Ada", "email": email, "password": apitest.Password,
				}).Is(t, 201)
			}

			apitest.Until(t, "the mails", func() bool { return len(s.MailsTo(t, email)) == 2 })
			apitest.Until(t, "the call to be missed", func() (missed bool) {
				require.NoError(t, pool.QueryRow(t.Context(),
					"SELECT coalesce(cancelled_as, '') = 'missed' FROM calls WHERE session_id = $1", ring.SessionID).Scan(&missed))
				return missed
			})
			untilAuction(t, owner, soon.ID, api.AuctionStatusENDED)
			untilAuction(t, owner, later.ID, api.AuctionStatusENDED)
			require.Equal(t, api.WebhookDeliveryStatusDelivered, settled(t, owner, hook)[0].Status)

			// The jobs were postponed by at most 7 s on the database's clock, and no job ran repeatedly before it was
			// due.
			require.Less(t, latest(), 10*time.Second)
			var snoozes int
			require.NoError(t, pool.QueryRow(t.Context(),
				"SELECT coalesce(max((metadata->>'snoozes')::int), 0) FROM river_job").Scan(&snoozes))
			require.LessOrEqual(t, snoozes, 4)
		})
	}
}

// watchLatest watches the queue until the test ends. latest returns the longest time by
// which a job was due ahead of the database's clock.
func watchLatest(t *testing.T, pool *pgxpool.Pool) (latest func() time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var most time.Duration
	var work sync.WaitGroup
	work.Go(func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for {
			var ahead time.Duration
			err := pool.QueryRow(ctx, `SELECT coalesce(max(scheduled_at) - clock_timestamp(), '0')::interval FROM river_job
				WHERE state IN ('available', 'scheduled', 'retryable')`).Scan(&ahead)
			if err == nil {
				mu.Lock()
				most = max(most, ahead)
				mu.Unlock()
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { stop(); work.Wait() })
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return most
	}
}
