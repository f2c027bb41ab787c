package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/webhook"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestADueJobIsAnnounced checks that the queues are notified when a job is due. Without it, the job would wait for the
// next poll.
func TestADueJobIsAnnounced(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	apitest.New(t, apitest.Options{Jobs: true, Pool: pool})
	apitest.Until(t, "a leader", func() (leads bool) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT 1 FROM river_leader)").Scan(&leads))
		return leads
	})
	pooled, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	conn := pooled.Hijack()
	defer conn.Close(context.WithoutCancel(t.Context()))
	var schema string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema))
	_, err = conn.Exec(t.Context(), `LISTEN "`+schema+`.river_insert"`)
	require.NoError(t, err)
	var at time.Time
	require.NoError(t, conn.QueryRow(t.Context(), `
		INSERT INTO river_job (kind, queue, state, max_attempts, args, scheduled_at)
		VALUES ($1, $2, 'available', 1, '{"deliveryId": "del_none"}', clock_timestamp() + interval '2 s')
		RETURNING scheduled_at`, webhook.DeliverArgs{}.Kind(), webhook.Queue).Scan(&at))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(ctx)
		require.NoError(t, err)
		if strings.Contains(n.Payload, `"`+webhook.Queue+`"`) {
			break
		}
	}
	var now time.Time
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now))
	require.False(t, now.Before(at), "not before the job is due")
}
