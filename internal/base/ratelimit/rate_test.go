package ratelimit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Rate{
		"100/s:200":       {Events: 100, Per: time.Second, Burst: 200},
		"10/min":          {Events: 10, Per: time.Minute, Burst: 10},
		"5/min:1":         {Events: 5, Per: time.Minute, Burst: 1},
		"1/h:24":          {Events: 1, Per: time.Hour, Burst: 24},
		"1000000/s:1":     {Events: 1_000_000, Per: time.Second, Burst: 1},
		"off":             {},
		"7/s:1000000":     {Events: 7, Per: time.Second, Burst: 1_000_000}, // fills in nearly two days
		"1/h:25":          {},
		"":                {},
		"100":             {},
		"100/s:":          {},
		"100/day":         {},
		"100/s:200:300":   {},
		"0/s":             {},
		"-1/s":            {},
		"1/s:0":           {},
		"1.5/s":           {},
		"1000001/s":       {},
		" 1/s":            {},
		"1 / s":           {},
		"1/s ":            {},
		"9999999999999/s": {},
	} {
		got, err := ParseRate(text)
		if want.Limits() && want.Window() <= longest || text == Off {
			require.NoError(t, err, text)
			require.Equal(t, want, got)
			again, err := ParseRate(got.String())
			require.NoError(t, err, text)
			require.Equal(t, got, again)
		} else {
			require.ErrorContains(t, err, text)
			require.Zero(t, got)
		}
	}
}

func TestABucketFillsAndRunsOut(t *testing.T) {
	t.Parallel()
	rate := Rate{Events: 2, Per: time.Second, Burst: 3}
	now := int64(1_000_000_000_000)
	fullAt := int64(0)
	take := func() Result {
		after, r := judge(Bucket{Policy: Policy{Rate: rate}}, fullAt, now)
		fullAt = after
		return r
	}
	second := time.Second
	require.Equal(t, Result{Allowed: true, Remaining: 2, Full: second / 2}, take())
	require.Equal(t, Result{Allowed: true, Remaining: 1, Full: second}, take())
	require.Equal(t, Result{Allowed: true, Remaining: 0, RetryAfter: second / 2, Full: 3 * second / 2}, take())
	for range 3 { // refusals take nothing from the bucket
		require.Equal(t, Result{RetryAfter: second / 2, Full: 3 * second / 2}, take())
	}
	now += int64(499 * time.Millisecond)
	require.Equal(t, Result{RetryAfter: time.Millisecond, Full: 1001 * time.Millisecond}, take())
	now += int64(time.Millisecond)
	require.Equal(t, Result{Allowed: true, Remaining: 0, RetryAfter: second / 2, Full: 3 * second / 2}, take())
	now += int64(time.Hour) // a full bucket gains nothing
	require.Equal(t, 2, take().Remaining)
	now -= int64(time.Hour) // a clock that is set back does no harm
	require.False(t, take().Allowed)
}
