package usage_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/dbtest"
)

func TestABatchThatIsSentTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	pool := dbtest.Shared(t)
	s := usage.New(usage.Config{Pool: pool})
	tenantID := id.New(id.Tenant)
	var list []usage.Interval
	for i := range 12_000 {
		from := hour.Add(time.Duration(i) * time.Second)
		list = append(list, usage.Interval{
			Owner: usage.Owner{TenantID: tenantID}, Source: "job", ResourceID: "rec_1", Meter: usage.RecordingMinutes,
			From: from, To: from.Add(time.Second), Amount: 1,
		})
	}
	n, err := s.Record(t.Context(), list[:7000])
	require.NoError(t, err)
	require.EqualValues(t, 7000, n)
	n, err = s.Record(t.Context(), list)
	require.NoError(t, err)
	require.EqualValues(t, 5000, n)
	require.Equal(t, usage.Amounts{usage.RecordingMinutes: 12_000}, sum(t, s, tenantID))
	require.Equal(t, 12_000, count(t, pool, tenantID))
	// Each change of source, meter, quality or resource gives another interval.
	for _, change := range []func(i *usage.Interval){
		func(i *usage.Interval) { i.Source = "other" }, func(i *usage.Interval) { i.Meter = usage.Pushes },
		func(i *usage.Interval) { i.Quality = "720p" }, func(i *usage.Interval) { i.ResourceID = "rec_2" },
	} {
		x := list[0]
		change(&x)
		n, err := s.Record(t.Context(), []usage.Interval{x})
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
	}
}

func TestIntervalsAreNeverChanged(t *testing.T) {
	t.Parallel()
	pool := dbtest.Shared(t)
	s := usage.New(usage.Config{Pool: pool})
	tenantID := id.New(id.Tenant)
	_, err := s.Record(t.Context(), []usage.Interval{{
		Owner: usage.Owner{TenantID: tenantID, ProjectID: "proj_1"}, Source: "job", ResourceID: "rec_1", Meter: usage.Pushes, From: hour, To: hour, Amount: 3,
	}})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `UPDATE usage_intervals SET amount = 4 WHERE tenant_id = $1`, tenantID)
	require.ErrorContains(t, err, "never changed")
}

// TestSumsOfPeriods checks that periods may begin and end at any time, and that an
// interval belongs to the period in which it begins.
func TestSumsOfPeriods(t *testing.T) {
	t.Parallel()
	pool := dbtest.Shared(t)
	s := usage.New(usage.Config{Pool: pool})
	tenantID := id.New(id.Tenant)
	var list []usage.Interval
	for i := range 4 * 360 { // four hours in intervals of 10 s; interval n has the amount n+1
		from := hour.Add(time.Duration(i) * 10 * time.Second)
		list = append(list, usage.Interval{
			Owner: usage.Owner{TenantID: tenantID}, Source: "job", ResourceID: "str_1", Meter: usage.EgressBytes,
			From: from, To: from.Add(10 * time.Second), Amount: int64(i + 1),
		})
	}
	_, err := s.Record(t.Context(), list)
	require.NoError(t, err)
	for _, span := range [][2]time.Duration{
		{0, 4 * time.Hour}, {-time.Hour, 5 * time.Hour}, {time.Hour, 2 * time.Hour}, {90 * time.Second, 100 * time.Second},
		{59 * time.Minute, 61 * time.Minute}, {30 * time.Minute, 3*time.Hour + time.Second}, {10 * time.Minute, time.Hour},
		{time.Hour, time.Hour + 5*time.Second}, {time.Hour, time.Hour}, {time.Hour, 0},
	} {
		from, until := hour.Add(span[0]), hour.Add(span[1])
		var want int64
		for _, x := range list {
			if !x.From.Before(from) && x.From.Before(until) {
				want += x.Amount
			}
		}
		got, err := s.Sum(t.Context(), tenantID, from, until)
		require.NoError(t, err)
		require.Equal(t, want, got[usage.EgressBytes], "from %s until %s", span[0], span[1])
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		got, err := s.SumTx(t.Context(), tx, tenantID, hour, hour.Add(10*time.Second))
		require.Equal(t, usage.Amounts{usage.EgressBytes: 1}, got)
		return err
	}))
}

func TestUnits(t *testing.T) {
	t.Parallel()
	a := usage.Amounts{usage.ViewerMinutes: 61, usage.StreamMinutes: 60, usage.EgressBytes: 61, usage.Pushes: 61}
	require.EqualValues(t, 2, a.Units(usage.ViewerMinutes))
	require.EqualValues(t, 1, a.Units(usage.StreamMinutes))
	require.EqualValues(t, 0, a.Units(usage.RecordingMinutes))
	require.EqualValues(t, 61, a.Units(usage.EgressBytes))
	require.EqualValues(t, 61, a.Units(usage.Pushes))
}

// TestOldIntervalsGo checks that old intervals are deleted, and that the sums of their hours stay.
func TestOldIntervalsGo(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s := usage.New(usage.Config{Pool: pool, Keep: 24 * time.Hour, Now: func() time.Time { return hour.Add(25 * time.Hour) }})
	var list []usage.Interval
	for i := range 7200 {
		from := hour.Add(time.Duration(i) * time.Second)
		list = append(list, usage.Interval{
			Owner: usage.Owner{TenantID: "ten_1"}, Source: "job", ResourceID: "str_1", Meter: usage.StreamMinutes, From: from, To: from.Add(time.Second), Amount: 1,
		})
	}
	_, err := s.Record(t.Context(), list)
	require.NoError(t, err)
	require.NoError(t, s.DeleteOld(t.Context()))
	require.Equal(t, 3600, count(t, pool, "ten_1"))
	require.NoError(t, s.DeleteOld(t.Context()))
	require.EqualValues(t, 7200, sum(t, s, "ten_1")[usage.StreamMinutes])
}
