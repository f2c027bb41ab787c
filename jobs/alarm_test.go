package jobs

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/dbtest"
)

// TestADueJobIsAnnounced checks that a queue is notified when its job is due. No worker runs beside it: a worker could
// find the job by polling first.
func TestADueJobIsAnnounced(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	pooled, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	conn := pooled.Hijack()
	defer conn.Close(context.WithoutCancel(t.Context()))
	var schema string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema))
	_, err = conn.Exec(t.Context(), `LISTEN "`+schema+`.river_insert"`)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `INSERT INTO river_leader (leader_id, elected_at, expires_at)
		VALUES ('leader', now(), now() + interval '1 hour')`)
	require.NoError(t, err)
	var at time.Time
	require.NoError(t, conn.QueryRow(t.Context(), `
		INSERT INTO river_job (kind, queue, state, max_attempts, args, scheduled_at)
		VALUES ('a', 'due', 'available', 1, '{}', clock_timestamp() + interval '2 s')
		RETURNING scheduled_at`).Scan(&at))

	alarmOf := func(node string) *alarm {
		return &alarm{
			pool: pool, node: node, queues: []string{"due"}, now: time.Now, log: slog.New(slog.DiscardHandler),
			inserted: make(chan struct{}), postponed: make(chan struct{}, 1),
		}
	}
	next, err := alarmOf("other").look(t.Context(), false)
	require.NoError(t, err)
	require.Equal(t, alarmEvery, next, "a node that doesn't lead leaves it to the leader")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go alarmOf("leader").run(ctx)
	n, err := conn.WaitForNotification(ctx)
	require.NoError(t, err)
	require.JSONEq(t, `{"queue": "due"}`, n.Payload)
	var now time.Time
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now))
	require.False(t, now.Before(at), "not before the job is due")
}
