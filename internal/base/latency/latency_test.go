package latency

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var c Counts
	require.Zero(t, c.Quantile(.5), "no durations")
	for i := range 1000 {
		c.Add(time.Duration(i+1) * time.Millisecond)
	}
	require.EqualValues(t, 1000, c.Total())
	for q, want := range map[float64]time.Duration{.5: 500 * time.Millisecond, .95: 950 * time.Millisecond, .01: 10 * time.Millisecond} {
		require.InEpsilon(t, float64(want), float64(c.Quantile(q)), .16, "q = %v", q)
	}
	var extremes Counts
	extremes.Add(0)
	extremes.Add(24 * time.Hour)
	require.EqualValues(t, 1, extremes[0])
	require.EqualValues(t, 1, extremes[Buckets-1])
}

func TestMerge(t *testing.T) {
	t.Parallel()
	var a Counts
	a.Merge([]int64{1, 2})
	a.Merge(make([]int64, Buckets+5))
	a.Merge([]int64{1})
	require.EqualValues(t, 4, a.Total())
	require.Equal(t, "{2,2,0", a.String()[:6])
}
