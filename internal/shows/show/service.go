// Package show reads shows and replays for viewers' pages, and carries out the host's acts.
package show

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/rooms/chat"
	"showfloor/internal/rooms/session"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
)

// Config of a Service.
type Config struct {
	Pool       *pgxpool.Pool
	Streams    *stream.Service
	Recordings *recording.Service
	Sessions   *session.Service
	Chat       *chat.Service
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}
