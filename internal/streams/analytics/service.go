// Package analytics counts a tenant's viewers, broadcasts, sessions and sales over time.
// It reads the rows that other areas write, and keeps sums of closed hours.
package analytics

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/tenancy/usage"
)

// Service holds the use cases.
type Service struct {
	pool  *pgxpool.Pool
	usage *usage.Service
	now   func() time.Time
}

// New makes the service on a clock. The minutes watched and on air are those of the usage.
func New(pool *pgxpool.Pool, measured *usage.Service, now func() time.Time) *Service {
	return &Service{pool: pool, usage: measured, now: now}
}
