package jobs_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/webhook"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/jobs"
)

// TestRecoverNodeRunsOrphansAgain simulates in the database that a process was
// killed during a delivery.
func TestRecoverNodeRunsOrphansAgain(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	dead := apitest.New(t, apitest.Options{Pool: pool, Node: "node_dead"})
	owner := dead.Register(t)
	sink := apitest.NewSink(t, nil)
	owner.Webhook(t, sink.URL)
	emit(t, dead, owner.TenantID, "stream.started", "str_1", 1)
	emit(t, dead, owner.TenantID, "stream.started", "str_2", 2)
	dead.FanOut(t, owner.TenantID)
	run := func(sql string) {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	run(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = ARRAY['node_before', 'node_dead']
		WHERE id = (SELECT min(id) FROM river_job WHERE kind = 'webhook_deliver')`)
	run(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = ARRAY['node_dead', 'node_alive']
		WHERE id = (SELECT max(id) FROM river_job WHERE kind = 'webhook_deliver')`)
	run(`INSERT INTO river_leader (elected_at, expires_at, leader_id, name) VALUES (now(), now() + interval '1 hour', 'node_dead', 'default')`)

	n, err := jobs.RecoverNode(t.Context(), pool, "node_dead")
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "another node's jobs are not changed")
	n, err = jobs.RecoverNode(t.Context(), pool, "node_dead")
	require.NoError(t, err)
	require.Zero(t, n)

	apitest.New(t, apitest.Options{Pool: pool, Node: "node_dead", Jobs: true})
	subject, _ := content(t, sink.Wait(t, 1)[0])
	require.Equal(t, "str_1", subject)
	apitest.Until(t, "a new leader", func() bool {
		var leaders int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM river_leader").Scan(&leaders))
		return leaders == 1
	})
	require.Len(t, sink.Received(), 1)
}

// TestOneJobPerDelivery checks that no delivery has two jobs for its next attempt.
func TestOneJobPerDelivery(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	for range 3 {
		require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
			_, err := s.Inserter.InsertManyTx(t.Context(), tx, []river.InsertManyParams{{Args: webhook.DeliverArgs{DeliveryID: "del_1"}}})
			return err
		}))
	}
	var n int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job").Scan(&n))
	require.Equal(t, 1, n)
}

func TestOldRowsAreDeletedAtTheStart(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s := apitest.New(t, apitest.Options{Pool: pool})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	for i, age := range []time.Duration{24 * time.Hour, 60 * 24 * time.Hour} {
		_, err := pool.Exec(t.Context(), `
			INSERT INTO publishers (id, tenant_id, stream_id, source, node, remote_ip, accepted_at, ended_at)
			VALUES ($1::text, $2, $3, 'rtmp', '', '', $4, $4)`, []string{"pub_new", "pub_old"}[i], owner.TenantID, st.ID, time.Now().Add(-age))
		require.NoError(t, err)
	}
	apitest.New(t, apitest.Options{Pool: pool, Jobs: true})
	var left string
	apitest.Until(t, "the old row to go", func() bool {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*), min(id) FROM publishers").Scan(&n, &left))
		return n == 1
	})
	require.Equal(t, "pub_new", left)
}

func TestCheckAsksTheQueue(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	require.NoError(t, jobs.Check(t.Context(), pool))
	empty := dbtest.NewEmpty(t)
	require.Error(t, jobs.Check(t.Context(), empty), "there is no queue in it")
}
