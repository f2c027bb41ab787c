package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
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

// waiting counts the tenant's events whose deliveries are not written yet.
func (r *rig) waiting(t *testing.T) (events int) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE tenant_id = $1 AND fanned_at IS NULL", r.owner.TenantID).
		Scan(&events))
	return events
}

// once requires at most one delivery of each of the tenant's events per endpoint.
func (r *rig) once(t *testing.T) {
	t.Helper()
	var repeated int
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*) FROM (SELECT FROM webhook_deliveries
		WHERE tenant_id = $1 GROUP BY event_id, endpoint_id HAVING count(*) > 1) d`, r.owner.TenantID).Scan(&repeated))
	require.Zero(t, repeated)
}

// TestDeliveriesAreForTheEndpointsAtTheCommit checks endpoints that change between the
// commit of an event and its fan-out. A new endpoint gets nothing, and a deleted one no delivery. The
// delivery to a disabled one fails, as if it had been written before.
func TestDeliveriesAreForTheEndpointsAtTheCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	all, ends := apitest.NewSink(t, nil), apitest.NewSink(t, nil)
	hook, disabled := r.owner.Webhook(t, all.URL), r.owner.Webhook(t, "http://127.0.0.1:1/")
	deleted := r.owner.Webhook(t, "http://127.0.0.1:1/")
	r.owner.Webhook(t, ends.URL, "stream.ended")
	start := r.Clock.Now()
	require.NoError(t, r.commit(t, "stream.started", "str_1", "stream.ended", "str_1"))
	require.Empty(t, r.deliveries(t))
	require.Equal(t, 2, r.waiting(t))

	late := apitest.NewSink(t, nil)
	r.owner.Webhook(t, late.URL)
	r.owner.Call(t, "DELETE", "/v1/me/webhooks/"+deleted.ID, nil).Is(t, 200)
	require.False(t, r.recover(t, hook, start).More)
	require.Empty(t, r.deliveries(t), "deliveries that the fan-out still writes aren't missing")
	r.setStatus(t, disabled, "disabled")
	r.FanOut(t, r.owner.TenantID)
	require.Zero(t, r.waiting(t))
	require.Len(t, r.deliveries(t), 5)
	r.work(t)
	require.Equal(t, []string{"1", "2"}, numbers(all, "str_1"))
	require.Equal(t, []string{"2"}, numbers(ends, "str_1"))
	require.Empty(t, late.Received(), "it was not there at the commit")
	var failed, toDeleted int
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE endpoint_id = $1 AND error = 'the endpoint is disabled'),
		count(*) FILTER (WHERE endpoint_id = $2) FROM webhook_deliveries`, disabled.ID, deleted.ID).Scan(&failed, &toDeleted))
	require.Equal(t, []int{2, 0}, []int{failed, toDeleted})
}

// TestAnEventWithoutAnEndpointDoesNotWait checks that it costs the fan-out nothing.
func TestAnEventWithoutAnEndpointDoesNotWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	r.owner.Webhook(t, "http://127.0.0.1:1/", "stream.ended")
	require.NoError(t, r.commit(t, "stream.started", "str_1"))
	require.Zero(t, r.waiting(t))
	select {
	case <-r.Events.Committed():
		t.Fatal("there is nothing to write")
	default:
	}
	require.NoError(t, r.commit(t, "stream.started", "str_1", "stream.ended", "str_1"))
	require.Equal(t, 1, r.waiting(t))
	<-r.Events.Committed()
}

// killer kills the connection of each transaction just before its commit.
type killer struct{ kills int }

func (k *killer) BeforeCommit(ctx context.Context, tx pgx.Tx) error {
	k.kills++
	_, _ = tx.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())") // it gets no answer
	return nil
}

func (*killer) AfterCommit() {}

