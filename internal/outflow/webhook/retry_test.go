package webhook_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

func TestRetryWorksInEveryState(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	var mu sync.Mutex
	status := 500
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) {
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(status)
	})
	answer := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		status = n
	}
	hook := r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	retry := func() api.WebhookDelivery {
		var got api.WebhookDelivery
		r.owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+d+"/retry", nil).Into(t, 201, &got)
		return got
	}
	redeliver := func() {
		require.Equal(t, api.WebhookDeliveryStatusRetrying, retry().Status)
		again, err := r.Webhooks.Redeliver(t.Context(), d)
		require.NoError(t, err)
		require.True(t, again.IsZero())
	}
	require.Equal(t, api.WebhookDeliveryStatusPending, retry().Status, "it is due already")
	due := r.deliver(t, d)
	for range 12 { // more attempts than the schedule has
		redeliver()
	}
	got := r.shown(t, hook, d)
	require.Equal(t, api.WebhookDeliveryStatusRetrying, got.Status, "the schedule goes on as it was")
	require.WithinDuration(t, due, got.NextAttemptAt.MustGet().Time, time.Millisecond)
	require.Equal(t, 13, got.Attempts)
	require.Len(t, sink.Received(), 13)

	answer(200)
	redeliver()
	got = r.shown(t, hook, d)
	require.Equal(t, api.WebhookDeliveryStatusDelivered, got.Status)
	require.True(t, r.deliver(t, d).IsZero(), "the schedule has nothing left to do")
	first := got.DeliveredAt.MustGet().Time

	r.Clock.Advance(time.Hour)
	answer(500)
	redeliver()
	got = r.shown(t, hook, d)
	require.Equal(t, api.WebhookDeliveryStatusDelivered, got.Status, "a delivered delivery stays delivered")
	require.Equal(t, "answered 500", got.Error.MustGet())
	answer(200)
	redeliver()
	again, err := r.Webhooks.Redeliver(t.Context(), d) // twice for one request
	require.NoError(t, err)
	require.True(t, again.IsZero())
	got = r.shown(t, hook, d)
	require.Equal(t, first, got.DeliveredAt.MustGet().Time, "when it first arrived")
	require.True(t, got.Error.IsNull())
	received := sink.Received()
	require.Len(t, received, got.Attempts)
	require.Len(t, got.Log, got.Attempts)
	for _, one := range received {
		require.Equal(t, d, one.Delivery())
	}
}

func TestRetryRequestedTwiceIsOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	const at = 6
	var arrived sync.WaitGroup
	arrived.Add(at)
	together := make(chan struct{})
	sink := apitest.NewSink(t, func(_ http.ResponseWriter, got apitest.Received) {
		if got.Attempt > 1 {
			arrived.Done()
			<-together
		}
	})
	hook := r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	r.deliver(t, d)
	for range 3 {
		r.owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+d+"/retry", nil).Is(t, 201)
	}
	var jobs int
	require.NoError(t, r.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM river_job WHERE kind = 'webhook_redeliver' AND args->>'deliveryId' = $1", d).Scan(&jobs))
	require.Equal(t, 1, jobs)
	var wg sync.WaitGroup
	for range at { // as if the job ran several times concurrently
		wg.Go(func() {
			if _, err := r.Webhooks.Redeliver(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
	arrived.Wait()
	close(together)
	wg.Wait()
	got := r.shown(t, hook, d)
	require.Equal(t, 2, got.Attempts)
	require.Len(t, got.Log, 2)
}

func TestRetryOfASuspendedTenantWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	r.deliver(t, d)
	r.owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+d+"/retry", nil).Is(t, 201)
	r.owner.SetTenantStatus(t, "SUSPENDED")
	again, err := r.Webhooks.Redeliver(t.Context(), d)
	require.NoError(t, err)
	require.True(t, again.After(r.Clock.Now()))
	r.owner.SetTenantStatus(t, "ACTIVE")
	again, err = r.Webhooks.Redeliver(t.Context(), d)
	require.NoError(t, err)
	require.True(t, again.IsZero())
	require.Len(t, sink.Received(), 2)
}

func TestRetryToAnEndpointThatWentMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	r.deliver(t, d)
	r.owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+d+"/retry", nil).Is(t, 201)
	r.owner.Call(t, "DELETE", "/v1/me/webhooks/"+hook.ID, nil).Is(t, 200)
	for range 2 {
		again, err := r.Webhooks.Redeliver(t.Context(), d)
		require.NoError(t, err)
		require.True(t, again.IsZero())
	}
	require.Len(t, sink.Received(), 1)
}

func TestRetryThatIsAnsweredGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, func(w http.ResponseWriter, got apitest.Received) {
		if got.Attempt > 1 {
			w.WriteHeader(http.StatusGone)
		}
	})
	r.owner.Webhook(t, sink.URL)
	d := r.emit(t, "stream.started", "str_1")[0]
	r.deliver(t, d)
	r.owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+d+"/retry", nil).Is(t, 201)
	_, err := r.Webhooks.Redeliver(t.Context(), d)
	require.NoError(t, err)
	var list []api.WebhookEndpoint
	r.owner.Call(t, "GET", "/v1/me/webhooks", nil).Into(t, 200, &list)
	require.Equal(t, api.WebhookEndpointStatusDisabled, list[0].Status)
}
