package webhook_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// numbers lists the X-Service-Sequence headers received for a subject, in order.
func numbers(sink *apitest.Sink, subject string) (list []string) {
	for _, got := range sink.Received() {
		if strings.Contains(string(got.Body), subject) {
			list = append(list, got.Header.Get("X-Service-Sequence"))
		}
	}
	return list
}

// sequences lists the numbers of a subject's events, in the order of the feed.
func (r *rig) sequences(t *testing.T, subject string) (list []int64) {
	t.Helper()
	rows, err := db.New(r.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	for _, e := range rows {
		if e.Subject == subject {
			list = append(list, e.Sequence)
		}
	}
	return list
}

func TestEventsOfASubjectAreNumbered(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	sink := apitest.NewSink(t, nil)
	hook := r.owner.Webhook(t, sink.URL)
	r.emit(t, "stream.started", "str_1")
	failure := errors.New("the change failed")
	require.ErrorIs(t, postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		return errors.Join(r.Events.EmitTx(t.Context(), tx, event.Event{
			TenantID: r.owner.TenantID, Name: "stream.ended", Subject: "str_1", Data: apitest.EventData(t, "stream.ended", nil),
		}), failure)
	}), failure)
	require.NoError(t, r.emitMany(t, "stream.started", "str_2", "stream.ended", "str_1", "stream.started", "str_1", "stream.ended", "str_2"))
	other := &rig{r.Server, r.Register(t)}
	other.owner.Webhook(t, "http://127.0.0.1:1/")
	other.emit(t, "stream.started", "str_1")

	r.work(t)
	require.Equal(t, []string{"1", "2", "3"}, numbers(sink, "str_1"), "a rolled-back event used no number")
	require.Equal(t, []string{"1", "2"}, numbers(sink, "str_2"))
	require.Equal(t, []int64{1}, other.sequences(t, "str_1"), "another tenant's")

	first := sink.Received()[0]
	require.Equal(t, first.Header.Get("Webhook-Id"), first.Header.Get("X-Service-Event-Id"))
	shown := r.shown(t, hook, first.Delivery())
	require.Equal(t, first.Header.Get("X-Service-Event-Id"), shown.EventID)
	require.Equal(t, "str_1", shown.Subject)
	require.EqualValues(t, 1, shown.Sequence)

	before := len(sink.Received())
	r.owner.Call(t, "POST", "/v1/me/webhooks/deliveries/"+first.Delivery()+"/retry", nil).Is(t, 201)
	_, err := r.Webhooks.Redeliver(t.Context(), first.Delivery())
	require.NoError(t, err)
	r.owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/test", nil).Is(t, 201)
	r.work(t)
	again, test := sink.Received()[before], sink.Received()[before+1]
	for _, name := range []string{"X-Service-Event-Id", "X-Service-Sequence", "X-Service-Delivery"} {
		require.Equal(t, first.Header.Get(name), again.Header.Get(name), "a manual retry")
	}
	require.Equal(t, "1", test.Header.Get("X-Service-Sequence"), "a test has a subject of its own")
	require.Equal(t, test.Header.Get("Webhook-Id"), test.Header.Get("X-Service-Event-Id"))
}

// TestNumbersGoOnWhenEventsAreDeleted: numbering doesn't depend on the events that
// are kept for 30 days.
func TestNumbersGoOnWhenEventsAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Pool: dbtest.New(t)}) // DeleteOld deletes rows of all tenants
	require.NoError(t, r.emitMany(t, "stream.started", "str_1", "stream.ended", "str_1"))
	r.Clock.Advance(31 * 24 * time.Hour)
	require.NoError(t, r.Webhooks.DeleteOld(t.Context()))
	require.Empty(t, r.sequences(t, "str_1"))
	require.NoError(t, r.emitMany(t, "stream.started", "str_1"))
	require.Equal(t, []int64{3}, r.sequences(t, "str_1"))
}

