package idempotency_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
	"showfloor/internal/tenancy/idempotency"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// rig is a tenant whose name gets a + appended by each run of the use case.
type rig struct {
	pool     *pgxpool.Pool
	clock    *apitest.Clock
	service  *idempotency.Service
	tenantID string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOn(t, dbtest.Shared(t))
}

func newRigOn(t *testing.T, pool *pgxpool.Pool) *rig {
	t.Helper()
	r := &rig{pool: pool, clock: apitest.NewClock(), tenantID: id.New(id.Tenant)}
	_, err := db.New(r.pool).CreateTenant(t.Context(), db.CreateTenantParams{ID: r.tenantID, Name: "", Now: r.clock.Now()})
	require.NoError(t, err)
	r.service = r.restart(t)
	return r
}

// restart returns the service of another process on the same database.
func (r *rig) restart(t *testing.T) *idempotency.Service {
	t.Helper()
	box, err := secret.NewBox([]byte(apitest.MasterKey))
	require.NoError(t, err)
	return idempotency.New(idempotency.Config{Pool: r.pool, Box: box, Log: slog.New(slog.DiscardHandler), Now: r.clock.Now})
}

func (r *rig) request(key, body string) idempotency.Request {
	return idempotency.Request{TenantID: r.tenantID, Key: key, Fingerprint: sha256.Sum256([]byte(body)), RunID: id.New(id.Request)}
}

// begin begins a run; it must succeed.
func (r *rig) begin(t *testing.T, key, body string) *idempotency.Run {
	t.Helper()
	run, answer, err := r.service.Begin(t.Context(), r.request(key, body))
	require.NoError(t, err)
	require.Nil(t, answer)
	return run
}

// refused requires a problem with this code.
func (r *rig) refused(t *testing.T, key, body, code string) {
	t.Helper()
	run, answer, err := r.service.Begin(t.Context(), r.request(key, body))
	require.Nil(t, run)
	require.Nil(t, answer)
	require.True(t, problem.Is(err, code), "%v", err)
}

// do is a use case that records its run in a transaction.
func (r *rig) do(ctx context.Context, run *idempotency.Run) error {
	return postgres.InTx(postgres.WithHook(ctx, run), r.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE tenants SET name = name || '+' WHERE id = $1", r.tenantID)
		return err
	})
}

// done returns how often the use case was committed.
func (r *rig) done(t *testing.T) int {
	t.Helper()
	tenant, err := db.New(r.pool).GetTenant(t.Context(), r.tenantID)
	require.NoError(t, err)
	return len(tenant.Name)
}

const lease = 15 * time.Second

func TestAnAnswerIsKeptForADay(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, dbtest.New(t)) // the deletion concerns all tenants
	run := r.begin(t, "k", "body")
	require.NoError(t, r.do(t.Context(), run))
	kept := idempotency.Answer{Status: 201, ContentType: "application/json", Body: []byte(`{"key":"sk_live_fresh"}`)}
	require.NoError(t, run.Keep(t.Context(), kept))
	require.NoError(t, run.Release(t.Context()), "after its end nothing is released")
	for _, s := range []*idempotency.Service{r.service, r.restart(t)} {
		run, answer, err := s.Begin(t.Context(), r.request("k", "body"))
		require.NoError(t, err)
		require.Nil(t, run)
		require.Equal(t, &kept, answer)
	}
	r.refused(t, "k", "another body", "idempotency_mismatch")
	var atRest []byte
	require.NoError(t, r.pool.QueryRow(t.Context(), "SELECT body FROM idempotency_keys WHERE tenant_id = $1", r.tenantID).Scan(&atRest))
	require.NotContains(t, string(atRest), "sk_live", "it may hold a secret")

	other := newRigOn(t, r.pool) // another tenant's keys are separate
	require.NoError(t, other.begin(t, "k", "body").Release(t.Context()))

	r.clock.Advance(24*time.Hour - time.Millisecond)
	_, answer, err := r.service.Begin(t.Context(), r.request("k", "body"))
	require.NoError(t, err)
	require.NotNil(t, answer)
	r.clock.Advance(time.Millisecond)
	run = r.begin(t, "k", "another body")
	require.NoError(t, run.Keep(t.Context(), kept))
	require.NoError(t, r.service.DeleteOld(t.Context()))
	r.refused(t, "k", "body", "idempotency_mismatch")
	r.clock.Advance(24*time.Hour + time.Millisecond)
	require.NoError(t, r.service.DeleteOld(t.Context()))
	var n int
	require.NoError(t, r.pool.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_keys WHERE tenant_id = $1", r.tenantID).Scan(&n))
	require.Zero(t, n)
}

// TestDeathBeforeTheCommit checks that the uncommitted changes of a dead run are
// lost, and that the next request after the end of its lease is executed.
func TestDeathBeforeTheCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dead := r.begin(t, "k", "body")
	ctx, kill := context.WithCancel(t.Context())
	err := postgres.InTx(postgres.WithHook(ctx, dead), r.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE tenants SET name = name || '+' WHERE id = $1", r.tenantID)
		kill()
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, r.done(t))
	r.refused(t, "k", "body", "idempotency_in_progress")
	r.refused(t, "k", "another body", "idempotency_mismatch")
	r.clock.Advance(lease - time.Millisecond)
	r.refused(t, "k", "body", "idempotency_in_progress")
	r.clock.Advance(time.Millisecond)
	r.refused(t, "k", "another body", "idempotency_mismatch")
	run := r.begin(t, "k", "body")
	require.NoError(t, r.do(t.Context(), run))
	require.NoError(t, run.Keep(t.Context(), idempotency.Answer{Status: 201}))

	// The first run wasn't dead after all.
	require.True(t, problem.Is(r.do(t.Context(), dead), "unavailable"))
	require.NoError(t, dead.Keep(t.Context(), idempotency.Answer{Status: 500}))
	require.Equal(t, 1, r.done(t), "its late changes were rolled back")
	_, answer, err := r.service.Begin(t.Context(), r.request("k", "body"))
	require.NoError(t, err)
	require.Equal(t, 201, answer.Status)
}

