package jobs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"showfloor/internal/areas"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/queue"
	"showfloor/internal/testkit/dbtest"
)

// keeper is a DeleteOld made of a function.
type keeper func(ctx context.Context) error

func (k keeper) DeleteOld(ctx context.Context) error { return k(ctx) }

// TestSlowRetentionDoesNotDelayOtherJobs checks that an area whose deletion times out takes no
// time from the others, and that the areas run one after the other.
func TestSlowRetentionDoesNotDelayOtherJobs(t *testing.T) {
	t.Parallel()
	ended, cancelled := make(chan string, 10), make(chan error, 10)
	running := make(chan struct{}, 1)
	one := func(name string) keeper {
		return func(ctx context.Context) error {
			select {
			case running <- struct{}{}:
			default:
				t.Error("two areas at the same time")
			}
			defer func() { <-running }()
			_, limited := ctx.Deadline()
			require.True(t, limited)
			require.NoError(t, ctx.Err())
			ended <- name
			return nil
		}
	}
	keepers := map[string]areas.Keeper{
		"A": keeper(func(ctx context.Context) error { <-ctx.Done(); cancelled <- ctx.Err(); return ctx.Err() }),
		"B": one("B"), "C": one("C"), "D": one("D"),
	}
	require.Len(t, retentionJobs(keepers), 4)
	pool := dbtest.New(t)
	workers := river.NewWorkers()
	river.AddWorker(workers, &quick{retention{keepers: keepers, clock: clock{time.Now}, log: slog.New(slog.DiscardHandler)}})
	config := queue.Config(slog.New(slog.DiscardHandler))
	config.Workers, config.Queues = workers, map[string]river.QueueConfig{retentionQueue: {MaxWorkers: 1}}
	client, err := river.NewClient(riverpgxv5.New(pool), config)
	require.NoError(t, err)
	for _, area := range []string{"A", "B", "an area of another version", "C", "D"} {
		_, err := client.Insert(t.Context(), RetentionArgs{Area: area}, nil)
		require.NoError(t, err)
	}
	require.NoError(t, client.Start(t.Context()))
	t.Cleanup(func() { stop(t, client) })
	require.ErrorIs(t, <-cancelled, context.DeadlineExceeded)
	for _, want := range []string{"B", "C", "D"} {
		require.Equal(t, want, <-ended)
	}
}

// TestUnfinishedRetentionContinues: an area whose deletion reaches its time limit is called again, after the others, and the
// log has the rows that it was deleting.
func TestUnfinishedRetentionContinues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		batches int // of 5,000 rows, before the limit
		log     string
		pause   time.Duration
	}{
		{2, "area=A deleted=10000", retentionPause},
		{0, "area=A deleted=0", retentionEvery},
	} {
		var text bytes.Buffer
		worker := &retention{log: slog.New(slog.NewTextHandler(&text, nil)), keepers: map[string]areas.Keeper{
			"A": keeper(func(ctx context.Context) error {
				<-ctx.Done()
				return errors.Join(
					postgres.DeleteInBatches(ctx, "keys", batches(ctx, c.batches)),
					postgres.DeleteInBatches(ctx, "events", batches(ctx, 0)),
				)
			}),
		}}
		ended, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		var snooze *river.JobSnoozeError
		require.ErrorAs(t, worker.Work(ended, &river.Job[RetentionArgs]{Args: RetentionArgs{Area: "A"}}), &snooze)
		require.Equal(t, c.pause, snooze.Duration)
		require.Contains(t, text.String(), "level=WARN")
		require.Contains(t, text.String(), c.log)
		require.Contains(t, text.String(), "delete old keys: context deadline exceeded")
	}
}

// batches deletes n full batches, and then returns the error of the context.
func batches(ctx context.Context, n int) func(maxRows int32) (int64, error) {
	return func(maxRows int32) (int64, error) {
		if n == 0 {
			return 0, ctx.Err()
		}
		n--
		return int64(maxRows), nil
	}
}

// TestFailedRetentionRunsAgainSoon: after an error the job is due again when the next periodic one would be, however often
// it has failed.
func TestFailedRetentionRunsAgainSoon(t *testing.T) {
	t.Parallel()
	now := time.Now()
	worker := &retention{clock: clock{func() time.Time { return now }}, keepers: map[string]areas.Keeper{
		"B": keeper(func(context.Context) error { return errors.New("no disk") }),
	}}
	job := &river.Job[RetentionArgs]{JobRow: &rivertype.JobRow{Attempt: 20}, Args: RetentionArgs{Area: "B"}}
	require.EqualError(t, worker.Work(t.Context(), job), "no disk")
	require.Equal(t, now.Add(5*time.Minute), worker.NextRetry(job))
}

// quick is a retention worker with a shorter time limit.
type quick struct{ retention }

func (*quick) Timeout(*river.Job[RetentionArgs]) time.Duration { return 50 * time.Millisecond }

func stop(t *testing.T, client *river.Client[pgx.Tx]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, client.StopAndCancel(ctx))
}

// TestRetentionEndsBeforeItsJobCountsAsLost checks that its time limit is shorter than
// lostAfter, so that two runs never delete at the same time.
func TestRetentionEndsBeforeItsJobCountsAsLost(t *testing.T) {
	t.Parallel()
	require.Less(t, (&retention{}).Timeout(nil), lostAfter)
}
