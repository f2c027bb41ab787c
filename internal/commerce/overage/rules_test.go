package overage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/tenancy/usage"
)

func TestTheRoomOfACap(t *testing.T) {
	t.Parallel()
	r := newHeadroom(new(int64(100)), map[usage.Meter]int64{usage.Pushes: 30})
	require.EqualValues(t, 80, r.raise(30, 80))
	require.EqualValues(t, 10, r.raise(10, 5), "a charge never becomes less")
	require.EqualValues(t, 20, r.raise(0, 500), "the rest of the room")
	require.EqualValues(t, 7, r.raise(7, 500), "nothing is left")
	require.EqualValues(t, usage.MaxOverageCents, newHeadroom(nil, nil).raise(0, 1<<60))
	require.EqualValues(t, 40, newHeadroom(new(int64(10)), map[usage.Meter]int64{usage.Pushes: 40}).raise(40, 90), "the cap was lowered")
}

func TestPercentOfTheCap(t *testing.T) {
	t.Parallel()
	limit := new(int64(50))
	for cents, want := range map[int64]int{0: 0, 39: 0, 40: 80, 49: 80, 50: 100, 60: 100} {
		require.Equal(t, want, capPercent(limit, cents), cents)
	}
	require.Zero(t, capPercent(nil, 1<<40))
	require.Equal(t, 100, capPercent(new(int64(0)), 0))
}

func TestReportTimes(t *testing.T) {
	t.Parallel()
	end := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	month := end.AddDate(0, -1, 0)
	at := func(billed, now time.Time, taken ...time.Time) time.Time {
		got, ok := reportTime(end, billed, month, now, taken)
		require.True(t, ok)
		return got
	}
	require.Equal(t, end.Add(-time.Hour), at(month, end.Add(-time.Hour)), "a period that runs")
	require.Equal(t, end.Add(-time.Second), at(end, end.Add(5*time.Minute)), "the draft of the closed period takes it")
	require.Equal(t, end.Add(-61*time.Second), at(end, end.Add(5*time.Minute), end.Add(-30*time.Second)), "a minute has one report")
	require.Equal(t, end.Add(2*time.Hour), at(end, end.Add(2*time.Hour)), "the draft is final: carried into the next invoice")
	require.Equal(t, end.Add(5*time.Minute), at(month, end.Add(5*time.Minute)), "the billing period goes on")
	next := end.AddDate(0, 1, 0)
	require.Equal(t, next.Add(5*time.Minute), at(next, next.Add(5*time.Minute)), "the invoice of an older period is final")
	got, ok := reportTime(end, end, end.Add(2*time.Minute), end.Add(12*time.Minute), nil)
	require.True(t, ok)
	require.Equal(t, end.Add(12*time.Minute), got, "the price was added after the period")
	_, ok = reportTime(end, month, month, end.Add(-time.Hour), []time.Time{end.Add(-time.Hour)})
	require.False(t, ok)
	_, ok = reportTime(end, month, end.Add(-time.Minute), end.Add(-time.Hour), nil)
	require.False(t, ok, "the server's clock is behind the processor's")
}

func TestLateReportsArentSent(t *testing.T) {
	t.Parallel()
	billed := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	created := billed.Add(-10 * time.Minute)
	require.True(t, mayBeSent(created, created, billed.AddDate(0, -1, 0), billed.Add(-time.Minute)))
	require.True(t, mayBeSent(created, created, billed, billed.Add(5*time.Minute)), "the draft takes it")
	require.False(t, mayBeSent(created, created, billed, billed.Add(time.Hour)), "the invoice is final")
	require.False(t, mayBeSent(created, created, billed.AddDate(0, -1, 0), created.Add(sendTime)))
}

func TestNextLook(t *testing.T) {
	t.Parallel()
	end := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	require.Equal(t, end.Add(-4*time.Hour), *nextLook(end, end.Add(-5*time.Hour), true))
	require.Equal(t, end.Add(-5*time.Hour+settleEvery), *nextLook(end, end.Add(-5*time.Hour), false))
	require.Equal(t, end.Add(flushTime), *nextLook(end, end.Add(-time.Minute), true), "right after the end")
	require.Equal(t, end.Add(time.Hour+settleEvery), *nextLook(end, end.Add(time.Hour), false))
	require.Equal(t, end.Add(25*time.Hour), *nextLook(end, end.Add(time.Hour), true), "for late usage")
	require.Nil(t, nextLook(end, end.Add(keepOpen), true))
	require.NotNil(t, nextLook(end, end.Add(keepOpen), false), "until all is settled")
	require.Nil(t, nextLook(end, end.Add(2*keepOpen), false), "or never")
}
