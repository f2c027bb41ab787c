// Package discount holds discount codes for carts: who may use one, and how often.
// A pending checkout holds a use, and the payment counts it, so that a code is
// never used more often than its limit allows.
package discount

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
)

// Streams knows which streams a tenant has.
type Streams interface {
	// CheckStreamTx returns the problem not_found unless the tenant has the stream. tx
	// may also be the pool.
	CheckStreamTx(ctx context.Context, tx db.DBTX, tenantID, streamID string) error
}

// Config of a Service.
type Config struct {
	Pool   *pgxpool.Pool
	Events *event.Log
	// Streams checks the streams that codes are for.
	Streams Streams
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
