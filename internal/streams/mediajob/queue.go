package mediajob

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// RunArgs is a run: the job of the queue that starts one QUEUED job and works on it.
type RunArgs struct {
	Of string `json:"of"` // the kind
}

// Kind is the name of the queue's job.
func (RunArgs) Kind() string { return "media_job_run" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (r RunArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: queueOf(r.Of)} }

// queueOf is the queue of a kind's runs. Each kind has its own, so that long transcodes don't delay packages.
func queueOf(kind string) string { return kind + "s" }

// DeleteFilesArgs is the job of the queue that deletes the files of a job that is CANCELED or FAILED.
type DeleteFilesArgs struct {
	JobID string `json:"jobId"`
}

// Kind is the name of the queue's job.
func (DeleteFilesArgs) Kind() string { return "media_job_delete_files" }

// addRun adds a run that begins after a pause. Each job that becomes QUEUED needs one.
func (s *Service) addRun(ctx context.Context, tx pgx.Tx, kind string, pause time.Duration) error {
	opts := &river.InsertOpts{Queue: queueOf(kind)}
	if pause > 0 {
		opts.ScheduledAt = s.config.Now().Add(pause)
	}
	return s.insertJob(ctx, tx, RunArgs{kind}, opts)
}

func (s *Service) insertJob(ctx context.Context, tx pgx.Tx, args river.JobArgs, opts *river.InsertOpts) error {
	if _, err := s.config.Jobs.InsertTx(ctx, tx, args, opts); err != nil {
		return fmt.Errorf("insert job %s: %w", args.Kind(), err)
	}
	return nil
}
