package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/streams/recording"
)

// Timeouts of the jobs that read or write many files. slowJobs lists them.
const (
	importTimeout   = 3 * time.Hour
	assetsTimeout   = 30 * time.Minute
	clipTimeout     = 30 * time.Minute
	deletionTimeout = 10 * time.Minute
)

// importPause is the pause between the attempts of an import. The pause of a notice to the outside recorder grows with each
// attempt by noticeStep, up to noticeLimit.
const (
	importPause = time.Minute
	noticeStep  = 5 * time.Second
	noticeLimit = 5 * time.Minute
)

// finalizeRecording makes an ended recording READY or FAILED.
type finalizeRecording struct {
	river.WorkerDefaults[recording.FinalizeArgs]
	recordings *recording.Service
}

// Work finalizes it.
func (w *finalizeRecording) Work(ctx context.Context, job *river.Job[recording.FinalizeArgs]) error {
	return outcome(w.recordings.FinishRecording(ctx, job.Args.RecordingID))
}

// notifyOutsideRecorder delivers a notice to the outside recorder.
type notifyOutsideRecorder struct {
	river.WorkerDefaults[recording.NotifyOutsideArgs]
	recordings *recording.Service
	clock      clock
}

// NextRetry returns a time soon after the failure: the recorder should miss as little as possible.
func (w *notifyOutsideRecorder) NextRetry(job *river.Job[recording.NotifyOutsideArgs]) time.Time {
	return w.clock.now().Add(min(time.Duration(job.Attempt)*noticeStep, noticeLimit))
}

// Work delivers it.
func (w *notifyOutsideRecorder) Work(ctx context.Context, job *river.Job[recording.NotifyOutsideArgs]) error {
	return outcome(w.recordings.NotifyOutside(ctx, job.Args.RecordingID, job.Args.Event))
}

// importRecording imports a file of an SRS server.
type importRecording struct {
	river.WorkerDefaults[recording.ImportArgs]
	recordings *recording.Service
	clock      clock
}

// Timeout is long enough for a file of a day.
func (*importRecording) Timeout(*river.Job[recording.ImportArgs]) time.Duration { return importTimeout }

// NextRetry returns the time after a failure: the file may be there a moment later. The area decides when to stop.
func (w *importRecording) NextRetry(*river.Job[recording.ImportArgs]) time.Time {
	return w.clock.now().Add(importPause)
}

// Work imports it.
func (w *importRecording) Work(ctx context.Context, job *river.Job[recording.ImportArgs]) error {
	return outcome(w.recordings.Import(ctx, job.Args))
}

// makeRecordingAssets makes the poster, the storyboard and the MP4 file of a recording.
type makeRecordingAssets struct {
	river.WorkerDefaults[recording.MakeAssetsArgs]
	recordings *recording.Service
}

// Timeout is long enough for a recording of many hours.
func (*makeRecordingAssets) Timeout(*river.Job[recording.MakeAssetsArgs]) time.Duration {
	return assetsTimeout
}

// Work makes them.
func (w *makeRecordingAssets) Work(ctx context.Context, job *river.Job[recording.MakeAssetsArgs]) error {
	return outcome(w.recordings.MakeAssets(ctx, job.Args.RecordingID))
}

// deleteRecordingFiles deletes the files of a deleted recording.
type deleteRecordingFiles struct {
	river.WorkerDefaults[recording.DeleteFilesArgs]
	recordings *recording.Service
}

// Timeout is long enough for the thousands of files of a long recording.
func (*deleteRecordingFiles) Timeout(*river.Job[recording.DeleteFilesArgs]) time.Duration {
	return deletionTimeout
}

// Work deletes them.
func (w *deleteRecordingFiles) Work(ctx context.Context, job *river.Job[recording.DeleteFilesArgs]) error {
	return outcome(w.recordings.DeleteFiles(ctx, job.Args.RecordingID))
}

// makeClip makes a clip of a recording.
type makeClip struct {
	river.WorkerDefaults[recording.MakeClipArgs]
	recordings *recording.Service
}

// Timeout is long enough for a clip of many hours.
func (*makeClip) Timeout(*river.Job[recording.MakeClipArgs]) time.Duration {
	return clipTimeout
}

// Work makes it.
func (w *makeClip) Work(ctx context.Context, job *river.Job[recording.MakeClipArgs]) error {
	return outcome(w.recordings.MakeClip(ctx, job.Args.RecordingID))
}

// removeRecordingText removes the files of a text track that was replaced or deleted.
type removeRecordingText struct {
	river.WorkerDefaults[recording.RemoveTextArgs]
	recordings *recording.Service
}

// Work removes them.
func (w *removeRecordingText) Work(ctx context.Context, job *river.Job[recording.RemoveTextArgs]) error {
	return outcome(w.recordings.RemoveText(ctx, job.Args.RecordingID, job.Args.Version))
}

// MeasureStorageArgs is the periodic job that measures how many bytes of recordings tenants store.
type MeasureStorageArgs struct{}

// Kind names the job.
func (MeasureStorageArgs) Kind() string { return "recording_measure_storage" }

type measureStorage struct {
	river.WorkerDefaults[MeasureStorageArgs]
	recordings *recording.Service
}

// Work measures them.
func (w *measureStorage) Work(ctx context.Context, _ *river.Job[MeasureStorageArgs]) error {
	return outcome(w.recordings.MeasureStorage(ctx))
}
