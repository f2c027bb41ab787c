// Package summary writes the summaries of ended sessions, from their transcript and their chat.
package summary

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/fairshare"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/speech"
	"showfloor/internal/rooms/transcript"
)

const (
	// Workers is how many jobs a process works on at a time. Most of them only find that there is no place.
	Workers = 16
	// places is how many summaries a process writes at a time, and tenantPlaces how many of them may be of one tenant. A job without a
	// place waits for busyPause to twice that.
	places       = 8
	tenantPlaces = 2
	busyPause    = 20 * time.Second
	// speechPause is how long a summary waits, again and again, for the recognition of the last words.
	speechPause = 2 * time.Second
)

// Model is a language model.
type Model interface {
	// Summarize returns the summary of a text, which is data: the model must not follow instructions in it. An ai.RefusedError means that
	// the same text will be refused again.
	Summarize(ctx context.Context, kind TextKind, text string) (session.SummaryText, error)
}

// TextKind says what a model summarizes.
type TextKind int

const (
	// Record has a line for each sentence, as "<speaker>: <sentence>".
	Record TextKind = iota
	// Partials are the summaries of successive parts of one conversation, each a line of JSON.
	Partials
)

// Config of a Service.
type Config struct {
	Pool        *pgxpool.Pool
	Sessions    *session.Service
	Transcripts *transcript.Service
	Chat        *chat.Service
	// Speech writes the spoken words into the transcript.
	Speech *speech.Service
	// Model writes the summaries; if it is nil, they are extractive.
	Model Model
	Log   *slog.Logger
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
	return &Service{c, fairshare.New[string](places, places, tenantPlaces)}
}
