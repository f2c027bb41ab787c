package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
)

const (
	// lostAfter is how long a job may be running. It is above every worker's timeout,
	// so the process of a job that has been running for longer is gone.
	lostAfter = 2 * time.Minute
	// rescueEvery is the interval between two searches for such jobs.
	rescueEvery = 30 * time.Second
	// never switches the queue's own rescue off. It compares the database's times with
	// this machine's clock: with one that is ahead, running jobs would run twice.
	never = 100 * 365 * 24 * time.Hour
)

// RescueArgs is the periodic job that makes jobs of killed processes available again.
type RescueArgs struct{}

// Kind names the job.
func (RescueArgs) Kind() string { return "job_rescue" }

type rescue struct {
	river.WorkerDefaults[RescueArgs]
	pool *pgxpool.Pool
}

// Work makes them available.
func (w *rescue) Work(ctx context.Context, _ *river.Job[RescueArgs]) error {
	_, err := RescueLost(ctx, w.pool)
	return err
}

// RescueLost makes jobs available again that have been running for more than 2
// minutes of the database's clock, and returns their number. It discards jobs without
// attempts left.
func RescueLost(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	tag, err := pool.Exec(ctx, `
		UPDATE river_job SET
			state = CASE WHEN attempt < max_attempts THEN 'available' ELSE 'discarded' END::river_job_state,
			scheduled_at = now(),
			finalized_at = CASE WHEN attempt < max_attempts THEN NULL ELSE now() END,
			errors = array_append(errors, jsonb_build_object(
				'at', now(), 'attempt', attempt, 'error', 'the process that worked this job is gone', 'trace', ''))
		WHERE state = 'running' AND attempted_at < now() - make_interval(secs => $1)`, lostAfter.Seconds())
	if err != nil {
		return 0, fmt.Errorf("rescue lost jobs: %w", err)
	}
	return tag.RowsAffected(), nil
}
