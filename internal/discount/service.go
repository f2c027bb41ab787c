// Package discount holds discount codes for carts: who may use one, and how often.
// A pending checkout holds a use, and the payment counts it, so that a code is
// never used more often than its limit allows.
package discount

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/event"
	"showfloor/internal/realtime"
)

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	// Realtime publishes dropped codes to viewers.
	Realtime realtime.Publisher
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. Each exported method makes all of its changes in
// one transaction.
type Service struct{ config Config }

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}
