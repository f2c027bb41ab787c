package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/rooms/session"
)

// EndStrandedSessionsArgs is the periodic job that handles participants who were
// connected to dead nodes, and empty calls.
type EndStrandedSessionsArgs struct{}

// Kind names the job.
func (EndStrandedSessionsArgs) Kind() string { return "session_end_stranded" }

type endStrandedSessions struct {
	river.WorkerDefaults[EndStrandedSessionsArgs]
	sessions *session.Service
}

// Work handles them.
func (w *endStrandedSessions) Work(ctx context.Context, _ *river.Job[EndStrandedSessionsArgs]) error {
	return outcome(w.sessions.EndStranded(ctx))
}

// closeDueBreakouts closes breakout rooms whose time has ended.
type closeDueBreakouts struct {
	river.WorkerDefaults[session.CloseDueBreakoutsArgs]
	sessions *session.Service
}

// Work closes them. Each opening of rooms adds its own job, so the job doesn't wait for rooms that close later. It only
// snoozes if the clock of the database is ahead of this server's and its own rooms are not due yet.
func (w *closeDueBreakouts) Work(ctx context.Context, job *river.Job[session.CloseDueBreakoutsArgs]) error {
	wait, err := w.sessions.CloseDueBreakouts(ctx, job.Args.TenantID, job.Args.SessionID)
	if err == nil && wait > 0 && wait <= breakoutsEvery {
		return river.JobSnooze(wait)
	}
	return outcome(err)
}

// CloseOverdueBreakoutsArgs is the periodic job that closes breakout rooms whose own
// job is lost.
type CloseOverdueBreakoutsArgs struct{}

// Kind names the job.
func (CloseOverdueBreakoutsArgs) Kind() string { return "session_close_overdue_breakouts" }

type closeOverdueBreakouts struct {
	river.WorkerDefaults[CloseOverdueBreakoutsArgs]
	sessions *session.Service
}

// Work closes them.
func (w *closeOverdueBreakouts) Work(ctx context.Context, _ *river.Job[CloseOverdueBreakoutsArgs]) error {
	return outcome(w.sessions.CloseOverdueBreakouts(ctx))
}
