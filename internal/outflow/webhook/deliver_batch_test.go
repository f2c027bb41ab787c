package webhook_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// burst emits n events of different subjects in one transaction. It returns their deliveries by the jobs that they share.
func (r *rig) burst(t *testing.T, n int) [][]string {
	t.Helper()
	require.NoError(t, postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		for i := range n {
			subject := fmt.Sprint("str_", i)
			err := r.Events.EmitTx(t.Context(), tx, event.Event{
				TenantID: r.owner.TenantID, Name: "stream.started", Subject: subject,
				Data: apitest.EventData(t, "stream.started", map[string]any{"streamId": subject}),
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	r.FanOut(t, r.owner.TenantID)
	return r.shared(t)
}

func TestFewDeliveriesHaveAJobEach(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	r.owner.Webhook(t, apitest.NewSink(t, nil).URL)
	require.Empty(t, r.burst(t, 49))
	for _, d := range r.deliveries(t) {
		require.Equal(t, 1, r.jobs(t, d))
	}
}

// TestManyDeliveriesShareJobs also checks that a run that follows a complete one attempts nothing.
func TestManyDeliveriesShareJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	r.owner.Webhook(t, sink.URL)
	shared := r.burst(t, 55)
	require.Len(t, shared, 6)
	for _, ids := range shared {
		require.NoError(t, r.Webhooks.DeliverBatch(t.Context(), ids, true))
		require.NoError(t, r.Webhooks.DeliverBatch(t.Context(), ids, true))
	}
	require.ElementsMatch(t, r.deliveries(t), order(sink.Received()), "each once")
	for _, d := range r.deliveries(t) {
		require.Equal(t, "delivered", r.status(t, d))
		require.Zero(t, r.jobs(t, d))
	}
}

// TestADeliveryOfABatchIsRetriedAlone: one of ten fails. Its second attempt has a job of its own.
func TestADeliveryOfABatchIsRetriedAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	var failing string
	sink := apitest.NewSink(t, func(w http.ResponseWriter, got apitest.Received) {
		if got.Delivery() == failing {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	r.owner.Webhook(t, sink.URL)
	ids := r.burst(t, 50)[0]
	failing = ids[3]
	require.NoError(t, r.Webhooks.DeliverBatch(t.Context(), ids, true))
	for _, d := range ids {
		if d != failing {
			require.Equal(t, "delivered", r.status(t, d))
			require.Zero(t, r.jobs(t, d))
		}
	}
	require.Equal(t, "retrying", r.status(t, failing))
	require.Equal(t, 1, r.jobs(t, failing))
	var early time.Duration
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT d.next_attempt_at - j.scheduled_at FROM webhook_deliveries d
		JOIN river_job j ON j.args->>'deliveryId' = d.id WHERE d.id = $1`, failing).Scan(&early))
	require.Zero(t, early)

	require.NoError(t, r.Webhooks.DeliverBatch(t.Context(), ids, false), "the worker died before the job ended")
	require.Len(t, sink.Received(), len(ids), "the second run makes no attempts")
	require.Equal(t, 1, r.jobs(t, failing))
	for _, d := range ids {
		r.deliver(t, d) // the second run's jobs
	}
	require.Len(t, sink.Received(), len(ids))
}

// TestABatchWithoutRoomIsDivided: other batches use all slots for longer than the job may wait.
func TestABatchWithoutRoomIsDivided(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	r.owner.Webhook(t, sink.URL)
	ids := r.burst(t, 50)[0]
	r.Webhooks.FillBatchSlots()
	r.Webhooks.SetLineTime(time.Millisecond)
	require.NoError(t, r.Webhooks.DeliverBatch(t.Context(), ids, true))
	require.Empty(t, sink.Received())
	for _, d := range ids {
		require.Equal(t, 1, r.jobs(t, d))
	}
}

// TestADeliveryThatWaitsInABatchIsNotOverdue: its job is only late. The database is its own, because the jobs of all tenants count.
func TestADeliveryThatWaitsInABatchIsNotOverdue(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	r.owner.Webhook(t, apitest.NewSink(t, nil).URL)
	r.burst(t, 50)
	r.Clock.Advance(time.Hour)
	require.NoError(t, r.Webhooks.EnqueueOverdue(t.Context()))
	for _, d := range r.deliveries(t) {
		require.Zero(t, r.jobs(t, d))
	}
	_, err := r.Pool.Exec(t.Context(), "DELETE FROM river_job WHERE kind = 'webhook_deliver_batch'")
	require.NoError(t, err)
	require.NoError(t, r.Webhooks.EnqueueOverdue(t.Context()))
	for _, d := range r.deliveries(t) {
		require.Equal(t, 1, r.jobs(t, d), "its job is lost")
	}
}