// unlocked reports whether no transaction is taking events of the tenant.
func (r *rig) unlocked(t *testing.T) (free bool) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT NOT EXISTS (SELECT FROM pg_locks
		WHERE locktype = 'advisory' AND classid = 5 AND objid::bigint = hashtext($1)::bigint & 4294967295
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`, r.owner.TenantID).Scan(&free))
	return free
}

// TestAKilledFanOutLosesAndRepeatsNothing kills the fan-out between the writing of the deliveries and
// the commit. Its locks end with the connection.
func TestAKilledFanOutLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink, starts := apitest.NewSink(t, nil), apitest.NewSink(t, nil)
	r.owner.Webhook(t, sink.URL)
	r.owner.Webhook(t, starts.URL, "stream.started")
	r.emit(t, "stream.started", subject(0))
	require.NoError(t, r.commit(t, bulk(100)...))
	k := &killer{}
	for n := range 4 {
		if n == 2 { // the next ones die in the middle of the work
			taken, _, err := r.Webhooks.FanOutTenants(t.Context(), r.owner.TenantID)
			require.NoError(t, err)
			require.Equal(t, 100, taken)
			require.NoError(t, r.commit(t, bulk(50)...))
		}
		before := r.deliveries(t)
		taken, _, err := r.Webhooks.FanOutTenants(postgres.WithHook(t.Context(), k), r.owner.TenantID)
		require.Error(t, err)
		require.Zero(t, taken)
		require.Equal(t, n+1, k.kills)
		require.Eventually(t, func() bool { return r.unlocked(t) }, time.Minute, time.Millisecond, "the database ends the connection")
		require.Equal(t, 200, r.waiting(t))
		require.Equal(t, before, r.deliveries(t))
	}
	r.FanOut(t, r.owner.TenantID)
	r.once(t)
	require.Len(t, r.deliveries(t), 2+300+150)
	r.work(t)
	require.Equal(t, []string{"1", "2", "3", "4", "5"}, numbers(sink, subject(0)))
	require.Equal(t, []string{"1", "2", "3", "4"}, numbers(sink, subject(7)))
	require.Equal(t, []string{"1", "2"}, numbers(sink, subject(70)))
}

// TestALowerPositionThatCommitsLater checks that the fan-out doesn't pass over an event that commits
// after the fan-out of an event with a higher position.
func TestALowerPositionThatCommitsLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	r.owner.Webhook(t, sink.URL)
	written, finish := make(chan struct{}), make(chan struct{})
	var slow sync.WaitGroup
	slow.Go(func() {
		err := postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
			defer func() { <-finish }()
			defer close(written)
			return r.Events.EmitTx(t.Context(), tx, event.Event{
				TenantID: r.owner.TenantID, Name: "stream.started", Subject: "str_slow",
				Data: apitest.EventData(t, "stream.started", map[string]any{"streamId": "str_slow"}),
			})
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-written
	r.emit(t, "stream.started", "str_fast")
	require.Len(t, r.deliveries(t), 1)
	close(finish)
	slow.Wait()
	r.FanOut(t, r.owner.TenantID)
	var lower bool
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT s.position < f.position FROM events s, events f
		WHERE s.tenant_id = $1 AND f.tenant_id = $1 AND s.subject = 'str_slow' AND f.subject = 'str_fast'`, r.owner.TenantID).Scan(&lower))
	require.True(t, lower)
	r.work(t)
	require.Equal(t, []string{"1"}, numbers(sink, "str_slow"))
	require.Equal(t, []string{"1"}, numbers(sink, "str_fast"))
}

