package jobs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/testkit/apitest"
)

// impatient is a schedule for tests: eight attempts within milliseconds.
func impatient() []time.Duration {
	schedule := make([]time.Duration, 7)
	for i := range schedule {
		schedule[i] = time.Duration(i+1) * time.Millisecond
	}
	return schedule
}

// emit emits an event like a use case.
func emit(t *testing.T, s *apitest.Server, tenantID, name, subject string, n int) {
	t.Helper()
	require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
		return s.Events.EmitTx(t.Context(), tx, event.Event{TenantID: tenantID, Name: name, Subject: subject, Data: numbered(t, name, subject, n)})
	}))
}

// numbered returns an event's data with a number that identifies it.
func numbered(t *testing.T, name, subject string, n int) map[string]any {
	t.Helper()
	return apitest.EventData(t, name, map[string]any{"n": n, "subject": subject})
}

// content returns the values that emit put into a delivery.
func content(t *testing.T, r apitest.Received) (subject string, n int) {
	t.Helper()
	var envelope struct {
		Data struct {
			Subject string `json:"subject"`
			N       int    `json:"n"`
		} `json:"data"`
	}
	if err := json.Unmarshal(r.Body, &envelope); err != nil {
		t.Errorf("%v: %s", err, r.Body)
	}
	return envelope.Data.Subject, envelope.Data.N
}

func deliveries(t *testing.T, c *apitest.Caller, hook api.WebhookEndpoint) []api.WebhookDelivery {
	t.Helper()
	var list []api.WebhookDelivery
	c.Call(t, "GET", "/v1/me/webhooks/"+hook.ID+"/deliveries?limit=200", nil).Into(t, 200, &list)
	return list
}

// settled waits until no delivery of the endpoint has a pending attempt.
func settled(t *testing.T, c *apitest.Caller, hook api.WebhookEndpoint) []api.WebhookDelivery {
	t.Helper()
	var list []api.WebhookDelivery
	apitest.Until(t, "the deliveries to end", func() bool {
		list = deliveries(t, c, hook)
		for _, d := range list {
			if d.Status != api.WebhookDeliveryStatusDelivered && d.Status != api.WebhookDeliveryStatusFailed {
				return false
			}
		}
		return len(list) > 0
	})
	return list
}

func TestDeliveryTriesUntilItArrives(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true, Schedule: impatient()})
	owner := s.Register(t)
	sink := apitest.NewSink(t, func(w http.ResponseWriter, r apitest.Received) {
		if r.Attempt < 8 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	hook := owner.Webhook(t, sink.URL)
	emit(t, s, owner.TenantID, "stream.started", "str_1", 1)
	d := settled(t, owner, hook)[0]
	require.Equal(t, api.WebhookDeliveryStatusDelivered, d.Status)
	require.Equal(t, 8, d.Attempts)
	require.Len(t, d.Log, 8)
	require.Len(t, sink.Received(), 8)
}

func TestDeliveryFailsAtTheEndOfTheSchedule(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true, Schedule: impatient()})
	owner := s.Register(t)
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) { w.WriteHeader(http.StatusInternalServerError) })
	hook := owner.Webhook(t, sink.URL)
	emit(t, s, owner.TenantID, "stream.started", "str_1", 1)
	d := settled(t, owner, hook)[0]
	require.Equal(t, api.WebhookDeliveryStatusFailed, d.Status)
	require.Equal(t, 8, d.Attempts)
	require.True(t, d.NextAttemptAt.IsNull())
	require.Len(t, sink.Received(), 8)
}

