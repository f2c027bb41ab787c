package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/media/hub"
	"showfloor/internal/outflow/webhook"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
)

// syncEndpoints is the number of endpoints of the tenant with the large syncs. Each receives all
// events, so a sync of 500 products creates 20,000 deliveries.
const syncEndpoints = 40

// BenchmarkCatalogSyncNeighbour measures how long one tenant's write of one product takes:
// alone, and while another tenant syncs 500 products to 40 endpoints, until all deliveries of
// the sync are written. The deliveries are not sent. The two cases take turns in one run.
func BenchmarkCatalogSyncNeighbour(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	for i := range syncEndpoints {
		_, _, err := a.Webhooks.CreateWebhook(b.Context(), a.caller, webhook.EndpointInput{URL: fmt.Sprintf("https://127.0.0.1:1/hook-%d", i)})
		require.NoError(b, err)
	}
	neighbour := a.secondTenant(b)
	var quiet, beside, sync, written []time.Duration
	round := 0
	for b.Loop() {
		for range 4 {
			round++
			for range 200 {
				quiet = append(quiet, a.writeOne(b, neighbour, round))
			}
			_, err := a.pool.Exec(b.Context(), "VACUUM ANALYZE") // the database is too new for autovacuum to have run
			require.NoError(b, err)
			list := items("mug", (round-1)/2) // first new products, then the same ones with other prices
			for i := range list {
				list[i].PriceCents = int64(round)
			}
			start, done := time.Now(), make(chan error, 1)
			var answered time.Duration
			go func() {
				_, err := a.Catalog.SyncCatalog(context.WithoutCancel(b.Context()), a.caller, list)
				answered = time.Since(start)
				if err == nil { // what the server does after the commit
					err = a.Webhooks.FanOut(context.WithoutCancel(b.Context()))
				}
				done <- err
			}()
			for busy := true; busy; {
				select {
				case err := <-done:
					require.NoError(b, err)
					busy = false
				default:
					beside = append(beside, a.writeOne(b, neighbour, round))
				}
			}
			sync, written = append(sync, answered), append(written, time.Since(start))
		}
	}
	var deliveries int
	require.NoError(b, a.pool.QueryRow(b.Context(), "SELECT count(*) FROM webhook_deliveries").Scan(&deliveries))
	require.Equal(b, round*syncItems*syncEndpoints, deliveries)
	b.ReportMetric(0, "ns/op")
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", .5}, {"p95", .95}, {"max", 1}} {
		b.ReportMetric(milliseconds(quantile(quiet, q.at)), "alone-"+q.name+"-ms")
		b.ReportMetric(milliseconds(quantile(beside, q.at)), "beside-"+q.name+"-ms")
	}
	b.ReportMetric(float64(quantile(beside, .95))/float64(quantile(quiet, .95)), "ratio-p95")
	b.ReportMetric(milliseconds(quantile(sync, .5)), "sync-ms")
	b.ReportMetric(milliseconds(quantile(written, .5)), "written-ms")
}

// secondTenant registers another tenant, without endpoints.
func (a *services) secondTenant(b *testing.B) tenancy.Caller {
	b.Helper()
	owner, err := a.Accounts.Register(b.Context(), account.Registration{
		TenantName: "Neighbour", Name: "Neighbour", Email: "neighbour@example.com", Password: "correct horse battery",
	}, tenancy.Origin{})
	require.NoError(b, err)
	require.NoError(b, db.New(a.pool).SetTenantPlan(b.Context(), db.SetTenantPlanParams{ID: owner.Tenant.ID, Plan: "ENTERPRISE", Now: time.Now()}))
	return tenancy.Caller{TenantID: owner.Tenant.ID, UserID: owner.User.ID, Role: tenancy.Owner, Scopes: tenancy.Owner.Scopes()}
}

// writeOne writes a product and returns the time that it took.
func (a *services) writeOne(b *testing.B, c tenancy.Caller, price int) time.Duration {
	b.Helper()
	start := time.Now()
	_, err := a.Catalog.UpsertProduct(b.Context(), c, catalog.Input{ExternalID: "ONE", Name: "One mug", PriceCents: int64(price)})
	require.NoError(b, err)
	return time.Since(start)
}
