package webhook_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/testkit/apitest"
)

// TestEventIsPartOfTheCallersTransaction: event, deliveries and jobs commit
// together or not at all.
func TestEventIsPartOfTheCallersTransaction(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	r.owner.Webhook(t, "http://127.0.0.1:1/")
	left := func() (events, deliveries, jobs int) {
		require.NoError(t, r.Pool.QueryRow(t.Context(), `
			SELECT (SELECT count(*) FROM events WHERE tenant_id = $1), (SELECT count(*) FROM webhook_deliveries WHERE tenant_id = $1),
				(SELECT count(*) FROM river_job WHERE args->>'deliveryId' IN (SELECT id FROM webhook_deliveries WHERE tenant_id = $1))`,
			r.owner.TenantID).Scan(&events, &deliveries, &jobs))
		return events, deliveries, jobs
	}
	changedMind := errors.New("changed my mind")
	var jobsBefore, jobsAfter int
	count := "SELECT count(*) FROM river_job WHERE args->>'deliveryId' LIKE 'del_%' AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.id = args->>'deliveryId')"
	require.NoError(t, r.Pool.QueryRow(t.Context(), count).Scan(&jobsBefore))
	err := postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		for range 3 {
			e := event.Event{TenantID: r.owner.TenantID, Name: "stream.started", Subject: id.New(id.Stream), Data: apitest.EventData(t, "stream.started", nil)}
			require.NoError(t, r.Events.EmitTx(t.Context(), tx, e))
		}
		return changedMind
	})
	require.ErrorIs(t, err, changedMind)
	events, deliveries, jobs := left()
	require.Zero(t, events+deliveries+jobs)
	require.NoError(t, r.Pool.QueryRow(t.Context(), count).Scan(&jobsAfter))
	require.Equal(t, jobsBefore, jobsAfter, "no job without its delivery")

	r.emit(t, "stream.started", "str_1")
	events, deliveries, jobs = left()
	require.Equal(t, []int{1, 1, 1}, []int{events, deliveries, jobs})

	err = postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		return r.Events.EmitTx(t.Context(), tx, event.Event{TenantID: r.owner.TenantID, Name: "x", Subject: "s", Data: func() {}})
	})
	require.Error(t, err, "a value without a JSON form")
}
