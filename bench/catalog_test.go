package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/media/hub"
)

// syncItems is the largest number of products in one sync.
const syncItems = 500

// BenchmarkCatalogSync compares syncs of 500 new products and of 500 changed
// ones, each with its events and audit entry, with a bare COPY of the same rows
// into a similar table. The three take turns; each commits to the disk.
func BenchmarkCatalogSync(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	_, err := a.pool.Exec(b.Context(), "CREATE TABLE copied (LIKE products INCLUDING ALL)")
	require.NoError(b, err)
	known := items("known", 0)
	sync := func(list []catalog.Input) time.Duration {
		start := time.Now()
		n, err := a.Catalog.SyncCatalog(b.Context(), a.caller, list)
		require.NoError(b, err)
		require.Equal(b, syncItems, n)
		return time.Since(start)
	}
	var fresh, existing, bare []time.Duration
	round := 0
	for range 6 { // warms up prepared statements, caches and the first pages of each table
		sync(items("warm", round))
		sync(known)
		copyItems(b, a, round)
		round++
	}
	for b.Loop() {
		for range 10 {
			round++
			bare = append(bare, copyItems(b, a, round))
			fresh = append(fresh, sync(items("new", round)))
			for i := range known {
				known[i].PriceCents = int64(round)
			}
			existing = append(existing, sync(known))
		}
	}
	baseline := quantile(bare, .5)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(baseline), "copy-ms")
	b.ReportMetric(milliseconds(quantile(fresh, .5)), "new-ms")
	b.ReportMetric(milliseconds(quantile(existing, .5)), "existing-ms")
	b.ReportMetric(float64(quantile(fresh, .5))/float64(baseline), "new-ratio")
	b.ReportMetric(float64(quantile(existing, .5))/float64(baseline), "existing-ratio")
}

// items returns 500 products as a shop sends them.
func items(kind string, round int) []catalog.Input {
	list := make([]catalog.Input, syncItems)
	for i := range list {
		list[i] = catalog.Input{
			ExternalID: fmt.Sprintf("%s-%05d-%03d", strings.ToUpper(kind), round, i), Name: fmt.Sprintf("Blue mug %d", i),
			Description: new("Stoneware, 350 ml, fit for the dishwasher and for the microwave"),
			ImageURL:    catalog.Nullable[string]{Given: true, Value: new(fmt.Sprintf("https://cdn.acme.example/mug-%d.jpg", i))},
			PriceCents:  1999, Stock: new(int64(40)), Metadata: []byte(`{"color":"blue"}`),
		}
	}
	return list
}

// copyItems copies the rows of such products and returns the time.
func copyItems(b *testing.B, a *services, round int) time.Duration {
	b.Helper()
	now := time.Now()
	var rows [][]any
	for _, in := range items("copy", round) {
		rows = append(rows, []any{
			id.New(id.Product), a.caller.TenantID, in.ExternalID, in.Name, *in.Description, *in.ImageURL.Value, in.PriceCents, "USD", *in.Stock,
			int64(5), string(in.Metadata), strings.ToLower(in.Name + in.ExternalID), now, now,
		})
	}
	start := time.Now()
	n, err := a.pool.CopyFrom(b.Context(), pgx.Identifier{"copied"}, []string{
		"id", "tenant_id", "external_id", "name", "description", "image_url", "price_cents", "currency", "stock",
		"low_stock_at", "metadata", "search", "created_at", "updated_at",
	}, pgx.CopyFromRows(rows))
	require.NoError(b, err)
	require.Equal(b, int64(syncItems), n)
	return time.Since(start)
}
