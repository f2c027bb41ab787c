package webhook_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/testkit/apitest"
)

// emitMany emits events in one call, pairs of name and subject, and writes their deliveries.
func (r *rig) emitMany(t *testing.T, pairs ...string) error {
	t.Helper()
	err := r.commit(t, pairs...)
	for taken := 1; taken > 0 && err == nil; {
		taken, _, err = r.Webhooks.FanOutTenants(t.Context(), r.owner.TenantID)
	}
	return err
}

// commit emits events in one call. Their deliveries are not written yet.
func (r *rig) commit(t *testing.T, pairs ...string) error {
	t.Helper()
	return postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		var events []event.Event
		for i := 0; i < len(pairs); i += 2 {
			events = append(events, event.Event{
				TenantID: r.owner.TenantID, Name: pairs[i], Subject: pairs[i+1],
				Data: apitest.EventData(t, pairs[i], map[string]any{"streamId": pairs[i+1]}),
			})
		}
		return r.Events.EmitManyTx(t.Context(), tx, events)
	})
}

// TestManyEventsAreDeliveredLikeOneAfterTheOther: each event goes to the endpoints
// that want it; those of a subject arrive in order, after earlier ones.
func TestManyEventsAreDeliveredLikeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	all, starts := apitest.NewSink(t, nil), apitest.NewSink(t, nil)
	r.owner.Webhook(t, all.URL)
	r.owner.Webhook(t, starts.URL, "stream.started")
	r.owner.Webhook(t, "http://127.0.0.1:1/", "recording.ready")
	r.Register(t).Webhook(t, "http://127.0.0.1:1/")
	before := r.emit(t, "stream.started", "str_1")
	require.Len(t, before, 2)
	require.NoError(t, r.emitMany(t, "stream.started", "str_2", "stream.ended", "str_1", "stream.started", "str_1", "stream.ended", "str_2"))
	require.NoError(t, r.emitMany(t))
	list := r.deliveries(t)
	require.Len(t, list, 2+6)
	started := 0
	for _, d := range list { // the others wait behind these
		if r.jobs(t, d) == 1 {
			started++
			r.deliver(t, d)
		}
	}
	require.Equal(t, 4, started, "one for each endpoint and subject")
	require.Equal(t, []string{"stream.started", "stream.ended", "stream.started"}, names(all, "str_1"))
	require.Equal(t, []string{"stream.started", "stream.ended"}, names(all, "str_2"))
	require.Equal(t, []string{"stream.started", "stream.started"}, names(starts, "str_1"))
	require.Equal(t, []string{"stream.started"}, names(starts, "str_2"))
}

// names lists the events of a stream that arrived, in order.
func names(sink *apitest.Sink, streamID string) (list []string) {
	for _, r := range sink.Received() {
		if strings.Contains(string(r.Body), streamID) {
			list = append(list, r.Header.Get("X-Service-Event"))
		}
	}
	return list
}

// TestTheKeysOfAnEnvelopeHaveTheOrderOfTheAPI checks the body byte by byte, because receivers log it.
func TestTheKeysOfAnEnvelopeHaveTheOrderOfTheAPI(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	r.emit(t, "stream.started", "str_1")
	var payload string
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT payload::text FROM events WHERE tenant_id = $1", r.owner.TenantID).Scan(&payload))
	require.Regexp(t, `^{"event":"stream.started","tenantId":"`+r.owner.TenantID+`","occurredAt":"[^"]+","data":{.*}}$`, payload)
}

// TestATransactionOfAnotherKindIsNoticed checks that it is, even if no endpoint gets the event.
func TestATransactionOfAnotherKindIsNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	tx, err := r.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	require.Panics(t, func() {
		_ = r.Events.EmitTx(t.Context(), tx, event.Event{
			TenantID: r.owner.TenantID, Name: "stream.started", Subject: "str_1", Data: apitest.EventData(t, "stream.started", nil),
		})
	})
}
