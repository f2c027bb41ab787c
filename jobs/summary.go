package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/summary"
)

const (
	// summaryTimeout is the time limit of an attempt to write a summary: the model is asked several times for a long conversation.
	summaryTimeout = 15 * time.Minute
	// summaryStep is the pause after the first failed attempt. Each pause is four times as long as the one before.
	summaryStep = 5 * time.Second
)

// summarize writes the summary of an ended session.
type summarize struct {
	river.WorkerDefaults[session.SummarizeArgs]
	summaries *summary.Service
	clock     clock
}

// Timeout is long enough for the model's answers to a long conversation.
func (*summarize) Timeout(*river.Job[session.SummarizeArgs]) time.Duration { return summaryTimeout }

// NextRetry returns the time after a failure: 5, 20 and 80 s later, and then, without the model, at once.
func (w *summarize) NextRetry(job *river.Job[session.SummarizeArgs]) time.Time {
	if job.Attempt == session.SummaryModelAttempts {
		return w.clock.now()
	}
	pause := summaryStep
	for range job.Attempt - 1 {
		pause *= 4
	}
	return w.clock.now().Add(pause)
}

// Work writes it. Attempts after SummaryModelAttempts don't ask the model, so that a session gets a summary although the model is out of
// reach.
func (w *summarize) Work(ctx context.Context, job *river.Job[session.SummarizeArgs]) error {
	wait, err := w.summaries.WriteSummary(ctx, job.Args.TenantID, job.Args.SessionID, job.Attempt > session.SummaryModelAttempts)
	if err == nil && wait > 0 {
		return river.JobSnooze(wait)
	}
	return outcome(err)
}
