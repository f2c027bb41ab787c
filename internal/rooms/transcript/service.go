// Package transcript shows captions to the participants of sessions, and keeps the final captions of sessions with transcription: who
// said what, and when.
package transcript

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/ratelimit"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/rooms/session"
)

const (
	// maxLines is the maximum number of lines of a session's transcript, and speakerLines that of one speaker. An hour of talk has
	// about 800.
	maxLines     = 20_000
	speakerLines = 5_000
)

// pace is how often a participant may publish captions: a sentence that grows has some a second.
func pace() ratelimit.Policy {
	return ratelimit.Policy{Name: "captions", What: "captions of this user", Rate: ratelimit.Rate{Events: 5, Per: time.Second, Burst: 30}}
}

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Sessions and Chat decide which participants may publish captions.
	Sessions *session.Service
	Chat     *chat.Service
	// Realtime publishes captions to the participants in a room.
	Realtime realtime.Publisher
	// Keep is how long lines are kept; 0 means as long as their session.
	Keep time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one transaction, unless its comment says otherwise.
type Service struct {
	config Config
	paces  *ratelimit.Memory
}

// New makes the service.
func New(c Config) *Service { return &Service{c, ratelimit.NewMemory(c.Now)} }
