// Package call lets two users ring each other. A call is a session of type call;
// both parties are in its room once the callee has answered. This package handles
// what happens before, and the end. The ringing time is measured by the database's
// clock, read after the session's row is locked.
package call

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/internal/base/queue"
	"showfloor/internal/outflow/event"
	"showfloor/internal/rooms/session"
)

// DefaultRingTimeout is how long a call rings unless configured otherwise.
const DefaultRingTimeout = 45 * time.Second

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	Jobs   queue.Inserter
	// Sessions holds the rooms of calls.
	Sessions *session.Service
	// RingTimeout is how long a call rings, DefaultRingTimeout when it is 0.
	RingTimeout time.Duration
	// Now dates sessions and events, time.Now by default. It never decides whether a
	// call still rings.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service {
	if c.RingTimeout == 0 {
		c.RingTimeout = DefaultRingTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}

// MissArgs is the job that ends the ringing of an unanswered call.
type MissArgs struct {
	TenantID  string `json:"tenantId"`
	SessionID string `json:"sessionId"`
}

// Kind is the job's name.
func (MissArgs) Kind() string { return "call_miss" }

var _ river.JobArgs = MissArgs{}
