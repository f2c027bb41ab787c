package webhook_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// line emits n events of one subject and returns their deliveries.
func (r *rig) line(t *testing.T, n int) []string {
	t.Helper()
	var list []string
	for range n {
		list = append(list, r.emit(t, "stream.started", "str_1")...)
	}
	return list
}

// status is a delivery's status in the database.
func (r *rig) status(t *testing.T, deliveryID string) string {
	t.Helper()
	var status string
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT status FROM webhook_deliveries WHERE id = $1", deliveryID).Scan(&status))
	return status
}

// order lists the received deliveries' ids in order of arrival.
func order(received []apitest.Received) []string {
	list := make([]string, len(received))
	for i, r := range received {
		list[i] = r.Delivery()
	}
	return list
}

func TestOneWorkerGoesOnWithTheSubject(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	r.owner.Webhook(t, sink.URL)
	deliveries := r.line(t, 5)
	require.True(t, r.deliver(t, deliveries[0]).IsZero())
	require.Equal(t, deliveries, order(sink.Received()))
	for _, d := range deliveries[1:] {
		require.Zero(t, r.jobs(t, d), "no other worker was asked to")
	}
	require.True(t, r.deliver(t, deliveries[0]).IsZero(), "running again finds all of it done")
	require.Len(t, sink.Received(), 5)
}

func TestAWorkerGoesOnForAHundred(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	r.Webhooks.SetLineTime(time.Hour)
	sink := apitest.NewSink(t, nil)
	r.owner.Webhook(t, sink.URL)
	deliveries := r.line(t, 102)
	r.deliver(t, deliveries[0])
	require.Equal(t, deliveries[:100], order(sink.Received()))
	require.Equal(t, 1, r.jobs(t, deliveries[100]), "then it is others' turn")
	r.deliver(t, deliveries[0])
	require.Len(t, sink.Received(), 100, "deliveries with a job are left to the job")
	r.deliver(t, deliveries[100])
	require.Equal(t, deliveries, order(sink.Received()))
}

// TestADeadWorkersLaneGoesOn simulates, in the database, a worker's death after
// each possible step: the job of the first delivery runs again.
func TestADeadWorkersLaneGoesOn(t *testing.T) {
	t.Parallel()
	for done := range 3 {
		r := newRig(t, apitest.Options{})
		sink := apitest.NewSink(t, nil)
		r.owner.Webhook(t, sink.URL)
		deliveries := r.line(t, 4)
		_, err := r.Pool.Exec(t.Context(), `UPDATE webhook_deliveries SET status = 'delivered', tries = 1, attempts = 1, next_attempt_at = NULL,
			delivered_at = created_at WHERE id = ANY ($1)`, deliveries[:done+1])
		require.NoError(t, err)
		require.True(t, r.deliver(t, deliveries[0]).IsZero())
		require.Equal(t, deliveries[done+1:], order(sink.Received()), "after %d", done+1)
	}
}

func TestAFailureOnTheWayHasAJobOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	var failing string
	sink := apitest.NewSink(t, func(w http.ResponseWriter, got apitest.Received) {
		if got.Delivery() == failing && got.Attempt == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	r.owner.Webhook(t, sink.URL)
	deliveries := r.line(t, 4)
	failing = deliveries[1]
	require.True(t, r.deliver(t, deliveries[0]).IsZero(), "the first one is done")
	require.Equal(t, deliveries[:2], order(sink.Received()))
	require.Equal(t, 1, r.jobs(t, deliveries[1]), "its second attempt")
	require.Equal(t, 1, r.jobs(t, deliveries[2]), "the first attempt behind it")
	var in time.Duration
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT scheduled_at - $2 FROM river_job WHERE args->>'deliveryId' = $1",
		deliveries[1], r.Clock.Now()).Scan(&in))
	require.InDelta(t, 5, in.Seconds(), 1)
	r.deliver(t, deliveries[2])
	r.Clock.Advance(time.Minute)
	r.deliver(t, deliveries[1])
	require.Equal(t, []string{deliveries[0], deliveries[1], deliveries[2], deliveries[3], deliveries[1]}, order(sink.Received()))
}

func TestASuspensionOnTheWayPutsTheRestOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, func(_ http.ResponseWriter, got apitest.Received) {
		if strings.Contains(string(got.Body), "str_1") {
			r.owner.SetTenantStatus(t, "SUSPENDED")
		}
	})
	r.owner.Webhook(t, sink.URL)
	deliveries := r.line(t, 3)
	require.True(t, r.deliver(t, deliveries[0]).IsZero())
	require.Len(t, sink.Received(), 1)
	require.Equal(t, "pending", r.status(t, deliveries[1]))
	require.Equal(t, 1, r.jobs(t, deliveries[1]))
	r.owner.SetTenantStatus(t, "ACTIVE")
	r.deliver(t, deliveries[1])
	require.Equal(t, "delivered", r.status(t, deliveries[1]))
}

// TestLostJobsAreFound: each delivery that waits for no other one gets a job
// again, for every reason to wait. The database is its own, because open jobs of other tenants count.
func TestLostJobsAreFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
	sink := apitest.NewSink(t, func(w http.ResponseWriter, got apitest.Received) {
		if strings.Contains(string(got.Body), "str_bad") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	r.owner.Webhook(t, sink.URL)
	head := r.line(t, 3)
	retrying := r.emit(t, "stream.started", "str_bad")[0]
	r.deliver(t, retrying)
	held := r.emit(t, "stream.started", "str_2")[0]
	behind := r.emit(t, "stream.started", "str_2")[0]
	_, err := r.Pool.Exec(t.Context(), "UPDATE webhook_deliveries SET status = 'delivered', tries = 1, delivered_at = $2 WHERE id = $1", held, r.Clock.Now())
	require.NoError(t, err)
	lose := func() {
		_, err := r.Pool.Exec(t.Context(), "DELETE FROM river_job WHERE args->>'deliveryId' = ANY ($1)", r.deliveries(t))
		require.NoError(t, err)
	}
	counts := func() map[string]int {
		require.NoError(t, r.Webhooks.EnqueueOverdue(t.Context()))
		require.NoError(t, r.Webhooks.EnqueueOverdue(t.Context()))
		return map[string]int{
			"head": r.jobs(t, head[0]), "second": r.jobs(t, head[1]), "third": r.jobs(t, head[2]),
			"retrying": r.jobs(t, retrying), "held": r.jobs(t, held), "behind": r.jobs(t, behind),
		}
	}
	lose()
	r.Clock.Advance(4 * time.Minute)
	require.Equal(t, map[string]int{"head": 0, "second": 0, "third": 0, "retrying": 0, "held": 0, "behind": 0}, counts(), "not late yet")
	r.Clock.Advance(3 * time.Minute)
	want := map[string]int{"head": 1, "second": 0, "third": 0, "retrying": 1, "held": 0, "behind": 1}
	require.Equal(t, want, counts())
	require.Equal(t, want, counts(), "one job each")
}