// TestFirstAttemptsKeepTheOrderOfTheirSubject sends 200 events of one subject to a
// sink that is slow and fails now and then. The first of them gets no answer until
// all events of other subjects, which were emitted later, have arrived.
func TestFirstAttemptsKeepTheOrderOfTheirSubject(t *testing.T) {
	t.Parallel()
	const events, others = 200, 20
	var mu sync.Mutex
	var order []int
	var overtook sync.WaitGroup
	overtook.Add(others)
	s := apitest.New(t, apitest.Options{Jobs: true, Schedule: impatient()})
	owner := s.Register(t)
	sink := apitest.NewSink(t, func(w http.ResponseWriter, r apitest.Received) {
		subject, n := content(t, r)
		switch {
		case r.Attempt > 1:
			return
		case subject != "str_main":
			overtook.Done()
			return
		}
		mu.Lock()
		order = append(order, n)
		mu.Unlock()
		if n == 0 {
			overtook.Wait()
		}
		if n%7 == 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	hook := owner.Webhook(t, sink.URL)
	for n := range events {
		emit(t, s, owner.TenantID, "stream.started", "str_main", n)
	}
	for i := range others {
		emit(t, s, owner.TenantID, "stream.started", fmt.Sprintf("str_other%d", i), i)
	}
	apitest.Until(t, "all deliveries", func() bool {
		var open int
		require.NoError(t, s.Pool.QueryRow(t.Context(),
			"SELECT count(*) FROM webhook_deliveries WHERE endpoint_id = $1 AND status <> 'delivered'", hook.ID).Scan(&open))
		return open == 0
	})
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, order, events)
	for i, n := range order {
		require.Equal(t, i, n, "first attempts: %v", order)
	}
}

// TestOrderHoldsUnderConcurrentWriters emits events of one subject in
// concurrent transactions, each of which locks the subject's row.
func TestOrderHoldsUnderConcurrentWriters(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true, Schedule: impatient()})
	owner := s.Register(t)
	subject := owner.Stream(t, nil).ID
	var mu sync.Mutex
	var arrived, committed []int
	sink := apitest.NewSink(t, func(w http.ResponseWriter, r apitest.Received) {
		_, n := content(t, r)
		mu.Lock()
		defer mu.Unlock()
		if r.Attempt == 1 {
			arrived = append(arrived, n)
		}
		if n%5 == 0 && r.Attempt == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	hook := owner.Webhook(t, sink.URL)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 15 {
				n := worker*100 + i
				err := postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
					if _, err := tx.Exec(t.Context(), "SELECT FROM streams WHERE id = $1 FOR UPDATE", subject); err != nil {
						return err
					}
					mu.Lock()
					committed = append(committed, n)
					mu.Unlock()
					return s.Events.EmitTx(t.Context(), tx, event.Event{
						TenantID: owner.TenantID, Name: "stream.started", Subject: subject, Data: numbered(t, "stream.started", subject, n),
					})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	settled(t, owner, hook)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, committed, arrived)
}

func TestRetryRightAfterTheDelivery(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true, Schedule: impatient()})
	owner := s.Register(t)
	sink := apitest.NewSink(t, nil)
	hook := owner.Webhook(t, sink.URL)
	for round := range 5 {
		emit(t, s, owner.TenantID, "stream.started", "str_1", round)
		first := sink.Wait(t, 2*round+1)[2*round]
		apitest.Until(t, "the record of the attempt", func() bool {
			return deliveries(t, owner, hook)[0].Status == api.WebhookDeliveryStatusDelivered
		})
		owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+first.Delivery()+"/retry", nil).Is(t, 201)
		again := sink.Wait(t, 2*round+2)[2*round+1]
		require.Equal(t, first.Delivery(), again.Delivery())
		require.Equal(t, first.Body, again.Body)
		settled(t, owner, hook)
	}
}

func TestRetryOfAFailedDelivery(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true, Schedule: impatient()[:1]})
	owner := s.Register(t)
	sink := apitest.NewSink(t, func(w http.ResponseWriter, r apitest.Received) {
		if r.Attempt <= 2 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	hook := owner.Webhook(t, sink.URL)
	emit(t, s, owner.TenantID, "stream.started", "str_1", 1)
	failed := settled(t, owner, hook)[0]
	require.Equal(t, api.WebhookDeliveryStatusFailed, failed.Status)
	owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+failed.ID+"/retry", nil).Is(t, 201)
	sink.Wait(t, 3)
	apitest.Until(t, "the record of the retry", func() bool {
		return deliveries(t, owner, hook)[0].Status == api.WebhookDeliveryStatusDelivered
	})
}

func TestStreamEventsReachTheSink(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Jobs: true, Schedule: impatient()})
	owner := s.Register(t)
	sink := apitest.NewSink(t, nil)
	owner.Webhook(t, sink.URL, "stream.started", "stream.ended")
	st := owner.Stream(t, map[string]any{"reconnectWindowSec": 1})
	callback := map[string]any{"client_id": "c1", "server_id": "vid-1", "stream": st.StreamKey}
	owner.Call(t, "POST", "/v1/ingest/media/publish", callback).Is(t, 201)
	owner.Call(t, "POST", "/v1/ingest/media/unpublish", callback).Is(t, 201)
	got := sink.Wait(t, 2) // the second one arrives at the end of the reconnect window
	require.Equal(t, "stream.started", got[0].Header.Get("X-Service-Event"))
	require.Equal(t, "stream.ended", got[1].Header.Get("X-Service-Event"))
	require.Contains(t, string(got[1].Body), `"reason":"reconnect_expired"`)
	var now api.Stream
	owner.Call(t, "GET", "/v1/me/streams/"+st.ID, nil).Into(t, 200, &now)
	require.Equal(t, api.StreamStatusENDED, now.Status)
	require.NotContains(t, string(got[1].Body), st.StreamKey)
}
