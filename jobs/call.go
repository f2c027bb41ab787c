package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/rooms/call"
)

// missCall ends a call's ringing at its end time.
type missCall struct {
	river.WorkerDefaults[call.MissArgs]
	calls *call.Service
}

// Work ends the ringing, or snoozes until its end.
func (w *missCall) Work(ctx context.Context, job *river.Job[call.MissArgs]) error {
	wait, err := w.calls.MissCall(ctx, job.Args.TenantID, job.Args.SessionID)
	if err == nil && wait > 0 {
		return river.JobSnooze(wait)
	}
	return outcome(err)
}
