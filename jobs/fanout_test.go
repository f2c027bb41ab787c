package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"showfloor/internal/apitest"
	"showfloor/internal/event"
)

// TestATenantsFanOutsTakeOneTurn checks that the first of a tenant's many jobs writes the
// deferred deliveries and deletes the others, so that another tenant's job waits for one run
// and not for all.
func TestATenantsFanOutsTakeOneTurn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true})
	owner := s.Register(t)
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(http.StatusOK) })
	for range 5 {
		owner.Webhook(t, sink.URL, "product.upserted")
	}
	addFanOuts(t, s, owner.TenantID, 50)
	syncProducts(t, owner)
	apitest.Until(t, "all jobs to end", func() bool {
		var left, deliveries int
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT
			(SELECT count(*) FROM river_job WHERE kind = 'webhook_fan_out' AND state <> 'completed'),
			(SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1)`, owner.TenantID).Scan(&left, &deliveries))
		return left == 0 && deliveries == 750
	})
}

// TestAFanOutEndsWhileEventsGoOn checks that the deliveries are written even if jobs are added
// faster than they end.
func TestAFanOutEndsWhileEventsGoOn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true})
	owner := s.Register(t)
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(http.StatusOK) })
	for range 5 {
		owner.Webhook(t, sink.URL, "product.upserted")
	}
	ctx, stop := context.WithCancel(t.Context())
	var adding sync.WaitGroup
	adding.Go(func() {
		for ctx.Err() == nil {
			addFanOuts(t, s, owner.TenantID, 50)
		}
	})
	defer adding.Wait()
	defer stop()
	syncProducts(t, owner)
	apitest.Until(t, "the deliveries to be written", func() bool {
		var deliveries int
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1", owner.TenantID).
			Scan(&deliveries))
		return deliveries == 750
	})
}

// addFanOuts adds jobs for the deferred deliveries of a tenant.
func addFanOuts(t *testing.T, s *apitest.Server, tenantID string, jobs int) {
	t.Helper()
	many := make([]river.InsertManyParams, jobs)
	for i := range many {
		many[i].Args = event.FanOutArgs{TenantID: tenantID}
	}
	if _, err := s.Inserter.InsertMany(t.Context(), many); err != nil {
		t.Error(err)
	}
}

// syncProducts emits 150 events, too many for the fan-out to five endpoints in the same transaction.
func syncProducts(t *testing.T, owner *apitest.Caller) {
	t.Helper()
	items := make([]map[string]any, 150)
	for i := range items {
		items[i] = map[string]any{"externalId": fmt.Sprint("SKU-", i), "name": "Mug", "priceCents": 1}
	}
	owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": items}).Is(t, http.StatusCreated)
}
