package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/base/queue"
	"showfloor/internal/console/report"
	"showfloor/internal/streams/analytics"
	"showfloor/internal/tenancy/audit"
)

// The sums that WriteSumsArgs names: row counts, figures of closed hours, audit entries by day, the activity of all tenants.
const (
	rowSums    = "rows"
	figureSums = "figures"
	auditSums  = "audit"

	activitySums = "activity"
)

// WriteSumsArgs is the periodic job that writes sums from which figures and totals are read. Each kind has a job of its
// own, so that a slow one doesn't delay the others.
type WriteSumsArgs struct {
	Sums string `json:"sums"`
}

// Kind names the job.
func (WriteSumsArgs) Kind() string { return "write_sums" }

// InsertOpts selects the queue of slow jobs. There is at most one unfinished job for each kind of sums.
func (WriteSumsArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: retentionQueue, UniqueOpts: queue.Unfinished()}
}

type writeSums struct {
	river.WorkerDefaults[WriteSumsArgs]
	clock     clock
	log       *slog.Logger
	analytics *analytics.Service
	audit     *audit.Days
	reports   *report.Service
}

// NextRetry returns the time after a failure. River's own pauses grow to hours, and the unfinished job prevents the periodic one.
func (w *writeSums) NextRetry(*river.Job[WriteSumsArgs]) time.Time {
	return w.clock.now().Add(sumsEvery)
}

// Work writes the sums. It ignores unknown kinds, because another version of the server may have added the job.
func (w *writeSums) Work(ctx context.Context, job *river.Job[WriteSumsArgs]) error {
	var err error
	switch job.Args.Sums {
	case rowSums:
		err = w.analytics.AddRowCounts(ctx)
	case figureSums:
		err = w.analytics.SumFigures(ctx)
	case auditSums:
		err = w.audit.CountDays(ctx)
	case activitySums:
		err = w.reports.SumActivity(ctx)
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		w.log.Warn("sums reached their time limit", "sums", job.Args.Sums, "error", err)
		return river.JobSnooze(retentionPause) // what is written is committed, span by span
	}
	return err
}

// sumJobs returns the periodic jobs of all sums.
func sumJobs() (list []*river.PeriodicJob) {
	for _, kind := range []string{rowSums, figureSums, auditSums, activitySums} {
		args := WriteSumsArgs{Sums: kind}
		list = append(list, river.NewPeriodicJob(river.PeriodicInterval(sumsEvery), func() (river.JobArgs, *river.InsertOpts) {
			return args, nil
		}, &river.PeriodicJobOpts{ID: args.Kind() + "_" + kind, RunOnStart: true}))
	}
	return list
}
