package jobs

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/areas"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/queue"
)

const (
	// retentionQueue has one worker per process, so that the areas delete old rows
	// one after the other, separately from all other jobs.
	retentionQueue = "retention"
	// retentionTime is the time limit of the deletion in one area. If it is reached, the
	// job continues after retentionPause, when the other areas have had their turn. If it
	// has deleted nothing, it continues after retentionEvery.
	retentionTime  = time.Minute
	retentionPause = time.Second
)

// RetentionArgs is the periodic job that deletes an area's expired rows. Each area
// has a job of its own, so that a slow one takes no time from the others.
type RetentionArgs struct {
	// Area is a key of areas.Areas.Keepers.
	Area string `json:"area"`
}

// Kind names the job.
func (RetentionArgs) Kind() string { return "retention" }

// InsertOpts selects the job's queue. An area has at most one unfinished job.
func (RetentionArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: retentionQueue, UniqueOpts: queue.Unfinished()}
}

type retention struct {
	river.WorkerDefaults[RetentionArgs]
	keepers map[string]areas.Keeper
	clock   clock
	log     *slog.Logger
}

// Timeout limits the deletion in one area.
func (*retention) Timeout(*river.Job[RetentionArgs]) time.Duration { return retentionTime }

// NextRetry returns the time after a failure. River's own pauses grow to hours, and the unfinished job prevents the periodic one.
func (w *retention) NextRetry(*river.Job[RetentionArgs]) time.Time {
	return w.clock.now().Add(retentionEvery)
}

// Work deletes the rows. It ignores unknown areas, because another version of the
// server may have added the job.
func (w *retention) Work(ctx context.Context, job *river.Job[RetentionArgs]) error {
	area, known := w.keepers[job.Args.Area]
	if !known {
		return nil
	}
	ctx, deleted := postgres.CountDeleted(ctx)
	err := area.DeleteOld(ctx)
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	w.log.Warn("retention reached its time limit", "area", job.Args.Area, "deleted", deleted.Load(), "error", err)
	if deleted.Load() == 0 {
		return river.JobSnooze(retentionEvery)
	}
	return river.JobSnooze(retentionPause)
}

// retentionJobs returns the periodic jobs of all areas.
func retentionJobs(keepers map[string]areas.Keeper) (list []*river.PeriodicJob) {
	for _, area := range slices.Sorted(maps.Keys(keepers)) {
		args := RetentionArgs{Area: area}
		list = append(list, river.NewPeriodicJob(river.PeriodicInterval(retentionEvery), func() (river.JobArgs, *river.InsertOpts) {
			return args, nil
		}, &river.PeriodicJobOpts{ID: args.Kind() + "_" + area, RunOnStart: true}))
	}
	return list
}
