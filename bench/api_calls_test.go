package bench

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/handlers/pipeline"
	"showfloor/internal/media/hub"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/apicall"
)

// countedTenants is the number of tenants whose calls BenchmarkAPICallCounts counts in turns.
const countedTenants = 1000

// BenchmarkAPICallCounts measures the count of one call, of 1,000 tenants and 20 operations in turns. The baseline is a request with all
// layers and an empty handler, so that the ratio is an upper bound.
func BenchmarkAPICallCounts(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	_, key, err := a.Accounts.CreateAPIKey(b.Context(), a.caller, account.APIKeyInput{Name: "bench"})
	require.NoError(b, err)
	request := &timing{name: "all", handler: bareCreate(middleware(b, a, pipeline.Limits{})), token: key}
	calls := apicall.New(apicall.Config{Pool: a.pool, Log: slog.New(slog.DiscardHandler)})
	tenants, operations := make([]string, countedTenants), make([]string, 20)
	for i := range tenants {
		tenants[i] = fmt.Sprintf("ten_%026d", i)
	}
	for i := range operations {
		operations[i] = fmt.Sprintf("operation%d", i)
	}
	var counting time.Duration
	n := 0
	for b.Loop() {
		request.measure(b)
		start := time.Now()
		for i := range 100_000 {
			calls.Count(tenants[i%len(tenants)], operations[i%len(operations)], 200, time.Duration(i)*time.Microsecond)
		}
		counting += time.Since(start)
		n += 100_000
	}
	each := counting / time.Duration(n)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(each.Nanoseconds()), "count-ns")
	b.ReportMetric(us(request.p50()), "request-p50-us")
	b.ReportMetric(100*float64(each)/float64(request.p50()), "added-percent")
}
