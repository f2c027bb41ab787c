package jobs

import (
	"context"
	"errors"

	"github.com/riverqueue/river"

	"showfloor/internal/areas"
)

// RetentionArgs is the periodic job that deletes what is older than we keep.
type RetentionArgs struct{}

// Kind names the job.
func (RetentionArgs) Kind() string { return "retention" }

type retention struct {
	river.WorkerDefaults[RetentionArgs]
	keepers []areas.Keeper
}

// Work deletes in each area; one area's failure doesn't keep the others from it.
func (w *retention) Work(ctx context.Context, _ *river.Job[RetentionArgs]) error {
	var errs []error
	for _, area := range w.keepers {
		errs = append(errs, area.DeleteOld(ctx))
	}
	return errors.Join(errs...)
}
