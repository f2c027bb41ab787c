package jobs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/areas"
	"showfloor/internal/base/queue"
)

const (
	// retentionQueue has one worker per process, so that the areas delete old rows
	// one after the other, separately from all other jobs.
	retentionQueue = "retention"
	// retentionTime is the time limit of the deletion in one area. If it is reached, the
	// job continues after retentionPause, when the other areas have had their turn.
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
}

// Timeout limits the deletion in one area.
func (*retention) Timeout(*river.Job[RetentionArgs]) time.Duration { return retentionTime }

// Work deletes the rows. It ignores unknown areas, because another version of the
// server may have added the job.
func (w *retention) Work(ctx context.Context, job *river.Job[RetentionArgs]) error {
	area, known := w.keepers[job.Args.Area]
	if !known {
		return nil
	}
	err := area.DeleteOld(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return river.JobSnooze(retentionPause) // there is more to delete; what is deleted is committed
	}
	return err
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
