package bench

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/console/seed"
)

const (
	// defaultListRows is the number of streams, unless rowsEnv says otherwise.
	defaultListRows = 100_000
	rowsEnv         = "SHOWFLOOR_BENCH_ROWS"
	// listTenants is the number of tenants.
	listTenants = 10_000
	// liveRows is the number of streams, sessions and auctions on air.
	liveRows = 200
)

// listCounts are the sizes of a large platform: 10,000 tenants, and for each stream 5 deliveries and 10 entries of the audit log.
func listCounts(b *testing.B) seed.Counts {
	b.Helper()
	rows := defaultListRows
	if text := os.Getenv(rowsEnv); text != "" {
		var err error
		rows, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	return seed.Counts{
		Tenants: listTenants, Streams: rows, Deliveries: 5 * rows, AuditEntries: 10 * rows, Rows: max(defaultListRows, rows/10), Live: liveRows,
	}
}

// seed writes the rows, half of them for the tenant of the benchmark, and sums the figures that jobs keep.
func (a *services) seed(b *testing.B, counts seed.Counts) *seed.Seed {
	b.Helper()
	rows, err := seed.New(counts, a.caller.TenantID, time.Now())
	require.NoError(b, err)
	started := time.Now()
	require.NoError(b, rows.Write(b.Context(), a.pool, func(table string, written, all int) {
		if written == all {
			b.Logf("%s: %d rows after %s", table, all, time.Since(started).Round(time.Second))
		}
	}))
	for name, sum := range map[string]func() error{
		"figures": func() error { return a.Analytics.SumFigures(b.Context()) }, "row counts": func() error { return a.Analytics.AddRowCounts(b.Context()) },
		"audit days": func() error { return a.AuditDays.CountDays(b.Context()) }, "activity": func() error { return a.Reports.SumActivity(b.Context()) },
	} {
		require.NoError(b, sum(), name)
	}
	_, err = a.pool.Exec(b.Context(), `VACUUM ANALYZE figure_hours, sales_hours, audit_days, audit_platform_days, row_counts, row_count_changes, activity_hours, activity_days`)
	require.NoError(b, err)
	_, err = a.pool.Exec(b.Context(), `CHECKPOINT`)
	require.NoError(b, err)
	return rows
}
