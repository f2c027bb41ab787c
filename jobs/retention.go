package jobs

import (
	"context"
	"errors"

	"github.com/riverqueue/river"
)

// RetentionArgs is the periodic job that deletes what is older than we keep.
type RetentionArgs struct{}

// Kind names the job.
func (RetentionArgs) Kind() string { return "retention" }

// keeper is an area whose rows are kept for a time.
type keeper interface {
	DeleteOld(ctx context.Context) error
}

type retention struct {
	river.WorkerDefaults[RetentionArgs]
	areas []keeper
}

// Work deletes in each area; one area's failure doesn't keep the others from it.
func (w *retention) Work(ctx context.Context, _ *river.Job[RetentionArgs]) error {
	var errs []error
	for _, area := range w.areas {
		errs = append(errs, area.DeleteOld(ctx))
	}
	return errors.Join(errs...)
}
