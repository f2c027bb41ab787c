package realtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/realtime"
	"showfloor/internal/testkit/realtimetest"
	"showfloor/internal/testkit/redistest"
)

func TestServersOnOneRedisShareTheirPublications(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	one, two := newRig(t, realtime.Config{RedisURL: redis.URL}), newRig(t, realtime.Config{RedisURL: redis.URL})
	require.NoError(t, one.Check(t.Context()))
	require.Equal(t, "Redis at REDIS_URL", one.Engine())
	ada, _ := realtimetest.Watch(t, one.url, "ada", "ses_1")
	bo, boHears := realtimetest.Watch(t, two.url, "bo", "ses_1")
	require.Equal(t, "bo", ada.NextOf(t, realtimetest.Joined, func(e realtimetest.Event) bool { return e.User == "bo" }).User)
	one.bid(t, "ses_1", 1)
	two.bid(t, "ses_1", 2)
	for _, c := range []*realtimetest.Client{ada, bo} {
		sum := 0.0
		for range 2 {
			n, _ := c.Next(t, realtimetest.Published).Data["n"].(float64)
			sum += n
		}
		require.InDelta(t, 3, sum, 0)
	}
	_, err := boHears.Publish(t.Context(), []byte(`{"type":"heart","data":{"count":3}}`))
	require.NoError(t, err)
	require.EqualValues(t, 3, ada.NextType(t, realtime.Heart).Data["count"])
	stats, err := boHears.PresenceStats(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, stats.NumUsers)
	// A client that reconnects to the other server receives what it missed.
	ada.Next(t, realtimetest.Connecting)
	for _, r := range []*rig{one, two} {
		for _, user := range []string{"ada", "bo"} {
			r.gate.set("ses_1/"+user, realtime.Participant{State: realtime.Ended})
		}
	}
	two.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.SessionEnded, Data: map[string]any{}})
	ada.NextType(t, realtime.SessionEnded)
	require.Equal(t, uint32(2100), ada.Next(t, realtimetest.Unsubscribed).Code)
}

func TestAServerWhoseRedisIsAwayStartsAndFindsIt(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	redis.Stop(t)
	r := newRig(t, realtime.Config{RedisURL: redis.URL})
	require.Error(t, r.Check(t.Context()))
	c := realtimetest.New(t, r.url, realtimetest.Options{Token: "ada"})
	c.Hear(t, "ses_1")
	c.Next(t, realtimetest.Failed)
	r.bid(t, "ses_1", 0)
	until(t, func() bool { return r.Stats().Dropped == 1 }, "undeliverable publications are dropped")
	redis.Start(t)
	c.Next(t, realtimetest.Subscribed)
	require.NoError(t, r.Check(t.Context()))
	r.bid(t, "ses_1", 1)
	require.EqualValues(t, 1, c.Next(t, realtimetest.Published).Data["n"])
}

func TestRedisGoesAwayAndComesBackEmpty(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	r := newRig(t, realtime.Config{RedisURL: redis.URL})
	c := r.watch(t, "ada", "ses_1")
	r.bid(t, "ses_1", 0)
	require.EqualValues(t, 0, c.Next(t, realtimetest.Published).Data["n"])
	redis.Stop(t)
	until(t, func() bool { return check(t, r) != nil }, "it is noticed")
	r.bid(t, "ses_1", 1) // returns although Redis is away
	until(t, func() bool { return r.Stats().Dropped == 1 }, "undeliverable publications are dropped")
	redis.Start(t)
	until(t, func() bool { return check(t, r) == nil }, "it is back")
	// The room's numbering has restarted. The client learns that it missed something,
	// and continues.
	until(t, func() bool {
		r.bid(t, "ses_1", 2)
		for _, e := range c.Events() {
			if e.Kind == realtimetest.Published && e.Data["n"] == 2.0 {
				return true
			}
		}
		return false
	}, "publications arrive again")
	require.Empty(t, only(c.Events(), realtimetest.Disconnected))
}

func TestARedisThatDoesntAnswerDelaysNoPublisher(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	r := newRig(t, realtime.Config{RedisURL: redis.URL})
	c := r.watch(t, "ada", "ses_1")
	redis.Freeze(t)
	for n := range 5000 {
		r.bid(t, "ses_1", n)
	}
	require.Error(t, check(t, r))
	redis.Thaw(t)
	until(t, func() bool { return check(t, r) == nil }, "it is back")
	require.NotZero(t, r.Stats().Dropped, "there is room for so many only")
	c.NextOf(t, realtimetest.Published, func(e realtimetest.Event) bool { return e.Data["n"] == 1000.0 })
}

// check calls Check with a deadline of one second.
func check(t testing.TB, r *rig) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return r.Check(ctx)
}
