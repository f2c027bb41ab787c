package console

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/signing"
	"showfloor/internal/tenancy/usage"
)

// Stopper ends a tenant's activities in its area, in the caller's transaction.
type Stopper interface {
	StopTenantTx(ctx context.Context, tx pgx.Tx, tenantID string) error
}

// Service holds the use cases. Each exported method makes all of its changes in
// one transaction.
type Service struct {
	pool     *pgxpool.Pool
	accounts *account.Service
	streams  *stream.Service
	stoppers []Stopper
	quotas   *quota.Service
	usage    *usage.Service
	keys     *signing.Keys
	now      func() time.Time
	log      *slog.Logger
}

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Accounts hashes passwords. Admins and tenants' users share its limit of
	// concurrent hashing.
	Accounts *account.Service
	Streams  *stream.Service
	// Stoppers are the areas that end a suspended tenant's activities.
	Stoppers []Stopper
	// Quotas has the plans, and Usage their allowances.
	Quotas *quota.Service
	Usage  *usage.Service
	// Keys sign and verify admins' tokens.
	Keys *signing.Keys
	Log  *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{
		pool: c.Pool, accounts: c.Accounts, streams: c.Streams, stoppers: c.Stoppers, quotas: c.Quotas, usage: c.Usage,
		keys: c.Keys, now: c.Now, log: c.Log,
	}
}