// TestNumbersHaveNoGapsUnderConcurrentWriters: batches with the same subjects in
// different orders wait for each other without a deadlock.
func TestNumbersHaveNoGapsUnderConcurrentWriters(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		pairs := []string{"stream.started", "str_a", "stream.started", "str_b", "stream.ended", "str_a", "stream.started", "str_c"}
		if i%2 == 1 {
			pairs = []string{"stream.started", "str_c", "stream.started", "str_b", "stream.started", "str_a", "stream.ended", "str_a"}
		}
		wg.Go(func() {
			for range 10 {
				if err := r.emitMany(t, pairs...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for subject, n := range map[string]int64{"str_a": 160, "str_b": 80, "str_c": 80} {
		var want []int64
		for i := range n {
			want = append(want, i+1)
		}
		require.Equal(t, want, r.sequences(t, subject), subject)
	}
}

// ahead gives the newest event and its delivery, if it has one, ids of a server
// whose clock is ahead.
func (r *rig) ahead(t *testing.T) {
	t.Helper()
	for _, statement := range []string{
		"ALTER TABLE webhook_deliveries DROP CONSTRAINT IF EXISTS webhook_deliveries_event_id_fkey",
		`UPDATE webhook_deliveries d SET next_id = replace(d.next_id, 'del_0', 'del_7') FROM webhook_deliveries n JOIN events e ON e.id = n.event_id
			WHERE d.next_id = n.id AND e.position = (SELECT max(position) FROM events)`,
		`UPDATE webhook_deliveries d SET id = replace(d.id, 'del_0', 'del_7'), event_id = replace(d.event_id, 'evt_0', 'evt_7') FROM events e
			WHERE e.id = d.event_id AND e.position = (SELECT max(position) FROM events)`,
		`UPDATE events SET id = replace(id, 'evt_0', 'evt_7') WHERE position = (SELECT max(position) FROM events)`,
	} {
		_, err := r.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
}

// TestOrderDoesNotGoByTheClocksOfServers: two servers emit in turns. One server's
// clock is ahead, so its ids sort after those of the other.
func TestOrderDoesNotGoByTheClocksOfServers(t *testing.T) {
	t.Parallel()
	emits := func(t *testing.T, r *rig) {
		t.Helper()
		for n := range 4 {
			require.NoError(t, r.emitMany(t, "stream.started", "str_1"))
			if n%2 == 0 {
				r.ahead(t)
			}
		}
	}
	want := []string{"1", "2", "3", "4"}
	t.Run("delivered", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
		sink := apitest.NewSink(t, nil)
		r.owner.Webhook(t, sink.URL)
		emits(t, r)
		var first string
		require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT id FROM webhook_deliveries ORDER BY sequence LIMIT 1").Scan(&first))
		r.deliver(t, first)
		require.Equal(t, want, numbers(sink, "str_1"))
	})
	t.Run("recovered", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
		sink := apitest.NewSink(t, nil)
		hook := r.owner.Webhook(t, sink.URL)
		start := r.Clock.Now()
		r.setStatus(t, hook, "disabled")
		emits(t, r)
		r.setStatus(t, hook, "active")
		require.Equal(t, 4, r.recover(t, hook, start).Recovered)
		r.work(t)
		require.Equal(t, want, numbers(sink, "str_1"))
	})
	t.Run("two lines", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, apitest.Options{Pool: dbtest.New(t)})
		r.owner.Webhook(t, "http://127.0.0.1:1/")
		require.NoError(t, r.emitMany(t, "stream.started", "str_1"))
		r.ahead(t)
		require.NoError(t, r.emitMany(t, "stream.started", "str_1"))
		_, err := r.Pool.Exec(t.Context(), "UPDATE webhook_deliveries SET next_id = NULL") // as when a recovery adds a line
		require.NoError(t, err)
		require.NoError(t, r.emitMany(t, "stream.started", "str_1"))
		var before int64
		require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT sequence FROM webhook_deliveries WHERE next_id IS NOT NULL").Scan(&before))
		require.EqualValues(t, 2, before, "it waits for the newest one")
	})
}
