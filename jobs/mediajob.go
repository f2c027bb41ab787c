package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/streams/mediajob"
)

// mediaJobTimeout is the longest time of one attempt at a media job. Long before, heartbeats show whether its process is alive.
const mediaJobTimeout = 24 * time.Hour

// runMediaJob starts a QUEUED transcode or package and works on it.
type runMediaJob struct {
	river.WorkerDefaults[mediajob.RunArgs]
	media *mediajob.Service
}

// Timeout is long enough for a recording of many hours.
func (*runMediaJob) Timeout(*river.Job[mediajob.RunArgs]) time.Duration { return mediaJobTimeout }

// Work works on it to its end.
func (w *runMediaJob) Work(ctx context.Context, job *river.Job[mediajob.RunArgs]) error {
	return outcome(w.media.RunNext(ctx, job.Args.Of))
}

// deleteMediaJobFiles deletes the files of a media job that is CANCELED or FAILED.
type deleteMediaJobFiles struct {
	river.WorkerDefaults[mediajob.DeleteFilesArgs]
	media *mediajob.Service
}

// Work deletes them.
func (w *deleteMediaJobFiles) Work(ctx context.Context, job *river.Job[mediajob.DeleteFilesArgs]) error {
	return outcome(w.media.DeleteFiles(ctx, job.Args.JobID))
}

// notifyMediaJob delivers a notice to an outside transcoder or packager.
type notifyMediaJob struct {
	river.WorkerDefaults[mediajob.NotifyArgs]
	media *mediajob.Service
	clock clock
}

// NextRetry returns a time soon after the failure, and later ones after more of them.
func (w *notifyMediaJob) NextRetry(job *river.Job[mediajob.NotifyArgs]) time.Time {
	return w.clock.now().Add(min(time.Duration(job.Attempt)*noticeStep, noticeLimit))
}

// Work delivers it.
func (w *notifyMediaJob) Work(ctx context.Context, job *river.Job[mediajob.NotifyArgs]) error {
	return outcome(w.media.Notify(ctx, job.Args))
}
