// Package console holds what those who run the platform do: their logins, the
// tenants and users of all customers, suspensions and the audit log.
package console

import (
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/account"
	"showfloor/internal/signing"
)

// Service holds the use cases. What an exported method changes, it changes in
// one transaction.
type Service struct {
	pool     *pgxpool.Pool
	accounts *account.Service
	keys     *signing.Keys
	now      func() time.Time
	log      *slog.Logger
}

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Accounts hashes passwords, together with those of tenants' users.
	Accounts *account.Service
	// Keys sign and verify admins' tokens.
	Keys *signing.Keys
	Log  *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// New prepares the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{pool: c.Pool, accounts: c.Accounts, keys: c.Keys, now: c.Now, log: c.Log}
}