// TestTwoServersFanOutAtOnce lets two servers on one database write the deliveries of the same
// tenant while events are emitted. Each delivery is written once, and each subject's in order.
func TestTwoServersFanOutAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)}) // FanOut is for all tenants
	other := apitest.New(t, apitest.Options{Pool: r.Pool, Box: r.Box})
	sinks := []*apitest.Sink{apitest.NewSink(t, nil), apitest.NewSink(t, nil), apitest.NewSink(t, nil)}
	for _, sink := range sinks {
		r.owner.Webhook(t, sink.URL)
	}
	require.NoError(t, r.commit(t, bulk(100)...))
	var wg sync.WaitGroup
	for _, s := range []*apitest.Server{r.Server, other, r.Server, other} {
		wg.Go(func() {
			for range 5 {
				if err := s.Webhooks.FanOut(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			for i := range 10 {
				if err := r.commit(t, "stream.started", subject(9*i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, other.Webhooks.FanOut(t.Context()))
	require.Zero(t, r.waiting(t))
	r.once(t)
	r.Clock.Advance(time.Minute) // the other server's clock is not the same
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

// TestAFanOutLeavesOutATenantThatAnotherIsWriting checks that it doesn't wait, and that it takes the
// other tenants' events.
func TestAFanOutLeavesOutATenantThatAnotherIsWriting(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	other := &rig{r.Server, r.Register(t)}
	for _, one := range []*rig{r, other} {
		one.owner.Webhook(t, "http://127.0.0.1:1/")
		require.NoError(t, one.commit(t, "stream.started", "str_1"))
	}
	tx, err := r.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	list, err := event.TakeTx(t.Context(), tx, []string{r.owner.TenantID}, r.Clock.Now())
	require.NoError(t, err)
	require.Len(t, list, 1)

	require.NoError(t, r.Webhooks.FanOut(t.Context()))
	require.Equal(t, []int{1, 0}, []int{r.waiting(t), other.waiting(t)})
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, r.Webhooks.FanOut(t.Context()))
	require.Zero(t, r.waiting(t))
	require.Len(t, r.deliveries(t), 1)
}

// TestTenantsTakeTurns checks that the first transaction has the events of a tenant with few, beside
// another with many, and that one transaction doesn't write too many deliveries.
func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	few := &rig{r.Server, r.Register(t)}
	r.owner.SetPlan(t, "ENTERPRISE")
	for range 20 {
		r.owner.Webhook(t, "http://127.0.0.1:1/")
	}
	few.owner.Webhook(t, "http://127.0.0.1:1/")
	require.NoError(t, r.commit(t, bulk(100)...))
	require.NoError(t, few.commit(t, "stream.started", "str_1"))
	taken, _, err := r.Webhooks.FanOutTenants(t.Context(), r.owner.TenantID, few.owner.TenantID)
	require.NoError(t, err)
	require.Len(t, few.deliveries(t), 1)
	require.Len(t, r.deliveries(t), (taken-1)*20)
	require.Len(t, r.deliveries(t), 500, "with the last event the limit is reached")
	require.Equal(t, 175, r.waiting(t))
	r.FanOut(t, r.owner.TenantID)
	require.Len(t, r.deliveries(t), 4000)
}

// TestOneTenantsFailureDoesNotHoldUpTheOthers lets the database refuse the deliveries of one tenant. The
// failure is logged even if other tenants' events are written, and the tenant gets a pause.
func TestOneTenantsFailureDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := newRig(t, apitest.Options{Pool: dbtest.New(t), Log: slog.New(slog.NewTextHandler(&log, nil))})
	other := &rig{r.Server, r.Register(t)}
	for _, one := range []*rig{r, other} {
		one.owner.Webhook(t, "http://127.0.0.1:1/")
		require.NoError(t, one.commit(t, "stream.started", "str_1"))
	}
	_, err := r.Pool.Exec(t.Context(), "ALTER TABLE webhook_deliveries ADD CONSTRAINT refused CHECK (tenant_id <> '"+r.owner.TenantID+"')")
	require.NoError(t, err)
	failures := func() int { return strings.Count(log.String(), "left out") }
	for n, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		require.NoError(t, r.Webhooks.FanOut(t.Context()))
		require.Equal(t, []int{1, 0}, []int{r.waiting(t), other.waiting(t)})
		require.Equal(t, n+1, failures(), log.String())
		require.NoError(t, other.commit(t, "stream.ended", "str_1"))
		r.Clock.Advance(pause - time.Millisecond)
		require.NoError(t, r.Webhooks.FanOut(t.Context()))
		require.Equal(t, n+1, failures(), "it has a pause of %s", pause)
		require.Zero(t, other.waiting(t))
		r.Clock.Advance(time.Millisecond)
	}
	require.Contains(t, log.String(), "refused")
	_, err = r.Pool.Exec(t.Context(), "ALTER TABLE webhook_deliveries DROP CONSTRAINT refused")
	require.NoError(t, err)
	require.NoError(t, r.Webhooks.FanOut(t.Context()))
	require.Zero(t, r.waiting(t))
}

// TestALockedRowDelaysOnlyItsTenant locks the delivery that a tenant's new delivery has to wait for.
func TestALockedRowDelaysOnlyItsTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	other := &rig{r.Server, r.Register(t)}
	for _, one := range []*rig{r, other} {
		one.owner.Webhook(t, "http://127.0.0.1:1/")
		one.emit(t, "stream.started", "str_1")
		require.NoError(t, one.commit(t, "stream.ended", "str_1"))
	}
	tx, err := r.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "SELECT FROM webhook_deliveries WHERE tenant_id = $1 FOR UPDATE", r.owner.TenantID)
	require.NoError(t, err)
	_, _, err = r.Webhooks.FanOutTenants(t.Context(), r.owner.TenantID)
	require.ErrorContains(t, err, "lock timeout")
	require.NoError(t, r.Webhooks.FanOut(t.Context()))
	require.Equal(t, []int{1, 0}, []int{r.waiting(t), other.waiting(t)})
	require.NoError(t, tx.Rollback(t.Context()))
	r.Clock.Advance(time.Second)
	require.NoError(t, r.Webhooks.FanOut(t.Context()))
	require.Zero(t, r.waiting(t))
}

// afterCommits calls fn after each commit of a transaction.
type afterCommits struct{ fn func() }

func (afterCommits) BeforeCommit(context.Context, pgx.Tx) error { return nil }

func (a afterCommits) AfterCommit() { a.fn() }

// TestABacklogDelaysOnlyItsTenant checks that a tenant with one event is served in the first round,
// though each event of another one has more deliveries than a transaction takes.
func TestABacklogDelaysOnlyItsTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	few := &rig{r.Server, r.Register(t)}
	few.owner.Webhook(t, "http://127.0.0.1:1/")
	r.owner.Webhook(t, "http://127.0.0.1:1/")
	_, err := r.Pool.Exec(t.Context(), `INSERT INTO webhook_endpoints (id, tenant_id, url, events, secret, created_at, updated_at)
		SELECT id || n, tenant_id, url, events, secret, created_at, updated_at FROM webhook_endpoints, generate_series(1, 600) n
		WHERE tenant_id = $1`, r.owner.TenantID)
	require.NoError(t, err)
	require.NoError(t, r.commit(t, bulk(5)...))
	require.NoError(t, few.commit(t, "stream.started", "str_1"))
	commits, served := 0, 0
	require.NoError(t, r.Webhooks.FanOut(postgres.WithHook(t.Context(), afterCommits{func() {
		if commits++; served == 0 && few.waiting(t) == 0 {
			served = commits
		}
	}})))
	require.Equal(t, 2, served)
	require.Zero(t, r.waiting(t))
	require.Len(t, r.deliveries(t), 10*601)
}

