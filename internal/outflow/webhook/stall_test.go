package webhook_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestALaneGoesOnWhenTheAnswerToARecordIsLost: the database recorded the attempt,
// but answered later than the worker's timeout.
func TestALaneGoesOnWhenTheAnswerToARecordIsLost(t *testing.T) {
	t.Parallel()
	pool, loss := dbtest.NewLossy(t)
	r := newRig(t, apitest.Options{Pool: pool})
	sink := apitest.NewSink(t, nil)
	r.owner.Webhook(t, sink.URL)
	deliveries := r.line(t, 4)
	loss.Next("RecordLoneAttempts")
	require.True(t, r.deliver(t, deliveries[0]).IsZero())
	require.Equal(t, 1, loss.Lost())
	require.Equal(t, deliveries, order(sink.Received()), "each once, in order")
	for _, d := range deliveries {
		require.Equal(t, "delivered", r.status(t, d))
	}
}

// TestALaneGoesOnWhenTheAnswerToACommitIsLost: the job fails. When it runs again,
// it reads the recorded result of the attempt.
func TestALaneGoesOnWhenTheAnswerToACommitIsLost(t *testing.T) {
	t.Parallel()
	pool, loss := dbtest.NewLossy(t)
	r := newRig(t, apitest.Options{Pool: pool})
	var up atomic.Bool
	sink := apitest.NewSink(t, func(w http.ResponseWriter, _ apitest.Received) {
		if !up.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	r.owner.Webhook(t, sink.URL)
	deliveries := r.line(t, 3)
	deliverTwice := func(deliveryID string) time.Time {
		loss.Next("commit")
		_, err := r.Webhooks.Deliver(t.Context(), deliveryID)
		require.Error(t, err)
		return r.deliver(t, deliveryID)
	}
	again := deliverTwice(deliveries[0]) // recorded in a transaction, because the endpoint's health changes
	require.InDelta(t, 5, again.Sub(r.Clock.Now()).Seconds(), 1)
	require.Equal(t, deliveries[:1], order(sink.Received()))
	require.Equal(t, 1, r.jobs(t, deliveries[1]), "the first attempt behind it")

	up.Store(true)
	require.True(t, deliverTwice(deliveries[1]).IsZero()) // in a transaction too: the endpoint works again
	require.Equal(t, deliveries, order(sink.Received()))
	require.Equal(t, 2, loss.Lost())
}

// TestALaneGoesOnWhenAnEarlierRunRecordedTheAttempt: the previous run timed out,
// and its write commits while the attempt is made again.
func TestALaneGoesOnWhenAnEarlierRunRecordedTheAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	var deliveries []string
	sink := apitest.NewSink(t, func(_ http.ResponseWriter, got apitest.Received) {
		if got.Delivery() != deliveries[0] {
			return
		}
		_, err := r.Pool.Exec(t.Context(), `UPDATE webhook_deliveries SET status = 'delivered', tries = 1, attempts = 1, next_attempt_at = NULL,
			delivered_at = created_at WHERE id = $1`, deliveries[0])
		if err != nil {
			t.Error(err)
		}
	})
	r.owner.Webhook(t, sink.URL)
	deliveries = r.line(t, 3)
	require.True(t, r.deliver(t, deliveries[0]).IsZero())
	require.Equal(t, deliveries, order(sink.Received()))
}
