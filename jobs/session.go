package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/session"
)

// EndStrandedSessionsArgs is the periodic job that sees to those who were connected
// to nodes that are gone.
type EndStrandedSessionsArgs struct{}

// Kind names the job.
func (EndStrandedSessionsArgs) Kind() string { return "session_end_stranded" }

type endStrandedSessions struct {
	river.WorkerDefaults[EndStrandedSessionsArgs]
	sessions *session.Service
}

// Work sees to them.
func (w *endStrandedSessions) Work(ctx context.Context, _ *river.Job[EndStrandedSessionsArgs]) error {
	return outcome(w.sessions.EndStranded(ctx))
}
