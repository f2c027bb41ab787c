package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/rooms/speech"
)

const (
	// speechTimeout is the time limit of an attempt: the model has a minute for each of two requests.
	speechTimeout = 3 * time.Minute
	// speechStep is the pause after the first failed attempt. Each pause is four times as long as the one before, up to maxSpeechStep.
	speechStep, maxSpeechStep = 2 * time.Second, 512 * time.Second
)

// recognize writes down an utterance.
type recognize struct {
	river.WorkerDefaults[speech.RecognizeArgs]
	speech *speech.Service
	clock  clock
}

// Timeout is long enough for the model's answers.
func (*recognize) Timeout(*river.Job[speech.RecognizeArgs]) time.Duration { return speechTimeout }

// NextRetry returns the time after a failure: 2, 8, 32, 128 and 512 s later.
func (w *recognize) NextRetry(job *river.Job[speech.RecognizeArgs]) time.Time {
	pause := speechStep
	for range job.Attempt - 1 {
		pause = min(4*pause, maxSpeechStep)
	}
	return w.clock.now().Add(pause)
}

// Work asks the model. After the last attempt the utterance is deleted; the job has further ones for failures of the database.
func (w *recognize) Work(ctx context.Context, job *river.Job[speech.RecognizeArgs]) error {
	wait, err := w.speech.Recognize(ctx, job.Args.TenantID, job.Args.UtteranceID, job.Attempt >= speech.ModelAttempts)
	if err == nil && wait > 0 {
		return river.JobSnooze(wait)
	}
	return outcome(err)
}
