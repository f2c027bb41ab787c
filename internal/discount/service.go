// Package discount holds the codes that make carts cheaper: who may use one, and
// how often. Uses are held by running checkouts and counted when they are paid, so
// that a code is never used more often than it may be.
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
	// Realtime shows dropped codes to who watches.
	Realtime realtime.Publisher
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. What an exported method changes, it changes in
// one transaction.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}
