package usage_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/dbtest"
)

func TestACollectorWritesItsSourcesIntervals(t *testing.T) {
	t.Parallel()
	pool := dbtest.Shared(t)
	s := usage.New(usage.Config{Pool: pool})
	tenantID, streams := tenant(t, pool, 2)
	source := &script{at: hour}
	c := usage.NewCollector(usage.CollectorConfig{Usage: s, Source: source})
	for range 3 {
		source.use(streams[0], usage.ViewerMinutes, 25)
		source.use(streams[0], usage.EgressBytes, 1000)
		source.use(streams[1], usage.ViewerMinutes, 5)
		c.Collect()
		require.NoError(t, c.Write(t.Context()))
	}
	require.NoError(t, c.Finish(t.Context()))
	require.Equal(t, usage.Amounts{usage.ViewerMinutes: 90, usage.EgressBytes: 3000}, sum(t, s, tenantID))
	require.Equal(t, 9, count(t, pool, tenantID))
	require.Equal(t, usage.CollectorStats{Written: 9}, c.Stats())
	var project string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT DISTINCT project_id FROM usage_intervals WHERE tenant_id = $1`, tenantID).Scan(&project))
	require.Equal(t, "proj_1", project)
}

// TestALostAnswerCountsOnce checks a batch that commits without an answer, and is sent again
// together with later intervals.
func TestALostAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	pool, loss := dbtest.NewLossy(t)
	s := usage.New(usage.Config{Pool: pool})
	tenantID, streams := tenant(t, pool, 1)
	source := &script{at: hour}
	// The limit is so low that everything is merged that can be.
	c := usage.NewCollector(usage.CollectorConfig{Usage: s, Source: source, MaxWaiting: 1})
	source.use(streams[0], usage.StreamMinutes, 10)
	c.Collect()
	loss.Next("CreateUsageIntervals")
	require.Error(t, c.Write(t.Context()))
	require.Equal(t, 1, loss.Lost())
	for range 5 {
		source.use(streams[0], usage.StreamMinutes, 10)
		c.Collect()
	}
	require.Equal(t, usage.CollectorStats{Waiting: 2, Merged: 4, Failures: 1}, c.Stats(), "sent intervals don't change")
	require.NoError(t, c.Write(t.Context()))
	require.Equal(t, usage.Amounts{usage.StreamMinutes: 60}, sum(t, s, tenantID))
	require.Equal(t, 2, count(t, pool, tenantID))
}

// TestNothingIsLostWhileTheDatabaseIsAway measures for an hour without a database, with more
// intervals than may wait.
func TestNothingIsLostWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	base := dbtest.Shared(t)
	tenantID, streams := tenant(t, base, 20)
	cable, pool := newAway(t, base)
	s := usage.New(usage.Config{Pool: pool})
	source := &script{at: hour}
	c := usage.NewCollector(usage.CollectorConfig{Usage: s, Source: source, MaxWaiting: 1000})
	cable.cut.Store(true)
	for range 360 {
		for _, id := range streams {
			source.use(id, usage.ViewerMinutes, 7)
			source.use(id, usage.EgressBytes, 1_000_003)
		}
		c.Collect()
		if c.Stats().Failures < 3 {
			require.ErrorIs(t, c.Write(t.Context()), errAway)
		}
		require.LessOrEqual(t, c.Stats().Waiting, 1000)
	}
	st := c.Stats()
	require.Positive(t, st.Merged)
	require.EqualValues(t, 360*40, st.Merged+uint64(st.Waiting))
	cable.cut.Store(false)
	require.NoError(t, c.Write(t.Context()))
	require.Equal(t, usage.Amounts{usage.ViewerMinutes: 360 * 20 * 7, usage.EgressBytes: 360 * 20 * 1_000_003}, sum(t, s, tenantID))
	require.Equal(t, st.Waiting, count(t, base, tenantID))
	st = c.Stats()
	require.Zero(t, st.Waiting)
	require.Zero(t, st.Lost)
}

func TestFinishReportsLostIntervals(t *testing.T) {
	t.Parallel()
	pool := dbtest.Shared(t)
	_, streams := tenant(t, pool, 1)
	cable, cut := newAway(t, pool)
	cable.cut.Store(true)
	source := &script{at: hour}
	c := usage.NewCollector(usage.CollectorConfig{Usage: usage.New(usage.Config{Pool: cut}), Source: source})
	source.use(streams[0], usage.Pushes, 1)
	require.ErrorContains(t, c.Finish(t.Context()), "1 intervals of usage are lost")
	require.EqualValues(t, 1, c.Stats().Lost)
}

// TestTwoNodesAndARestart checks that each process counts separately, even if the resource,
// the meter and the time are the same. A killed process loses unwritten intervals.
func TestTwoNodesAndARestart(t *testing.T) {
	t.Parallel()
	pool := dbtest.Shared(t)
	s := usage.New(usage.Config{Pool: pool})
	tenantID, streams := tenant(t, pool, 1)
	use := func() *usage.Collector {
		source := &script{at: hour}
		source.use(streams[0], usage.ViewerMinutes, 10)
		c := usage.NewCollector(usage.CollectorConfig{Usage: s, Source: source})
		c.Collect()
		source.use(streams[0], usage.ViewerMinutes, 1_000_000) // never closed, because the process is killed
		return c
	}
	one, two := use(), use()
	require.NoError(t, one.Write(t.Context()))
	require.NoError(t, two.Write(t.Context()))
	require.NoError(t, one.Write(t.Context()), "nothing is left to write")
	require.NoError(t, use().Write(t.Context()))
	require.Equal(t, usage.Amounts{usage.ViewerMinutes: 30}, sum(t, s, tenantID))
}

func TestUsageOfNothingIsDropped(t *testing.T) {
	t.Parallel()
	pool := dbtest.Shared(t)
	s := usage.New(usage.Config{Pool: pool})
	tenantID, streams := tenant(t, pool, 1)
	source := &script{at: hour}
	c := usage.NewCollector(usage.CollectorConfig{Usage: s, Source: source})
	source.use("str_unknown", usage.Pushes, 1)
	source.use(streams[0], usage.Pushes, 2)
	source.use("str_unknown", usage.EgressBytes, 1)
	c.Collect()
	require.NoError(t, c.Write(t.Context()))
	require.Equal(t, usage.CollectorStats{Written: 1, Lost: 2}, c.Stats())
	require.Equal(t, usage.Amounts{usage.Pushes: 2}, sum(t, s, tenantID))
}

// TestRun checks that Run closes intervals without calls, while several goroutines write.
func TestRun(t *testing.T) {
	t.Parallel()
	pool := dbtest.Shared(t)
	s := usage.New(usage.Config{Pool: pool})
	tenantID, streams := tenant(t, pool, 1)
	source := &endless{id: streams[0]}
	c := usage.NewCollector(usage.CollectorConfig{Usage: s, Source: source, Every: time.Millisecond, MaxWaiting: 50})
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { c.Run(ctx) })
	require.Eventually(t, func() bool { return c.Stats().Written >= 100 }, time.Minute, time.Millisecond)
	stop()
	work.Wait()
	require.NoError(t, c.Finish(t.Context()))
	require.Equal(t, source.n, sum(t, s, tenantID)[usage.EgressBytes])
}

// endless uses one byte more in each interval.
type endless struct {
	id    string
	n     int64
	count int64
}

// Read implements usage.Source.
func (e *endless) Read() []usage.Interval {
	e.count++
	e.n += e.count
	from := hour.Add(time.Duration(e.count) * time.Second)
	return []usage.Interval{{ResourceID: e.id, Meter: usage.EgressBytes, From: from, To: from.Add(time.Second), Amount: e.count}}
}
