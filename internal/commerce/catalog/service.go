// Package catalog holds tenants' products, their stock, and the units that open
// checkouts and auctions hold.
package catalog

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/event"
)

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Events    *event.Log
	Processor *processor.Client
	// Changed is called after the commit of changes of products that buyers see, but not of stock by orders. It must return soon. Nil for
	// none.
	Changed func(tenantID string, productIDs []string)
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
