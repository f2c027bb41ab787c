package jobs_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/testkit/apitest"
)

// TestOneTenantDoesNotHoldUpTheOthers sends 300 deliveries of one tenant to a
// sink that doesn't answer. Another tenant's delivery must arrive while all of
// them wait for their answers. When the sink answers at last, all arrive, in the
// order of their subjects.
func TestOneTenantDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	const subjects, each, share = 300, 2, 10
	s := apitest.New(t, apitest.Options{Jobs: true, Schedule: impatient()})
	slow, other := s.Register(t), s.Register(t)
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	tarpit := apitest.NewSink(t, func(http.ResponseWriter, apitest.Received) { <-answer })
	t.Cleanup(release)
	sink := apitest.NewSink(t, nil)
	hook := slow.Webhook(t, tarpit.URL)
	other.Webhook(t, sink.URL)
	require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
		for i := range subjects * each {
			subject := fmt.Sprint("str_", i%subjects)
			err := s.Events.EmitTx(t.Context(), tx, event.Event{
				TenantID: slow.TenantID, Name: "stream.started", Subject: subject, Data: numbered(t, "stream.started", subject, i/subjects),
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	tarpit.Wait(t, share)
	emit(t, s, other.TenantID, "stream.started", "str_other", 1)
	sink.Wait(t, 1)
	require.Len(t, tarpit.Received(), share, "the limit of running attempts to an endpoint that doesn't answer")

	release()
	apitest.Until(t, "all deliveries", func() bool {
		var open int
		require.NoError(t, s.Pool.QueryRow(t.Context(),
			"SELECT count(*) FROM webhook_deliveries WHERE endpoint_id = $1 AND status <> 'delivered'", hook.ID).Scan(&open))
		return open == 0
	})
	next := map[string]int{}
	for _, r := range tarpit.Received() {
		subject, n := content(t, r)
		if r.Attempt > 1 {
			continue // a snooze doesn't count as an attempt, but on a slow machine an attempt may have timed out
		}
		require.Equal(t, next[subject], n, subject)
		next[subject]++
	}
	require.Len(t, next, subjects)
}
