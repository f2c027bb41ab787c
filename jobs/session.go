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
