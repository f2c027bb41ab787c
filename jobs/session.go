package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/rooms/session"
)

// clockAhead is the most by which the database's clock may be ahead of this server's. Beyond it the upkeep closes the rooms.
const clockAhead = 30 * time.Second

// closeDueBreakouts closes breakout rooms whose time has ended.
type closeDueBreakouts struct {
	river.WorkerDefaults[session.CloseDueBreakoutsArgs]
	sessions *session.Service
}

// Work closes them. Each opening of rooms adds its own job, so the job doesn't wait for rooms that close later. It only
// snoozes if the clock of the database is ahead of this server's and its own rooms are not due yet.
func (w *closeDueBreakouts) Work(ctx context.Context, job *river.Job[session.CloseDueBreakoutsArgs]) error {
	wait, err := w.sessions.CloseDueBreakouts(ctx, job.Args.TenantID, job.Args.SessionID)
	if err == nil && wait > 0 && wait <= clockAhead {
		return river.JobSnooze(wait)
	}
	return outcome(err)
}
