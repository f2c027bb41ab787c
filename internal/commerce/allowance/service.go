// Package allowance notifies tenants when their usage reaches 80 and 100 % of what their plan includes: by mail, and by the event
// usage.threshold. It is not a part of usage, because tenancy may not import events.
package allowance

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/usage"
)

// Usage knows what tenants have used.
type Usage interface {
	// ListUsing lists tenants that have used something lately.
	ListUsing(ctx context.Context, since time.Time, after string, limit int) ([]string, error)
	// GetUsage returns a tenant's usage in its period.
	GetUsage(ctx context.Context, tenantID string) (usage.Period, error)
}

// Accounts mails a tenant's owners and administrators.
type Accounts interface {
	MailAdministratorsTx(ctx context.Context, tx pgx.Tx, tenantID string, letter func(to db.User, tenant db.Tenant) mail.Letter) error
}

// Config of a Service.
type Config struct {
	Pool     *pgxpool.Pool
	Usage    Usage
	Events   *event.Log
	Accounts Accounts
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases.
type Service struct {
	config Config
	// broken is the rest of a comparison that was broken off; nil for none.
	broken atomic.Pointer[pass]
}

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c}
}

// keep is how long the row of a threshold is kept after the beginning of its period: longer than a period.
const keep = 400 * 24 * time.Hour

// DeleteOld deletes the thresholds of periods that began longer ago than keep.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keep)
	return postgres.DeleteInBatches(ctx, "usage thresholds", func(maxRows int32) (int64, error) {
		return q.DeleteUsageThresholdsBefore(ctx, db.DeleteUsageThresholdsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
