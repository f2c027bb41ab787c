// Package transcript shows captions to the participants of sessions, and keeps the final captions of sessions with transcription: who
// said what, and when.
package transcript

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/session"
)

// maxLines is the maximum number of lines of a session's transcript. An hour of talk has about 800.
const maxLines = 20_000

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Sessions decides who may speak.
	Sessions *session.Service
	// Realtime publishes captions to the participants in a room.
	Realtime realtime.Publisher
	// Keep is how long lines are kept; 0 means as long as their session.
	Keep time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one transaction, unless its comment says otherwise.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service { return &Service{c} }