// TestDeathAfterTheCommit checks that the request isn't executed again, although
// its answer is unknown.
func TestDeathAfterTheCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dead := r.begin(t, "k", "body")
	require.NoError(t, r.do(t.Context(), dead))
	require.NoError(t, r.do(t.Context(), dead), "a second transaction is part of it")
	r.refused(t, "k", "body", "idempotency_in_progress")
	r.clock.Advance(lease)
	r.refused(t, "k", "body", "idempotency_lost")
	r.clock.Advance(time.Hour)
	r.refused(t, "k", "body", "idempotency_lost")
	r.refused(t, "k", "another body", "idempotency_mismatch")
}

// TestAFailureFreesTheKeyUnlessSomethingWasCommitted ends runs without an answer.
func TestAFailureFreesTheKeyUnlessSomethingWasCommitted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.begin(t, "k", "body").Release(t.Context()))
	run := r.begin(t, "k", "another body") // allowed, because the failed run has released the key
	require.NoError(t, r.do(t.Context(), run))
	require.NoError(t, run.Release(t.Context()))
	r.refused(t, "k", "another body", "idempotency_lost") // at once, because no run is active
	require.NoError(t, r.do(t.Context(), run), "background work is not part of the request")
}

// TestACommitUnderWayCounts checks that a release waits for it.
func TestACommitUnderWayCounts(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, dbtest.New(t)) // a database in which no other statement waits for a lock
	run := r.begin(t, "k", "body")
	tx, err := r.pool.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, run.BeforeCommit(t.Context(), tx))
	released := make(chan error)
	go func() { released <- run.Release(t.Context()) }()
	apitest.Until(t, "the release to wait", func() bool {
		var waiting bool
		err := r.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%ReleaseIdempotencyKey%')`).Scan(&waiting)
		return err == nil && waiting
	})
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-released)
	r.refused(t, "k", "body", "idempotency_lost")
}

// TestASenderHangsUpWhileTheKeyIsTaken hangs up at many instants and checks that no key stays reserved.
func TestASenderHangsUpWhileTheKeyIsTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 300 {
		ctx, hangUp := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(i)*5*time.Microsecond, hangUp)
		run, _, err := r.service.Begin(ctx, r.request("k"+strconv.Itoa(i), "body"))
		if err == nil {
			require.NoError(t, run.Release(ctx))
		}
		hangUp()
	}
	var reserved int
	require.NoError(t, r.pool.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_keys WHERE tenant_id = $1", r.tenantID).Scan(&reserved))
	require.Zero(t, reserved)
}

// TestASenderHangsUpWhileAllConnectionsAreUsed: it doesn't wait for a connection any longer.
func TestASenderHangsUpWhileAllConnectionsAreUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range r.pool.Config().MaxConns {
		conn, err := r.pool.Acquire(t.Context())
		require.NoError(t, err)
		defer conn.Release()
	}
	ctx, hangUp := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, hangUp)
	_, _, err := r.service.Begin(ctx, r.request("k", "body"))
	require.ErrorIs(t, err, context.Canceled)
}

// TestManyDeathsAndOneExecution lets processes take keys and die at every point,
// while the clock advances; some are only slow.
func TestManyDeathsAndOneExecution(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			services := []*idempotency.Service{r.service, r.restart(t), r.restart(t)}
			var wg sync.WaitGroup
			for i := range 6 {
				wg.Go(func() {
					for range 40 {
						r.attempt(t, services[i%len(services)])
						r.clock.Advance(time.Duration(rand.IntN(3)) * lease / 2)
					}
				})
			}
			wg.Wait()
			r.clock.Advance(lease)
			run, answer, err := r.service.Begin(t.Context(), r.request("k", "body"))
			if run == nil {
				require.True(t, answer != nil || problem.Is(err, "idempotency_lost"), "%v", err)
			} else { // each process has died, or lost the key in time
				require.Zero(t, r.done(t))
				require.NoError(t, r.do(t.Context(), run))
				require.NoError(t, run.Keep(t.Context(), idempotency.Answer{Status: 201}))
			}
			require.Equal(t, 1, r.done(t))
		})
	}
}

// attempt executes the request, and may die at any point.
func (r *rig) attempt(t *testing.T, s *idempotency.Service) {
	t.Helper()
	run, _, err := s.Begin(t.Context(), r.request("k", "body"))
	if err != nil || run == nil {
		if _, known := problem.As(err); err != nil && !known {
			t.Error(err)
		}
		return
	}
	const before, during, after, failure, ways = 0, 1, 2, 3, 8
	death := rand.IntN(ways)
	if death == before {
		return
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	r.clock.Advance(time.Duration(rand.IntN(3)) * lease / 2) // it may lose the key in that time
	err = postgres.InTx(postgres.WithHook(ctx, run), r.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE tenants SET name = name || '+' WHERE id = $1", r.tenantID)
		if death == during {
			kill()
		}
		return err
	})
	switch {
	case death == during || death == after:
	case death == failure || err != nil:
		if _, known := problem.As(err); err != nil && !known && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := run.Release(t.Context()); err != nil {
			t.Error(err)
		}
	default:
		if err := run.Keep(t.Context(), idempotency.Answer{Status: 201}); err != nil {
			t.Error(err)
		}
	}
}
