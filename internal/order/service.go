// Package order sells products. Carts become PENDING orders with a hosted payment
// page, and orders follow what the processor reports about their pages. An order
// holds its units and its use of a code until the processor's final answer.
package order

import (
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/catalog"
	"showfloor/internal/discount"
	"showfloor/internal/event"
	"showfloor/internal/processor"
	"showfloor/internal/realtime"
	"showfloor/internal/setting"
)

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Events    *event.Log
	Jobs      event.Inserter
	Processor *processor.Client
	Catalog   *catalog.Service
	Discounts *discount.Service
	// Settings holds the platform's fee.
	Settings *setting.Service
	// Realtime publishes the numbers of free units to viewers.
	Realtime realtime.Publisher
	// PublicURL is this server's address for buyers, without a slash at the end.
	PublicURL string
	// Observe is called with each new status of an order, and with "UNMATCHED" for a
	// payment that belongs to no order, for metrics. It may be nil.
	Observe func(status string)
	Log     *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction, unless its comment says otherwise.
type Service struct{ config Config }

// observe reports an order's new status; empty for none.
func (s *Service) observe(status string) {
	if s.config.Observe != nil && status != "" {
		s.config.Observe(status)
	}
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}
