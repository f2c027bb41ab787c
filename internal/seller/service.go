// Package seller makes tenants sellers: their accounts at the payment processor,
// and whether those may take charges.
package seller

import (
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"showfloor/internal/processor"
	"showfloor/internal/quota"
)

// Config of a Service.
type Config struct {
	Pool      *pgxpool.Pool
	Processor *processor.Client
	// Quotas bound how often a tenant's requests ask the processor.
	Quotas *quota.Service
	Log    *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases.
type Service struct {
	config Config
	// accounts and checks let callers who want the same of the processor at the
	// same time ask once.
	accounts, checks singleflight.Group
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}
