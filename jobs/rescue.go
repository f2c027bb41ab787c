package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/outflow/push"
	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/speech"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/recording"
)

const (
	// lostAfter is how long a job may be running, and longer than the timeout of every worker that slowJobs doesn't list. So a
	// job that runs for longer belongs to a dead process.
	lostAfter = 2 * time.Minute
	// never disables the queue's own rescue, which compares the database's times with
	// this machine's clock. If that clock is ahead, it would run jobs twice that are
	// still running.
	never = 100 * 365 * 24 * time.Hour
)

// slowJobs returns the timeouts of the workers that may run for longer than lostAfter, by kind. Such a job counts as lost
// lostAfter later than its timeout.
func slowJobs() map[string]time.Duration {
	return map[string]time.Duration{
		recording.ImportArgs{}.Kind():      importTimeout,
		recording.MakeAssetsArgs{}.Kind():  assetsTimeout,
		recording.MakeClipArgs{}.Kind():    clipTimeout,
		recording.DeleteFilesArgs{}.Kind(): deletionTimeout,
		mediajob.RunArgs{}.Kind():          mediaJobTimeout,
		session.SummarizeArgs{}.Kind():     summaryTimeout,
		push.BatchArgs{}.Kind():            pushBatchTimeout,
		speech.RecognizeArgs{}.Kind():      speechTimeout,
	}
}

// RescueLost makes jobs available again that have been running for more than 2
// minutes of the database's clock, or 2 minutes more than slowJobs allows, and returns their number. It discards jobs without
// attempts left.
func RescueLost(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	var kinds []string
	var seconds []float64
	for kind, timeout := range slowJobs() {
		kinds, seconds = append(kinds, kind), append(seconds, (timeout+lostAfter).Seconds())
	}
	tag, err := pool.Exec(ctx, `
		UPDATE river_job SET
			state = CASE WHEN attempt < max_attempts THEN 'available' ELSE 'discarded' END::river_job_state,
			scheduled_at = now(),
			finalized_at = CASE WHEN attempt < max_attempts THEN NULL ELSE now() END,
			errors = array_append(errors, jsonb_build_object(
				'at', now(), 'attempt', attempt, 'error', 'the process that worked this job is gone', 'trace', ''))
		WHERE state = 'running' AND attempted_at < now() - make_interval(secs => $1) AND attempted_at < now() - make_interval(secs => coalesce(
			(SELECT slow.secs FROM unnest($2::text[], $3::double precision[]) AS slow (kind, secs) WHERE slow.kind = river_job.kind), $1))`,
		lostAfter.Seconds(), kinds, seconds)
	if err != nil {
		return 0, fmt.Errorf("rescue lost jobs: %w", err)
	}
	return tag.RowsAffected(), nil
}
