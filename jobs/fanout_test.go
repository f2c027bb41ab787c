package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestEventsOfAnotherProcessAreDelivered emits in a process that runs no jobs: the one that does is
// not woken by the commit and must find the events by itself.
func TestEventsOfAnotherProcessAreDelivered(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	silent := apitest.New(t, apitest.Options{Pool: pool})
	owner := silent.Register(t)
	sink := apitest.NewSink(t, nil)
	owner.Webhook(t, sink.URL)
	emit(t, silent, owner.TenantID, "stream.started", "str_0", 0)
	apitest.New(t, apitest.Options{Pool: pool, Box: silent.Box, Jobs: true})
	sink.Wait(t, 1)
	emit(t, silent, owner.TenantID, "stream.started", "str_1", 0)
	sink.Wait(t, 2)
	require.Len(t, sink.Received(), 2)
}
