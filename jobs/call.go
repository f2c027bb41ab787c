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

// MissOverdueArgs is the periodic job that ends the ringing of calls whose own job
// is lost.
type MissOverdueArgs struct{}

// Kind names the job.
func (MissOverdueArgs) Kind() string { return "call_miss_overdue" }

type missOverdue struct {
	river.WorkerDefaults[MissOverdueArgs]
	calls *call.Service
}

// Work ends the ringing.
func (w *missOverdue) Work(ctx context.Context, _ *river.Job[MissOverdueArgs]) error {
	return outcome(w.calls.MissOverdue(ctx))
}
