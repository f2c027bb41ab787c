// Package speech writes down what participants of sessions with transcription say, while the session runs: it stores utterances, and jobs
// ask a model for their words.
package speech

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/fairshare"
	"showfloor/internal/base/queue"
	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/transcript"
)

const (
	// DefaultCalls is how many utterances a process has recognised at a time, if Config.Calls is 0.
	DefaultCalls = 8
	// workersPerCall is how many jobs are worked on for each call: those beyond the calls only find that there is no place.
	workersPerCall = 2
	// tenantPlaces is how many calls one tenant gets even while others have all of the rest.
	tenantPlaces = 2
	// busyPause is how long a job without a place waits, up to twice.
	busyPause = 2 * time.Second
	// speakerUtterances, sessionUtterances and tenantUtterances are the maximum numbers of utterances that wait. An hour of talk has about
	// 500.
	speakerUtterances = 100
	sessionUtterances = 300
	tenantUtterances  = 1000
	// keepUtterances is how long an utterance may wait.
	keepUtterances = 6 * time.Hour
	// late is how long after the end of a session its last utterances may arrive, and the longest time for which its summary waits.
	late = 10 * time.Minute
	// failedLate is the longest time for which it waits for utterances with which the model has failed.
	failedLate = time.Minute
)

// Words are what a model has understood.
type Words struct {
	// Text is empty if there is no speech.
	Text string
	// Language is a language tag; nil if it is not known.
	Language *string
}

// Recognizer is a model for speech.
type Recognizer interface {
	// Recognize returns the words of a WAV file. An ai.RefusedError means that the same file will be refused again, and an ai.RetryError
	// names a pause.
	Recognize(ctx context.Context, wave []byte) (Words, error)
}

// Config of a Service.
type Config struct {
	Pool        *pgxpool.Pool
	Jobs        *queue.Client
	Sessions    *session.Service
	Transcripts *transcript.Service
	// Recognizer is the model; nil for none.
	Recognizer Recognizer
	// Calls is how many utterances this process has recognised at a time.
	Calls int
	// Observe is called with each outcome: recognized, silent, unwanted, dropped, retried, refused or failed.
	Observe func(outcome string)
	Log     *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Service holds the use cases.
type Service struct {
	config Config
	places *fairshare.Places[string]
}

// New makes the service.
func New(c Config) *Service {
	if c.Calls <= 0 {
		c.Calls = DefaultCalls
	}
	if c.Observe == nil {
		c.Observe = func(string) {}
	}
	few := min(tenantPlaces, c.Calls)
	return &Service{c, fairshare.New[string](c.Calls, c.Calls/4, few)}
}

// Works reports whether there is a model.
func (s *Service) Works() bool { return s.config.Recognizer != nil }

// Workers is how many jobs of Queue this process works on at a time.
func (s *Service) Workers() int { return s.config.Calls * workersPerCall }