// TestATenantIsServedWhileAnotherEmitsWithoutPause checks that the fan-out finds the tenants of new
// events although there is always an event that waits.
func TestATenantIsServedWhileAnotherEmitsWithoutPause(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	other := &rig{r.Server, r.Register(t)}
	for _, one := range []*rig{r, other} {
		one.owner.Webhook(t, "http://127.0.0.1:1/")
	}
	require.NoError(t, r.commit(t, "stream.started", "str_0"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rounds := 0
	err := r.Webhooks.FanOut(postgres.WithHook(ctx, afterCommits{func() {
		rounds++
		require.NoError(t, r.commit(t, "stream.started", subject(rounds)))
		if rounds == 3 {
			require.NoError(t, other.commit(t, "stream.started", "str_1"))
		}
		if rounds > 3 && other.waiting(t) == 0 {
			cancel()
		}
		require.Less(t, rounds, 10)
	}}))
	require.NoError(t, err)
	require.Positive(t, r.waiting(t), "one event is always waiting")
}

// TestTheFanOutSurvivesAPanic checks that it is logged, and that the next poll goes on.
func TestTheFanOutSurvivesAPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := newRig(t, apitest.Options{Pool: dbtest.New(t), Log: slog.New(slog.NewTextHandler(&log, nil))})
	r.owner.Webhook(t, "http://127.0.0.1:1/")
	require.NoError(t, r.commit(t, "stream.started", "str_1"))
	ctx, cancel := context.WithCancel(t.Context())
	commits := 0
	r.Webhooks.RunFanOut(postgres.WithHook(ctx, afterCommits{func() {
		if commits++; commits > 1 {
			cancel()
			return
		}
		if err := r.commit(t, "stream.ended", "str_1"); err != nil {
			t.Error(err)
		}
		panic("the first commit")
	}}))
	require.Equal(t, 2, commits)
	require.Contains(t, log.String(), "panic: the first commit")
	require.Zero(t, r.waiting(t))
}

// TestWaitingEventsAreKept checks that retention deletes no event before its fan-out, and that the
// backlog has its age.
func TestWaitingEventsAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	r.owner.Webhook(t, "http://127.0.0.1:1/")
	backlog, err := event.CountWaiting(t.Context(), r.Pool, r.Clock.Now())
	require.NoError(t, err)
	require.Zero(t, backlog)
	require.NoError(t, r.commit(t, bulk(10)...))
	r.Clock.Advance(40 * 24 * time.Hour)
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	backlog, err = event.CountWaiting(t.Context(), r.Pool, r.Clock.Now())
	require.NoError(t, err)
	require.Equal(t, event.Backlog{Events: 20, Age: 40 * 24 * time.Hour}, backlog)
	r.FanOut(t, r.owner.TenantID)
	require.Len(t, r.deliveries(t), 20, "however late")
}
