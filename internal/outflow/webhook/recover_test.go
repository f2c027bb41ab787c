package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/testkit/apitest"
)

// recover asks for a recovery since a time.
func (r *rig) recover(t *testing.T, hook api.WebhookEndpoint, since time.Time) api.WebhookRecovery {
	t.Helper()
	var done api.WebhookRecovery
	r.owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/recover", map[string]any{"since": timestamp.Format(since)}).Into(t, 201, &done)
	return done
}

func (r *rig) setStatus(t *testing.T, hook api.WebhookEndpoint, status string) {
	t.Helper()
	r.owner.Call(t, "PATCH", "/v1/me/webhooks/"+hook.ID, map[string]any{"status": status}).Is(t, 200)
}

// work makes the attempts of every delivery that has a job, until no job is left.
func (r *rig) work(t *testing.T) {
	t.Helper()
	for {
		for _, ids := range r.shared(t) {
			_, err := r.Pool.Exec(t.Context(), "DELETE FROM river_job WHERE args->'deliveryIds'->>0 = $1", ids[0])
			require.NoError(t, err)
			require.NoError(t, r.Webhooks.DeliverBatch(t.Context(), ids, true))
		}
		var ids []string
		require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT coalesce(array_agg(args->>'deliveryId' ORDER BY id), '{}') FROM river_job
			WHERE kind IN ('webhook_deliver', 'webhook_restart') AND args->>'deliveryId' = ANY ($1)`, r.deliveries(t)).Scan(&ids))
		if len(ids) == 0 {
			return
		}
		for _, d := range ids {
			_, err := r.Pool.Exec(t.Context(), "DELETE FROM river_job WHERE args->>'deliveryId' = $1", d)
			require.NoError(t, err)
			require.NoError(t, r.Webhooks.Restart(t.Context(), d))
		}
	}
}

// TestRecoveryDuringTheLastAttempt: a delivery is restarted while the job that
// finished it is still running.
func TestRecoveryDuringTheLastAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Schedule: []time.Duration{}})
	var ok atomic.Bool
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) {
		if !ok.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	hook := r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	r.deliver(t, d)
	require.Equal(t, "failed", r.status(t, d))
	require.Equal(t, 1, r.jobs(t, d), "which runs, as far as the queue knows")
	require.Equal(t, 1, r.recover(t, hook, r.Clock.Now()).Recovered)
	var restarts int
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE kind = 'webhook_restart' AND args->>'deliveryId' = $1", d).Scan(&restarts))
	require.Equal(t, 1, restarts)
	r.owner.SetTenantStatus(t, "SUSPENDED")
	require.NoError(t, r.Webhooks.Restart(t.Context(), d))
	require.Equal(t, "pending", r.status(t, d))
	r.owner.SetTenantStatus(t, "ACTIVE")
	ok.Store(true)
	require.NoError(t, r.Webhooks.Restart(t.Context(), d))
	require.Equal(t, "delivered", r.status(t, d))
	require.Equal(t, 1, r.jobs(t, d))
}

// TestRecoveryDeliversFailedAndMissedEvents: in the order of the events, and
// once each.
func TestRecoveryDeliversFailedAndMissedEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Schedule: []time.Duration{}})
	var down sync.Map
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) {
		if _, is := down.Load("down"); is {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	hook := r.owner.Webhook(t, sink.URL, "stream.started")
	start := r.Clock.Now()
	r.emit(t, "stream.started", "str_1") // arrives
	r.work(t)
	down.Store("down", true)
	r.emit(t, "stream.started", "str_1") // fails
	r.emit(t, "stream.started", "str_2") // fails
	r.work(t)
	r.setStatus(t, hook, "disabled")
	r.emit(t, "stream.started", "str_1") // missed
	r.emit(t, "stream.ended", "str_1")   // not wanted
	r.Clock.Advance(time.Second)
	r.emit(t, "stream.started", "str_1") // missed
	require.Len(t, r.deliveries(t), 3)
	r.owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/recover", map[string]any{"since": start}).Problem(t, 409, "conflict")
	r.setStatus(t, hook, "active")
	down.Delete("down")
	r.emit(t, "stream.started", "str_2") // not waiting for another one yet

	require.Equal(t, api.WebhookRecovery{Recovered: 4}, r.recover(t, hook, start))
	require.Equal(t, api.WebhookRecovery{}, r.recover(t, hook, start), "twice is once")
	before := len(sink.Received())
	r.work(t)
	require.Len(t, sink.Received()[before:], 5)
	rows, err := r.Pool.Query(t.Context(), `SELECT d.id FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
		WHERE d.tenant_id = $1 AND d.subject = 'str_1' ORDER BY e.id OFFSET 1`, r.owner.TenantID)
	require.NoError(t, err)
	var want []string
	for rows.Next() {
		var d string
		require.NoError(t, rows.Scan(&d))
		want = append(want, d)
	}
	var got []string
	for _, d := range sink.Received()[before:] {
		if r.subject(t, d.Delivery()) == "str_1" {
			got = append(got, d.Delivery())
		}
	}
	require.Equal(t, want, got, "in the order of the events")
	for _, d := range r.deliveries(t) {
		require.Equal(t, "delivered", r.status(t, d))
	}
	require.Equal(t, api.WebhookRecovery{}, r.recover(t, hook, start))
}

func (r *rig) subject(t *testing.T, deliveryID string) string {
	t.Helper()
	var subject string
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT subject FROM webhook_deliveries WHERE id = $1", deliveryID).Scan(&subject))
	return subject
}

// TestRecoveryKeepsToItsLimits: limits of time, and of the endpoint's list of
// events.
func TestRecoveryKeepsToItsLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	other := r.owner.Webhook(t, "http://127.0.0.1:1/other", "stream.ended")
	r.owner.Call(t, "POST", "/v1/me/webhooks/"+other.ID+"/test", nil).Is(t, 201)
	start := r.Clock.Now()
	r.emit(t, "stream.started", "str_before")
	r.Clock.Advance(time.Minute)
	sink := apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, sink.URL)
	require.Zero(t, r.recover(t, hook, start).Recovered, "nothing from before it was registered, no test of another")
	r.setStatus(t, hook, "disabled")
	r.emit(t, "stream.started", "str_1")
	r.Clock.Advance(time.Minute)
	later := r.Clock.Now()
	r.emit(t, "stream.started", "str_1")
	r.setStatus(t, hook, "active")
	require.Equal(t, 1, r.recover(t, hook, later).Recovered)
	require.Equal(t, 1, r.recover(t, hook, start).Recovered)

	for _, body := range []string{`{}`, `{"since":"yesterday"}`, `{"since":"` + timestamp.Format(r.Clock.Now().Add(time.Second)) + `"}`} {
		r.owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/recover", body).Problem(t, 400, "invalid_input")
	}
	r.setStatus(t, hook, "disabled")
	r.emit(t, "stream.started", "str_2")
	r.setStatus(t, hook, "active")
	r.Clock.Advance(31 * 24 * time.Hour)
	r.owner = r.owner.LogInAgain(t)
	require.Zero(t, r.recover(t, hook, start).Recovered, "events that are about to be deleted aren't recovered")
}

// TestRecoveryOfManyInBatches: two concurrent calls deliver each event once, and
// the events of a subject in order across batches.
func TestRecoveryOfManyInBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, sink.URL)
	start := r.Clock.Now()
	const events = 2100
	payload, err := json.Marshal(map[string]any{
		"event": "stream.started", "tenantId": r.owner.TenantID, "occurredAt": timestamp.Format(start), "data": apitest.EventData(t, "stream.started", nil),
	})
	require.NoError(t, err)
	_, err = r.Pool.Exec(t.Context(), `INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence)
		SELECT 'evt_' || $1 || lpad(n::text, 6, '0'), $1, 'stream.started', 'str_' || n % 3, $4, $2::timestamptz, n FROM generate_series(1, $3::integer) n`,
		r.owner.TenantID, start, events, payload)
	require.NoError(t, err)
	var wg sync.WaitGroup
	var mu sync.Mutex
	recovered := 0
	for range 2 {
		wg.Go(func() {
			done, err := r.Webhooks.RecoverWebhook(t.Context(), r.caller(), hook.ID, start)
			mu.Lock()
			defer mu.Unlock()
			recovered += done.Recovered
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for done := (api.WebhookRecovery{More: true}); done.More; recovered += done.Recovered {
		done = r.recover(t, hook, start)
	}
	require.Equal(t, events, recovered)
	require.Len(t, r.deliveries(t), events)
	r.work(t)
	var wrong int
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1 AND status <> 'delivered'", r.owner.TenantID).Scan(&wrong))
	require.Zero(t, wrong)
	last := map[string]string{}
	for _, got := range sink.Received() {
		event := got.Header.Get("Webhook-Id")
		var n int
		_, err := fmt.Sscanf(event[len(event)-6:], "%d", &n)
		require.NoError(t, err)
		subject := strconv.Itoa(n % 3)
		require.Less(t, last[subject], event)
		last[subject] = event
	}
}
