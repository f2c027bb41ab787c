package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/streams/transcode"
)

// transcodeTimeout is the longest time of one attempt at a transcode. Long before, heartbeats show whether its process is alive.
const transcodeTimeout = 24 * time.Hour

// runTranscode starts a QUEUED transcode and works on it.
type runTranscode struct {
	river.WorkerDefaults[transcode.RunArgs]
	transcodes *transcode.Service
}

// Timeout is long enough for a recording of many hours.
func (*runTranscode) Timeout(*river.Job[transcode.RunArgs]) time.Duration { return transcodeTimeout }

// Work works on it to its end.
func (w *runTranscode) Work(ctx context.Context, _ *river.Job[transcode.RunArgs]) error {
	return outcome(w.transcodes.RunNext(ctx))
}

// deleteTranscodeFiles deletes the files of a transcode that is CANCELED or FAILED.
type deleteTranscodeFiles struct {
	river.WorkerDefaults[transcode.DeleteFilesArgs]
	transcodes *transcode.Service
}

// Work deletes them.
func (w *deleteTranscodeFiles) Work(ctx context.Context, job *river.Job[transcode.DeleteFilesArgs]) error {
	return outcome(w.transcodes.DeleteFiles(ctx, job.Args.TranscodeID))
}
