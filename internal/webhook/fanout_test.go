package webhook_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/apitest"
	"showfloor/internal/dbtest"
	"showfloor/internal/postgres"
)

// bulk makes pairs of name and subject for emitMany: two events for each of n
// subjects.
func bulk(n int) (pairs []string) {
	for _, name := range []string{"stream.started", "stream.ended"} {
		for i := range n {
			pairs = append(pairs, name, subject(i))
		}
	}
	return pairs
}

func subject(i int) string { return fmt.Sprintf("str_bulk%03d_", i) }

// deferred counts the events with deferred deliveries, and the jobs that will
// write them.
func (r *rig) deferred(t *testing.T) (events, jobs int) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM event_fanouts WHERE tenant_id = $1),
		(SELECT count(*) FROM river_job WHERE kind = 'webhook_fan_out' AND args->>'tenantId' = $1)`, r.owner.TenantID).Scan(&events, &jobs))
	return events, jobs
}

// fanOut writes all deferred deliveries.
func (r *rig) fanOut(t *testing.T) {
	t.Helper()
	for {
		again, err := r.Webhooks.FanOut(t.Context(), r.owner.TenantID)
		require.NoError(t, err)
		if again.IsZero() {
			return
		}
	}
}

// once requires at most one delivery of each of the tenant's events per endpoint.
func (r *rig) once(t *testing.T) {
	t.Helper()
	var repeated int
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*) FROM (SELECT FROM webhook_deliveries
		WHERE tenant_id = $1 GROUP BY event_id, endpoint_id HAVING count(*) > 1) d`, r.owner.TenantID).Scan(&repeated))
	require.Zero(t, repeated)
}

// TestALargeTransactionLeavesItsDeliveriesToAJob: the job writes deliveries for
// the endpoints that existed at the commit. Deliveries of events from before the
// job's run follow them.
func TestALargeTransactionLeavesItsDeliveriesToAJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	all, ends, late := apitest.NewSink(t, nil), apitest.NewSink(t, nil), apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, all.URL)
	r.owner.Webhook(t, ends.URL, "stream.ended")
	start := r.Clock.Now()
	require.NoError(t, r.emitMany(t, bulk(166)...)) // 498 deliveries
	require.Len(t, r.deliveries(t), 498)
	events, jobs := r.deferred(t)
	require.Zero(t, events+jobs)

	require.NoError(t, r.emitMany(t, bulk(167)...)) // 501
	require.Len(t, r.deliveries(t), 498)
	events, jobs = r.deferred(t)
	require.Equal(t, []int{334, 1}, []int{events, jobs})
	r.owner.Webhook(t, late.URL)
	require.Empty(t, r.emit(t, "stream.ended", subject(7)), "behind those of its subject")
	require.Len(t, r.emit(t, "stream.started", "str_other"), 2, "of another subject")
	_, jobs = r.deferred(t)
	require.Equal(t, 2, jobs)
	require.False(t, r.recover(t, hook, start).More)
	require.Len(t, r.deliveries(t), 500, "what is about to be written isn't missing")

	r.fanOut(t)
	r.fanOut(t) // as the second job does
	events, _ = r.deferred(t)
	require.Zero(t, events)
	require.Len(t, r.deliveries(t), 500+501+3)
	r.once(t)
	r.work(t)
	require.Equal(t, []string{"1", "2", "3", "4", "5"}, numbers(all, subject(7)))
	require.Equal(t, []string{"1", "2", "3", "4"}, numbers(all, subject(8)))
	require.Equal(t, []string{"1", "2"}, numbers(all, subject(166)))
	require.Equal(t, []string{"2", "4", "5"}, numbers(ends, subject(7)))
	require.Equal(t, []string{"5"}, numbers(late, subject(7)), "it was not there for the others")
	require.Len(t, r.emit(t, "stream.ended", subject(7)), 3, "at once again")
}

// TestDeferredDeliveriesAreWrittenOnce: and in order, while jobs die and overlap
// and more events are emitted.
func TestDeferredDeliveriesAreWrittenOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sinks := []*apitest.Sink{apitest.NewSink(t, nil), apitest.NewSink(t, nil), apitest.NewSink(t, nil)}
	for _, sink := range sinks {
		r.owner.Webhook(t, sink.URL)
	}
	require.NoError(t, r.emitMany(t, bulk(100)...))
	killed := errors.New("killed")
	err := postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		more, err := r.Events.FanOutTx(t.Context(), tx, r.owner.TenantID)
		require.True(t, more)
		return errors.Join(err, killed)
	})
	require.ErrorIs(t, err, killed)
	events, _ := r.deferred(t)
	require.Equal(t, 200, events)

	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := r.Webhooks.FanOut(t.Context(), r.owner.TenantID); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for i := range 10 {
				if err := r.emitMany(t, "stream.started", subject(9*i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r.fanOut(t)
	r.once(t)
	r.work(t)
	for _, sink := range sinks {
		for i := range 100 {
			want := []string{"1", "2"}
			if i%9 == 0 && i < 90 {
				want = []string{"1", "2", "3", "4", "5"}
			}
			require.Equal(t, want, numbers(sink, subject(i)), subject(i))
		}
	}
}

// TestALostFanOutIsReplaced: EnqueueOverdue replaces a lost fan-out job too.
func TestALostFanOutIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	r.owner.Webhook(t, "http://127.0.0.1:1/")
	require.NoError(t, r.emitMany(t, bulk(251)...))
	_, err := r.Pool.Exec(t.Context(), "DELETE FROM river_job WHERE kind = 'webhook_fan_out'")
	require.NoError(t, err)
	require.NoError(t, r.Webhooks.EnqueueOverdue(t.Context()))
	_, jobs := r.deferred(t)
	require.Zero(t, jobs, "not late yet")
	r.Clock.Advance(6 * time.Minute)
	require.NoError(t, r.Webhooks.EnqueueOverdue(t.Context()))
	_, jobs = r.deferred(t)
	require.Equal(t, 1, jobs)
	r.Clock.Advance(40 * 24 * time.Hour)
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	r.fanOut(t)
	require.Len(t, r.deliveries(t), 502, "however late")
}

// TestATenantsFanOutsMakeWayForEachOther: while one run of a tenant writes, on any
// node, another is repeated later instead of waiting, so that its worker is free.
// Other tenants aren't delayed.
func TestATenantsFanOutsMakeWayForEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	for range 3 {
		r.owner.Webhook(t, "http://127.0.0.1:1/")
	}
	require.NoError(t, r.emitMany(t, bulk(100)...))
	tx, err := r.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	more, err := r.Events.FanOutTx(t.Context(), tx, r.owner.TenantID)
	require.NoError(t, err)
	require.True(t, more)

	again, err := r.Webhooks.FanOut(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	require.Equal(t, r.Clock.Now().Add(time.Second), again)
	again, err = r.Webhooks.FanOut(t.Context(), r.Register(t).TenantID)
	require.NoError(t, err)
	require.Zero(t, again)

	require.NoError(t, tx.Rollback(t.Context()))
	r.fanOut(t)
	events, _ := r.deferred(t)
	require.Zero(t, events)
	require.Len(t, r.deliveries(t), 600)
}
