package report

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
)

// TestTotalsAreComputedBackwards: the total of each day follows from the present one, the sign-ups and the cancellations.
func TestTotalsAreComputedBackwards(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	got := growthDays(from, from.AddDate(0, 0, 2).Add(time.Hour), 10,
		[]db.CountTenantsByDayRow{{Day: from, N: 4}, {Day: from.AddDate(0, 0, 2), N: 3}, {Day: from.AddDate(0, 0, 9), N: 1}},
		[]db.CountTenantActionsByDayRow{
			{Action: "tenant.cancel", Day: from.AddDate(0, 0, 1), N: 2}, {Action: "tenant.suspend", Day: from, N: 1},
		})
	require.Equal(t, []GrowthDay{
		{Day: from, New: 4, Suspended: 1, Total: 9},
		{Day: from.AddDate(0, 0, 1), Cancelled: 2, Total: 7},
		{Day: from.AddDate(0, 0, 2), New: 3, Total: 10},
	}, got)
}
