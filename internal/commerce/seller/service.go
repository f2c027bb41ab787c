// Package seller holds tenants as sellers: their accounts at the payment
// processor, and whether those may take charges.
package seller

import (
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"showfloor/internal/commerce/processor"
	"showfloor/internal/tenancy/quota"
)

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Processor *processor.Client
	// Quotas limits how often a tenant's requests call the processor.
	Quotas *quota.Service
	Log    *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases.
type Service struct {
	config Config
	// accounts and checks deduplicate concurrent calls to the processor for the
	// same purpose.
	accounts, checks singleflight.Group
}

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}
