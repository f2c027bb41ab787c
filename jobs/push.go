package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/outflow/push"
)

const (
	// pushTimeout is longer than two requests to a provider, one of them for a token.
	pushTimeout = 30 * time.Second
	// pushBatchTimeout bounds a batch at a slow provider. The answers are stored, and another run continues.
	pushBatchTimeout = 2 * time.Minute
)

// sendPush pushes to the devices of one user, and snoozes between the attempts.
type sendPush struct {
	river.WorkerDefaults[push.Args]
	pushes *push.Service
	clock
}

// Timeout limits one run.
func (*sendPush) Timeout(*river.Job[push.Args]) time.Duration { return pushTimeout }

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *sendPush) NextRetry(job *river.Job[push.Args]) time.Time { return w.soon(job.Attempt) }

// Work makes the attempt that is due.
func (w *sendPush) Work(ctx context.Context, job *river.Job[push.Args]) error {
	return w.until(w.pushes.Send(ctx, job.ID, job.Args))
}

// sendPushBatch sends one batch of a notification, and snoozes between the attempts.
type sendPushBatch struct {
	river.WorkerDefaults[push.BatchArgs]
	pushes *push.Service
	clock
}

// Timeout limits one run.
func (*sendPushBatch) Timeout(*river.Job[push.BatchArgs]) time.Duration { return pushBatchTimeout }

// NextRetry returns a time soon after the failure, however often the job has failed.
func (w *sendPushBatch) NextRetry(job *river.Job[push.BatchArgs]) time.Time {
	return w.soon(job.Attempt)
}

// Work makes the attempt that is due.
func (w *sendPushBatch) Work(ctx context.Context, job *river.Job[push.BatchArgs]) error {
	return w.until(w.pushes.SendBatch(ctx, job.Args))
}
