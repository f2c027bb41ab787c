package jobs_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"showfloor/internal/apitest"
	"showfloor/internal/event"
)

// TestATenantsFanOutsTakeOneTurn: of many jobs of one tenant the last one writes the
// deferred deliveries, so that another tenant's job waits for one run and not for all.
func TestATenantsFanOutsTakeOneTurn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true})
	owner := s.Register(t)
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(http.StatusOK) })
	for range 5 {
		owner.Webhook(t, sink.URL, "product.upserted")
	}
	var many []river.InsertManyParams
	for range 50 {
		many = append(many, river.InsertManyParams{Args: event.FanOutArgs{TenantID: owner.TenantID}})
	}
	_, err := s.Inserter.InsertMany(t.Context(), many)
	require.NoError(t, err)
	items := make([]map[string]any, 150)
	for i := range items {
		items[i] = map[string]any{"externalId": fmt.Sprint("SKU-", i), "name": "Mug", "priceCents": 1}
	}
	owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": items}).Is(t, http.StatusCreated)
	apitest.Until(t, "all jobs to end", func() bool {
		var left, deliveries int
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT
			(SELECT count(*) FROM river_job WHERE kind = 'webhook_fan_out' AND state <> 'completed'),
			(SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1)`, owner.TenantID).Scan(&left, &deliveries))
		return left == 0 && deliveries == 750
	})
}
